/**
 * A lease has one holder at a time: no other takes it over before the holder has released it or has not renewed it for its duration. Both
 * the times in the lease and the times of the reports have to say so: clocks of holders may differ, and time that is advanced passes
 * faster than reports come.
 */
import type { LeaseRecord } from '../../components/client/leader-elector.ts'
import type { Change } from '../change.ts'
import { isOf, nameOf, uidOf } from '../change.ts'
import { findingOf, type Finding, type Rule } from '../monitor.ts'

/** What rounding and the way of a report take. */
const toleranceMs = 1000

interface Held {
  readonly spec: LeaseRecord
  readonly renewedAtMs: number
  readonly revision: number
}

function leftMs({ spec, renewedAtMs }: Held, taken: LeaseRecord, atMs: number): number {
  const durationMs = (spec.leaseDurationSeconds ?? 0) * 1000
  const byReports = renewedAtMs + durationMs - atMs
  const byLease =
    Date.parse(spec.renewTime ?? '') + durationMs - Date.parse(taken.acquireTime ?? '')
  return Math.min(byReports, Number.isNaN(byLease) ? byReports : byLease)
}

export function leaseHolder(): Required<Pick<Rule, 'take'>> {
  const held = new Map<string, Held>()
  return {
    take: (change: Change): Finding[] => {
      if (!isOf(change, 'leases')) return []
      const uid = uidOf(change.object)
      if (change.type === 'DELETED') {
        held.delete(uid)
        return []
      }
      const spec = (change.object['spec'] ?? {}) as LeaseRecord
      const before = held.get(uid)
      held.set(uid, { spec, renewedAtMs: change.atMs, revision: change.revision })
      const { holderIdentity: holder = '' } = before?.spec ?? {}
      const { holderIdentity: next = '' } = spec
      if (before === undefined || change.isListed || holder === '' || next === '') return []
      const left = leftMs(before, spec, change.atMs)
      if (holder === next || left <= toleranceMs) return []
      const text = `${nameOf(change)} went from ${holder} to ${next} at revision ${change.revision}, ${(left / 1000).toFixed(1)} s before the hold of ${holder} (revision ${before.revision}) ended`
      return [findingOf(change, text, [String(before.revision)])]
    },
  }
}
