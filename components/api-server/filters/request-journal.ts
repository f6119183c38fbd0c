/**
 * RequestJournal: a record of each answered request of this server. It keeps writes as long as watches can resume from them, and
 * other requests only while somebody follows it. `/explain/requests` shows it.
 */
import { apiGroup, type Dialect } from '../../api/dialect.ts'
import type { Clock } from '../../component-base/clock.ts'
import { isStream } from '../request/long-running.ts'
import { isProbe } from '../request/probes.ts'
import type { Answer, Filter, RequestContext, RequestInfo } from '../request/request.ts'
import { JournalFollower, type Wanted } from './journal-follower.ts'
import { keptRequest, type KeptRequest } from './kept-request.ts'
import { RecordRing } from './record-ring.ts'

/** The most records of writes, of heartbeats, and of all other requests. */
export const mostWrites = 10_000
const mostHeartbeats = 500
const mostReads = 1000

const mostWriteBytes = 12 * 1024 * 1024
const mostOtherBytes = 1024 * 1024

const writeVerbs = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])

export interface RequestJournal {
  /** Records the answers of requests; the outermost filter but those that count. */
  readonly filter: Filter
  /** What is kept, oldest first. */
  kept(): KeptRequest[]
  /** The position of the newest write that is no longer kept; 0 without one. */
  readonly lastDropped: number
  /** The position of the newest record. */
  readonly newest: number
  /** Hands over what is wanted of every further record until `close`. Other requests than writes are recorded meanwhile. */
  follow(wanted: Wanted): JournalFollower
}

/** Which requests are writes, and which of those are signs of life. */
function kindsOf(dialect: Dialect) {
  const leaseGroup = apiGroup(dialect, 'coordination')
  /** Creates of reviews and tokens store nothing. */
  const reviewGroups = new Set([
    apiGroup(dialect, 'authentication'),
    apiGroup(dialect, 'authorization'),
  ])
  return {
    mayChange: (info: RequestInfo): boolean =>
      info.isResourceRequest &&
      writeVerbs.has(info.verb) &&
      !isStream(info) &&
      !reviewGroups.has(info.group) &&
      info.subresource !== 'token',
    isHeartbeat: ({ resource, group, verb, status }: KeptRequest): boolean =>
      resource === 'leases' &&
      group === leaseGroup &&
      (verb === 'update' || verb === 'patch') &&
      status < 300,
  }
}

/** `keepMs`: how far back watches can resume. */
export function createRequestJournal(options: {
  readonly clock: Pick<Clock, 'now'>
  readonly dialect: Dialect
  readonly keepMs: number
}): RequestJournal {
  const { clock, dialect, keepMs } = options
  const writes = new RecordRing({ most: mostWrites, mostBytes: mostWriteBytes, keepMs })
  const heartbeats = new RecordRing({ most: mostHeartbeats, mostBytes: mostOtherBytes, keepMs })
  const reads = new RecordRing({ most: mostReads, mostBytes: mostOtherBytes, keepMs })
  const followers = new Set<JournalFollower>()
  const { mayChange, isHeartbeat } = kindsOf(dialect)
  // So that a client that resumes after a restart of the server gets what it has not seen.
  let seq = clock.now() * 1000

  function note(context: RequestContext, { status }: Answer, isWrite: boolean): void {
    seq += 1
    const record = keptRequest(context, { seq, status, nowMs: clock.now(), isWrite })
    for (const follower of followers) follower.offer(record)
    if (isWrite) (isHeartbeat(record) ? heartbeats : writes).push(record)
    else if (followers.size > 0 && !isProbe(record)) reads.push(record)
  }

  return {
    filter: (context, next) => {
      const isWrite = mayChange(context.info)
      if (!isWrite && followers.size === 0) return next(context)
      return next(context).then((answer) => {
        note(context, answer, isWrite)
        return answer
      })
    },
    kept: () => {
      const nowMs = clock.now()
      for (const ring of [writes, heartbeats, reads]) ring.trim(nowMs)
      const all = [...writes.values(), ...heartbeats.values(), ...reads.values()]
      return all.sort((one, other) => one.seq - other.seq)
    },
    get lastDropped() {
      return writes.lastDropped
    },
    get newest() {
      return seq
    },
    follow: (wanted) => {
      const follower = new JournalFollower(wanted, () => {
        followers.delete(follower)
        if (followers.size === 0) reads.clear()
      })
      followers.add(follower)
      return follower
    },
  }
}
