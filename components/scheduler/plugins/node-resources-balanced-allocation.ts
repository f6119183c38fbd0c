/**
 * NodeResourcesBalancedAllocation: nodes whose resources are used in like shares score more. A pod without any of the requests has no
 * preference, or all such pods would go to one node (upstream: noderesources/balanced_allocation.go).
 */
import type { PluginArguments } from '../configuration/plugin-arguments.ts'
import type { PluginWith } from '../plugin.ts'
import { scoreEach } from '../plugin.ts'
import type { Allocation } from './resource-allocation.ts'
import { allocationsOf, amountOf } from './resource-allocation.ts'

function balance(allocations: readonly Allocation[]): number {
  let [count, sum, squares] = [0, 0, 0]
  for (const { requested, allocatable } of allocations) {
    if (allocatable === 0) continue
    const share = Math.min(requested / allocatable, 1)
    count += 1
    sum += share
    squares += share * share
  }
  if (count < 2) return 100
  const mean = sum / count
  const deviation = Math.sqrt(Math.max(0, squares / count - mean * mean))
  return Math.trunc((1 - deviation) * 100)
}

export function nodeResourcesBalancedAllocation({
  resources,
}: PluginArguments['NodeResourcesBalancedAllocation']): PluginWith<'score'> {
  return {
    name: 'NodeResourcesBalancedAllocation',
    score(pod, nodes) {
      if (resources.every(({ name }) => amountOf(pod.requests, name) === 0)) return undefined
      const allocations = allocationsOf(pod, resources, false)
      return scoreEach(nodes, (node) => balance(allocations(node)))
    },
  }
}
