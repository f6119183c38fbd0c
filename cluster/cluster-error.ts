/** ClusterError: an error that users of the command or the library can act on: a message, a hint, and a kind that sets the exit code. */

export type ClusterErrorKind =
  'failed' | 'usage' | 'not-found' | 'already-exists' | 'not-running' | 'timeout' | 'permission'

interface ClusterErrorDetails {
  readonly hint?: string | undefined
  readonly details?: readonly string[]
  readonly systemCode?: string | undefined
  readonly cause?: unknown
}

export class ClusterError extends Error {
  readonly kind: ClusterErrorKind
  /** What to do, in one line. */
  readonly hint: string | undefined
  /** Further lines that show the reason, usually the end of a log. */
  readonly details: readonly string[]
  /** The system's code behind it, such as EADDRINUSE, when a component reported one. */
  readonly systemCode: string | undefined

  constructor(kind: ClusterErrorKind, message: string, more: ClusterErrorDetails = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'ClusterError'
    this.kind = kind
    this.hint = more.hint
    this.details = more.details ?? []
    this.systemCode = more.systemCode
  }
}
