/** followRequests: the request journal of the API server, line by line, for as long as it is asked to. */
import { linesOf } from './watch-stream.ts'
import type { RestClient } from './rest-client.ts'
import type { RequestRecord } from '../api/request-record.ts'
import type { Clock } from '../component-base/clock.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'

const retryMs = 1000

export interface FollowRequests {
  readonly rest: Pick<RestClient, 'stream'>
  readonly clock: Clock
  /** Only records after this position; default all that are kept. */
  readonly since?: number | undefined
  readonly onRequest: (record: RequestRecord) => void
  /** This reader was too slow, or the journal keeps no more: how many records are missing, null for an unknown number. */
  readonly onMissed?: (count: number | null) => void
  /** The journal cannot be had, and is not asked for again. */
  readonly onAbsent: (why: string) => void
  /** The stream has begun: from now on, other requests than writes are recorded, too. */
  readonly onOpen?: () => void
  /** Further parameters: which records, as `/explain/requests` takes them. */
  readonly query?: Readonly<Record<string, string>>
}

/** A line that is no record says how many requests this reader has missed. */
function isRecord(value: unknown): value is RequestRecord {
  return typeof value === 'object' && value !== null && 'seq' in value && 'verb' in value
}

export function absenceOf(error: unknown): string | undefined {
  if (!isStatusError(error)) return undefined
  if (error.code === 404) return 'This API server has no journal of requests.'
  if (error.code !== 401 && error.code !== 403) return undefined
  return `You may not read the journal of requests: ${error.message}`
}

/** Resolves when the journal is absent; otherwise it ends, and then rejects, with `signal`. */
export async function followRequests(options: FollowRequests, signal: AbortSignal): Promise<void> {
  const { rest, clock, onRequest, onMissed, onAbsent, onOpen, query = {} } = options
  let newest = options.since ?? 0
  for (;;) {
    try {
      const since = newest === 0 ? {} : { since: String(newest) }
      const parameters = new URLSearchParams({ follow: 'true', ...query, ...since })
      const path = `/explain/requests?${parameters.toString()}`
      const { chunks } = await rest.stream({ method: 'GET', path, signal })
      onOpen?.()
      for await (const line of linesOf(chunks)) {
        if (line.length === 0) continue
        const value: unknown = JSON.parse(line.toString())
        if (!isRecord(value)) {
          onMissed?.((value as { missed?: number | null } | null)?.missed ?? null)
          continue
        }
        newest = value.seq
        onRequest(value)
      }
    } catch (error) {
      signal.throwIfAborted()
      const why = absenceOf(error)
      if (why !== undefined) return onAbsent(why)
    }
    await clock.sleep(retryMs, signal)
  }
}
