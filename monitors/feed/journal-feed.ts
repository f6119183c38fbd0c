/** JournalFeed: the writes of a cluster as its request journal has them, from now on, and who made which revision. */
import type { RequestRecord, RequestRecords } from '../../components/api/request-record.ts'
import type { RestClient } from '../../components/client/rest-client.ts'
import { absenceOf, followRequests } from '../../components/client/follow-requests.ts'
import type { Clock } from '../../components/component-base/clock.ts'

export interface JournalFeed {
  /** The request that made the revision, if it was one of the last 20,000 writes. */
  readonly authorOf: (revision: number) => RequestRecord | undefined
  /** Writes since the last call, in the order of their answers. */
  take(): readonly RequestRecord[]
  /** Resolves when the writes up to now have come, or do not come in time. */
  settle(): Promise<void>
  /** Resolves after the signal has aborted. */
  readonly ended: Promise<void>
}

export interface JournalFeedOptions {
  readonly rest: Pick<RestClient, 'stream' | 'json'>
  readonly networkClock: Clock
  readonly onAbsent: (why: string) => void
  readonly onMissed: (count: number | null) => void
  readonly signal: AbortSignal
}

const mostRemembered = 20_000
/** Writes that wait to be taken; the oldest are dropped. */
const mostWaiting = 20_000
const settleMs = 1000
const lookAgainMs = 5

function createAuthors() {
  const byRevision = new Map<string, RequestRecord>()
  return {
    of: (revision: number) => byRevision.get(String(revision)),
    add: (record: RequestRecord): void => {
      for (const revision of record.revisions ?? [record.revision ?? '']) {
        if (revision !== '') byRevision.set(revision, record)
        if (byRevision.size > mostRemembered)
          byRevision.delete(byRevision.keys().next().value ?? '')
      }
    },
  }
}

/** Position of the newest write that the journal holds; undefined without a journal. */
async function newestOf(options: JournalFeedOptions): Promise<number | undefined> {
  try {
    const answer = await options.rest.json({
      method: 'GET',
      path: '/explain/requests?writes=true&limit=1',
      signal: options.signal,
    })
    return (answer as RequestRecords).items.at(-1)?.seq ?? 0
  } catch (error) {
    const why = absenceOf(error)
    if (why === undefined) throw error
    options.onAbsent(why)
    return undefined
  }
}

const absent: JournalFeed = {
  authorOf: () => undefined,
  take: () => [],
  settle: () => Promise.resolve(),
  ended: Promise.resolve(),
}

/** Rejects when the server cannot be reached. */
export async function startJournalFeed(options: JournalFeedOptions): Promise<JournalFeed> {
  const { rest, networkClock, onAbsent, onMissed, signal } = options
  const first = await newestOf(options)
  if (first === undefined) return absent
  const authors = createAuthors()
  let waiting: RequestRecord[] = []
  let newest = first
  /** Not while nothing comes: behind a load balancer, the answers come from several journals, of which one is followed. */
  let mayWait = true
  const ended = followRequests(
    {
      rest,
      clock: networkClock,
      query: { writes: 'true', ...(first === 0 ? {} : { since: String(first) }) },
      onAbsent,
      onMissed,
      onRequest: (record) => {
        newest = Math.max(newest, record.seq)
        mayWait = true
        authors.add(record)
        waiting.push(record)
        if (waiting.length > mostWaiting) waiting = waiting.slice(-mostWaiting / 2)
      },
    },
    signal,
  ).catch(() => {
    // It ends with the signal alone.
  })
  const settle = async (): Promise<void> => {
    const wanted = mayWait ? await newestOf(options).catch(() => undefined) : undefined
    if (wanted === undefined) return
    for (let waitedMs = 0; newest < wanted; waitedMs += lookAgainMs) {
      if (signal.aborted) return
      if (waitedMs >= settleMs) {
        mayWait = false
        return
      }
      await networkClock.sleep(lookAgainMs, signal).catch(() => {})
    }
  }
  const take = (): readonly RequestRecord[] => {
    const taken = waiting
    waiting = []
    return taken
  }
  return { authorOf: authors.of, take, settle, ended }
}
