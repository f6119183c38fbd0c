/** Resource allocation: how much of chosen resources is taken on a node with a pod on it (upstream: noderesources/resource_allocation.go). */
import type { Amounts } from '../../api/amounts.ts'
import type { ResourceSpec } from '../configuration/plugin-arguments.ts'
import type { PodInfo } from '../pod-info.ts'
import type { NodeInfo } from '../snapshot.ts'

/** One resource of a node; `requested` counts the pod. */
export interface Allocation {
  requested: number
  allocatable: number
  readonly weight: number
}

function isExtended(name: string): boolean {
  return name.includes('/')
}

type AmountReader = (amounts: Readonly<Amounts>) => number

const readers: ReadonlyMap<string, AmountReader> = new Map<string, AmountReader>([
  ['cpu', ({ milliCpu }) => milliCpu],
  ['memory', ({ memory }) => memory],
  ['ephemeral-storage', ({ ephemeralStorage }) => ephemeralStorage],
])

/** Reads the amount of one resource; CPU in thousandths. */
export function amountReader(name: string): AmountReader {
  return readers.get(name) ?? (({ scalars }) => scalars.get(name) ?? 0)
}

/** The amount of one resource; CPU in thousandths. */
export function amountOf(amounts: Readonly<Amounts>, name: string): number {
  return amountReader(name)(amounts)
}

/**
 * The resources that count for this pod: an extended resource that the pod does not ask for is left out. With `withDefaults`,
 * containers without a request count as if they asked for a little CPU and memory, so that empty pods spread, too. What the function
 * returns is valid until its next call.
 */
export function allocationsOf(
  pod: PodInfo,
  resources: readonly ResourceSpec[],
  withDefaults: boolean,
): (node: NodeInfo) => readonly Allocation[] {
  const counted = resources.flatMap(({ name, weight }) => {
    const read = amountReader(name)
    if (isExtended(name) && read(pod.requests) === 0) return []
    const withDefault = withDefaults && (name === 'cpu' || name === 'memory') ? name : undefined
    return [{ read, withDefault, allocation: { requested: 0, allocatable: 0, weight } }]
  })
  const allocations = counted.map(({ allocation }) => allocation)
  return (node) => {
    for (const { read, withDefault, allocation } of counted) {
      allocation.allocatable = read(node.allocatable)
      if (withDefault === 'cpu') allocation.requested = node.scoringMilliCpu + pod.scoringMilliCpu
      else if (withDefault === 'memory')
        allocation.requested = node.scoringMemory + pod.scoringMemory
      else allocation.requested = read(node.requested) + read(pod.requests)
    }
    return allocations
  }
}
