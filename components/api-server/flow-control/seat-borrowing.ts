/** seat-borrowing: moves the levels' limits by their demand (upstream: apf_controller.go updateBorrowing, KEP-1040). */
import type { PriorityLevel } from './priority-level.ts'
import { allocateSeats } from './seat-allocation.ts'

/** How often the limits are moved. */
export const borrowingPeriodMs = 10_000

/** What a limit is not moved below: what it needed, of its nominal seats; but never what it does not lend. */
function leastOf({ lowest, nominal, demand }: PriorityLevel): number {
  return Math.max(lowest, Math.min(nominal, demand.highWatermark))
}

/**
 * The limits of the levels that are not exempt, in their order, and the fraction of its target that each of them gets. If exempt
 * requests take too much, it is 0, and the limits are between the least and the lowest ones.
 */
function limitsOf(
  levels: readonly PriorityLevel[],
  of: { nominal: number; remaining: number },
): { limits: readonly number[]; fraction: number } {
  const least = levels.map(leastOf)
  const leastSum = least.reduce((sum, one) => sum + one, 0)
  const lowestSum = levels.reduce((sum, { lowest }) => sum + lowest, 0)
  if (of.remaining <= lowestSum) {
    return { limits: levels.map(({ lowest }) => lowest), fraction: 0 }
  }
  if (of.remaining <= leastSum) {
    const part = (of.remaining - lowestSum) / (leastSum - lowestSum)
    const between = ({ lowest }: PriorityLevel, index: number): number =>
      lowest + Math.round(((least[index] ?? lowest) - lowest) * part)
    return { limits: levels.map(between), fraction: 0 }
  }
  const claims = levels.map(({ highest, target }, index) => ({
    lowerBound: least[index] ?? 0,
    upperBound: highest,
    target,
  }))
  const allocation = allocateSeats(of.nominal, claims)
  if (allocation === undefined) return { limits: levels.map(({ current }) => current), fraction: 0 }
  return { limits: allocation.seats.map(Math.round), fraction: allocation.fraction }
}

/** Ends a period of demand, and sets all limits. Returns the fraction of its target that each level gets. */
export function moveSeats(
  levels: readonly PriorityLevel[],
  at: { nowMs: number; totalSeats: number },
): number {
  const nominal = levels.reduce((sum, one) => sum + one.nominal, 0)
  // Of an empty level, for metrics of utilization.
  const denominator = Math.max(1, Math.round(at.totalSeats / 10))
  let remaining = nominal
  const limited: PriorityLevel[] = []
  for (const level of levels) {
    level.demand.update(at.nowMs)
    if (level.isExempt) {
      // Exempt requests take what they take.
      level.target = Math.max(level.lowest, level.demand.highWatermark)
      remaining -= level.target
    } else {
      level.target = Math.max(leastOf(level), level.demand.smoothed)
      limited.push(level)
    }
  }
  const { limits, fraction } = limitsOf(limited, { nominal, remaining })
  for (const level of levels) if (level.isExempt) level.limitTo(level.target, denominator)
  for (const [index, level] of limited.entries()) level.limitTo(limits[index] ?? 0, denominator)
  return fraction
}
