/** byAnswer: the order of requests that several API servers have answered: by the time of the answer, then by the revision. Pure. */
import type { RequestRecord } from '../../../components/api/request-record.ts'

const revisionOf = ({ revision }: RequestRecord): number => Number(revision ?? NaN)

/** For a sort, oldest first. Servers of several machines have several clocks. */
export function byAnswer(one: RequestRecord, other: RequestRecord): number {
  const byTime = one.atMs + one.durationMs - (other.atMs + other.durationMs)
  if (byTime !== 0) return byTime
  const byRevision = revisionOf(one) - revisionOf(other)
  return Number.isNaN(byRevision) || byRevision === 0 ? one.seq - other.seq : byRevision
}
