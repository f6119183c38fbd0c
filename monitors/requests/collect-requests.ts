/** collectRequests: the requests of one client, as the request journal has them: what it has kept, and what comes while it is followed. */
import type { RequestRecord, RequestRecords } from '../../components/api/request-record.ts'
import type { Client } from '../../components/client/client.ts'
import { followRequests } from '../../components/client/follow-requests.ts'
import { systemClock, type Clock } from '../../components/component-base/clock.ts'
import { ClusterError } from '../../cluster/cluster-error.ts'

/** Whose requests: of a user, of a user agent, or of both together. A user agent may have `*` for any text, and stands for its beginning. */
export interface RequestsOf {
  readonly user?: string | undefined
  readonly userAgent?: string | undefined
}

export interface CollectedRequests {
  /** Oldest first. */
  readonly records: readonly RequestRecord[]
  /** What is missing. */
  readonly notes: readonly string[]
}

/** More than a server keeps; older ones than these are forgotten. */
const mostRecords = 50_000
const mostKept = 20_000
/** Longer than the journal takes to send what it has kept. */
const openMs = 10_000

function agentTest(pattern: string): (userAgent: string) => boolean {
  const escaped = pattern.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('*', '.*')
  const expression = new RegExp(`^${escaped}`)
  return (userAgent) => expression.test(userAgent)
}

/** Impersonating is a request of the impersonator, too. */
export function isOf({ user, userAgent }: RequestsOf): (record: RequestRecord) => boolean {
  const isAgent = userAgent === undefined ? () => true : agentTest(userAgent)
  return (record) =>
    isAgent(record.userAgent) &&
    (user === undefined || record.user === user || record.impersonator === user)
}

async function keptBy(client: Client): Promise<readonly RequestRecord[]> {
  const path = `/explain/requests?all=true&limit=${mostKept}`
  return ((await client.rest.json({ method: 'GET', path })) as RequestRecords).items
}

/**
 * Collects until `until` resolves, and at least what the journal has kept. Rejects with a ClusterError when the server has no journal that
 * this client may read.
 */
export async function collectRequests(
  client: Client,
  of: RequestsOf,
  options: {
    /** Called when requests other than writes are recorded from now on. */
    readonly onOpen?: () => void
    readonly until: Promise<void>
    readonly networkClock?: Clock
  },
): Promise<CollectedRequests> {
  const { until, onOpen, networkClock = systemClock } = options
  const wanted = isOf(of)
  const notes = new Set<string>()
  let records: RequestRecord[] = []
  const end = new AbortController()
  const absent = Promise.withResolvers<string>()
  const opened = Promise.withResolvers<void>()
  const add = (record: RequestRecord): void => {
    if (!wanted(record)) return
    records.push(record)
    if (records.length > mostRecords) {
      records = records.slice(-mostRecords / 2)
      notes.add(`only the newest requests are judged: there are more than ${mostRecords}`)
    }
  }
  const following = followRequests(
    {
      rest: client.rest,
      clock: networkClock,
      query: { limit: String(mostKept), all: 'true' },
      onRequest: add,
      onMissed: (count) => notes.add(`the journal left out ${count ?? 'some'} requests`),
      onAbsent: absent.resolve,
      onOpen: () => {
        opened.resolve()
        onOpen?.()
      },
    },
    end.signal,
  ).catch(() => {
    // It ends with the signal alone.
  })
  const late = networkClock.sleep(openMs, end.signal).catch(() => {})
  const why = await Promise.race([
    absent.promise,
    Promise.race([opened.promise, late]).then(async () => await until),
  ])
  // The stream may be behind: what was requested before the end has its record.
  const kept = typeof why === 'string' ? [] : (await keptBy(client)).filter(wanted)
  end.abort(new Error('all is collected'))
  await Promise.all([following, late])
  if (typeof why === 'string') {
    throw new ClusterError('failed', why, {
      hint: 'this needs a Skiff API server, and the right to get /explain/requests',
    })
  }
  const bySeq = new Map([...kept, ...records].map((record) => [record.seq, record]))
  const all = [...bySeq.values()].toSorted((one, other) => one.seq - other.seq)
  return { records: all, notes: [...notes] }
}
