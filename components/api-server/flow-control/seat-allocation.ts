/** seat-allocation: shares seats out between bounds, in proportion to targets (upstream: flowcontrol/conc_alloc.go, KEP-1040). */

export interface SeatClaim {
  /** At least `lowerBound`. */
  readonly target: number
  readonly lowerBound: number
  /** At least `lowerBound`. */
  readonly upperBound: number
}

export interface SeatAllocation {
  /** In the order of the claims; they add up to the total. */
  readonly seats: readonly number[]
  /** Each claim gets this fraction of its target, or the bound next to it. */
  readonly fraction: number
}

const smallestTarget = 0.001
const slack = 1e-7

/** A claim's bounds as fractions of its target, where the allocation begins and ceases to grow. */
interface Bend {
  readonly fraction: number
  readonly growth: number
}

const targetOf = ({ target }: SeatClaim): number => Math.max(target, smallestTarget)

function sumOf(claims: readonly SeatClaim[], of: (claim: SeatClaim) => number): number {
  return claims.reduce((sum, claim) => sum + of(claim), 0)
}

function seatsAt(claims: readonly SeatClaim[], fraction: number): SeatAllocation {
  const seats = claims.map((claim) =>
    Math.max(claim.lowerBound, Math.min(claim.upperBound, fraction * targetOf(claim))),
  )
  return { seats, fraction }
}

/** Grows the fraction from bend to bend, until what is shared out reaches the total. */
function grownFraction(claims: readonly SeatClaim[], total: number): number {
  const bends = claims
    .flatMap((claim): Bend[] => {
      const growth = targetOf(claim)
      return [
        { fraction: claim.lowerBound / growth, growth },
        { fraction: claim.upperBound / growth, growth: -growth },
      ]
    })
    .toSorted((a, b) => a.fraction - b.fraction)
  let shared = sumOf(claims, ({ lowerBound }) => lowerBound)
  let fraction = bends[0]?.fraction ?? 0
  let growth = 0
  for (const bend of bends) {
    const more = (bend.fraction - fraction) * growth
    if (shared + more >= total && growth > 0) return fraction + (total - shared) / growth
    shared += more
    fraction = bend.fraction
    growth += bend.growth
  }
  return fraction
}

/** Undefined when no allocation between the bounds adds up to the total. */
export function allocateSeats(
  total: number,
  claims: readonly SeatClaim[],
): SeatAllocation | undefined {
  const lowest = sumOf(claims, ({ lowerBound }) => lowerBound)
  const highest = sumOf(claims, ({ upperBound }) => upperBound)
  if (lowest - total > slack || total - highest > slack) return undefined
  if (total === 0) return { seats: claims.map(() => 0), fraction: 0 }
  if (lowest - total > -slack) {
    const fraction = Math.min(...claims.map((claim) => claim.lowerBound / targetOf(claim)))
    return { seats: claims.map(({ lowerBound }) => lowerBound), fraction }
  }
  if (total - highest > -slack) {
    const fraction = Math.max(...claims.map((claim) => claim.upperBound / targetOf(claim)))
    return { seats: claims.map(({ upperBound }) => upperBound), fraction }
  }
  return seatsAt(claims, grownFraction(claims, total))
}
