/**
 * A controller sees each change of the spec: `status.observedGeneration` reaches `metadata.generation` some time later, and never passes it.
 * Objects without the field count once another object of their kind has it: then their controller writes it.
 */
import type { Change } from '../change.ts'
import { nameOf, uidOf } from '../change.ts'
import { findingOf, type Finding, type Rule } from '../monitor.ts'

interface Behind {
  readonly change: Change
  readonly sinceMs: number
  isReported: boolean
}

function generationsOf({ object }: Change): { wanted: number; observed: number | undefined } {
  const status = (object['status'] ?? {}) as { observedGeneration?: unknown }
  const { observedGeneration: observed } = status
  return {
    wanted: object.metadata.generation ?? 0,
    observed: typeof observed === 'number' ? observed : undefined,
  }
}

export function observedGeneration(options: {
  readonly patienceMs: number
}): Required<Pick<Rule, 'take' | 'rest'>> {
  const { patienceMs } = options
  const behind = new Map<string, Behind>()
  /** Kinds whose controllers write the field. */
  const kinds = new Set<string>()
  const kindOf = ({ resource }: Change): string => `${resource.group}/${resource.plural}`
  const isReporting = (change: Change): boolean => kinds.has(kindOf(change))
  return {
    take: (change) => {
      const uid = uidOf(change.object)
      const { wanted, observed } = generationsOf(change)
      const isOver = change.type === 'DELETED' || change.object.metadata.deletionTimestamp
      if (observed !== undefined) kinds.add(kindOf(change))
      if (isOver || wanted === 0 || (observed ?? 0) >= wanted) {
        behind.delete(uid)
        if (isOver || wanted === 0 || (observed ?? 0) <= wanted) return []
        const text = `${nameOf(change)} has observedGeneration ${observed} at revision ${change.revision}, which is newer than its generation ${wanted}`
        return [findingOf(change, text)]
      }
      const known = behind.get(uid)
      // A controller that is behind by one generation and sees the next one late is late by the first.
      const hasMoved =
        observed !== undefined && observed !== generationsOf(known?.change ?? change).observed
      const sinceMs = known === undefined || hasMoved ? change.atMs : known.sinceMs
      behind.set(uid, { change, sinceMs, isReported: !hasMoved && (known?.isReported ?? false) })
      return []
    },
    rest: (nowMs) =>
      [...behind.values()].flatMap((one): Finding[] => {
        const { change, sinceMs, isReported } = one
        if (isReported || nowMs - sinceMs < patienceMs || !isReporting(change)) return []
        one.isReported = true
        const { wanted, observed } = generationsOf(change)
        const seconds = Math.round((nowMs - sinceMs) / 1000)
        const has =
          observed === undefined ? 'no observedGeneration' : `observedGeneration ${observed}`
        const text = `${nameOf(change)} of revision ${change.revision} has ${has} ${seconds} s after its generation became ${wanted}`
        return [findingOf(change, text)]
      }),
  }
}
