/**
 * Scoring strategies of NodeResourcesFit: LeastAllocated prefers empty nodes, MostAllocated full ones, RequestedToCapacityRatio
 * those where a function of the utilization says so (upstream: noderesources/{least,most}_allocated.go, requested_to_capacity_ratio.go).
 */
import type { ScoringStrategy, UtilizationShapePoint } from '../configuration/plugin-arguments.ts'
import type { Allocation } from './resource-allocation.ts'

type Scorer = (allocations: readonly Allocation[]) => number

function leastAllocated(requested: number, allocatable: number): number {
  if (requested > allocatable) return 0
  return Math.trunc(((allocatable - requested) * 100) / allocatable)
}

/** Requests without defaults may be counted beyond what a node has: it is full then. */
function mostAllocated(requested: number, allocatable: number): number {
  return Math.trunc((Math.min(requested, allocatable) * 100) / allocatable)
}

/** The weighted mean of the resources that the node has at all. */
function weighted(of: (requested: number, allocatable: number) => number): Scorer {
  return (allocations) => {
    let [sum, weights] = [0, 0]
    for (const { requested, allocatable, weight } of allocations) {
      if (allocatable === 0) continue
      sum += of(requested, allocatable) * weight
      weights += weight
    }
    return weights === 0 ? 0 : Math.trunc(sum / weights)
  }
}

/** The score, 0 to 100, at a utilization in percent. */
function interpolated(shape: readonly UtilizationShapePoint[], utilization: number): number {
  let before: UtilizationShapePoint | undefined
  for (const point of shape) {
    if (utilization <= point.utilization) {
      if (before === undefined) return point.score * 10
      const share = (utilization - before.utilization) / (point.utilization - before.utilization)
      return Math.trunc(before.score * 10 + (point.score - before.score) * 10 * share)
    }
    before = point
  }
  return (before?.score ?? 0) * 10
}

/** A resource with the score 0 does not count, and the mean is rounded, as upstream. */
function byShape(shape: readonly UtilizationShapePoint[]): Scorer {
  const at = (requested: number, allocatable: number): number =>
    allocatable === 0 || requested > allocatable
      ? interpolated(shape, 100)
      : interpolated(shape, Math.trunc((requested * 100) / allocatable))
  return (allocations) => {
    let [sum, weights] = [0, 0]
    for (const { requested, allocatable, weight } of allocations) {
      if (allocatable === 0) continue
      const score = at(requested, allocatable)
      if (score <= 0) continue
      sum += score * weight
      weights += weight
    }
    return weights === 0 ? 0 : Math.round(sum / weights)
  }
}

/** The scorer of a validated strategy. */
export function scorerOf({ type, requestedToCapacityRatio }: ScoringStrategy): Scorer {
  if (type === 'MostAllocated') return weighted(mostAllocated)
  if (type === 'RequestedToCapacityRatio') return byShape(requestedToCapacityRatio?.shape ?? [])
  return weighted(leastAllocated)
}
