/** Resource allocation: how much of chosen resources is taken on a node with a pod on it (upstream: noderesources/resource_allocation.go). */
import type { Amounts } from '../../api/amounts.ts'
import type { ResourceSpec } from '../configuration/plugin-arguments.ts'
import type { PodInfo } from '../pod-info.ts'
import type { NodeInfo } from '../snapshot.ts'

/** One resource of a node; `requested` counts the pod. */
export interface Allocation {
  readonly requested: number
  readonly allocatable: number
  readonly weight: number
}

function isExtended(name: string): boolean {
  return name.includes('/')
}

/** The amount of one resource; CPU in thousandths. */
export function amountOf(amounts: Readonly<Amounts>, name: string): number {
  if (name === 'cpu') return amounts.milliCpu
  if (name === 'memory') return amounts.memory
  if (name === 'ephemeral-storage') return amounts.ephemeralStorage
  return amounts.scalars.get(name) ?? 0
}

/**
 * The resources that count for this pod: an extended resource that the pod does not ask for is left out. With `withDefaults`,
 * containers without a request count as if they asked for a little CPU and memory, so that empty pods spread, too.
 */
export function allocationsOf(
  pod: PodInfo,
  resources: readonly ResourceSpec[],
  withDefaults: boolean,
): (node: NodeInfo) => Allocation[] {
  const counted = resources.filter(
    ({ name }) => !isExtended(name) || amountOf(pod.requests, name) !== 0,
  )
  return (node) =>
    counted.map(({ name, weight }) => {
      const allocatable = amountOf(node.allocatable, name)
      let requested: number
      if (withDefaults && name === 'cpu') requested = node.scoringMilliCpu + pod.scoringMilliCpu
      else if (withDefaults && name === 'memory') requested = node.scoringMemory + pod.scoringMemory
      else requested = amountOf(node.requested, name) + amountOf(pod.requests, name)
      return { requested, allocatable, weight }
    })
}
