/** What a story needs of a server: requests, watches, and, where it can, an end without warning and the passing of time. */
import type { ApiClient } from '../../support/api-client.ts'

export interface Subject {
  readonly request: ApiClient['request']
  readonly watch: ApiClient['watch']
  nowMs(): number
  /** Ends the server at once and starts it on what it had stored; resolves when it is ready. */
  kill?(): Promise<void>
  /** Lets time pass for the server. */
  pass?(ms: number): Promise<void>
}
