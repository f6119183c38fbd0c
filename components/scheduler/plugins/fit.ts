/** NodeResourcesFit: a node takes a pod when what is left of its allocatable covers the pod's requests. */
import type { FilterPlugin, Rejection } from '../plugin.ts'
import type { PodInfo } from '../pod-info.ts'
import type { NodeInfo } from '../snapshot.ts'

function shortages({ requests }: PodInfo, node: NodeInfo): string[] {
  const { allocatable, requested } = node
  const short: string[] = []
  if (node.pods.size + 1 > node.allowedPods) short.push('Too many pods')
  // A resource that is not asked for cannot be short, even on a node that is over-committed in it.
  if (requests.milliCpu > 0 && requests.milliCpu > allocatable.milliCpu - requested.milliCpu) {
    short.push('Insufficient cpu')
  }
  if (requests.memory > 0 && requests.memory > allocatable.memory - requested.memory) {
    short.push('Insufficient memory')
  }
  const storageLeft = allocatable.ephemeralStorage - requested.ephemeralStorage
  if (requests.ephemeralStorage > 0 && requests.ephemeralStorage > storageLeft) {
    short.push('Insufficient ephemeral-storage')
  }
  for (const [name, amount] of requests.scalars) {
    const left = (allocatable.scalars.get(name) ?? 0) - (requested.scalars.get(name) ?? 0)
    if (amount > 0 && amount > left) short.push(`Insufficient ${name}`)
  }
  return short
}

export const fit: FilterPlugin = {
  name: 'NodeResourcesFit',
  forPod:
    (pod) =>
    (node): Rejection | undefined => {
      const reasons = shortages(pod, node)
      return reasons.length === 0 ? undefined : { reasons, resolvable: true }
    },
}
