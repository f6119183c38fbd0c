/** The explicit list of scheduling plugins, in the order they are asked (upstream's default profile). */
import type { Dialect } from '../api/dialect.ts'
import type { Plugins } from './find-node.ts'
import { nodeAffinity, preferredNodeAffinity } from './plugins/affinity.ts'
import { fit } from './plugins/fit.ts'
import { interPodAffinity, preferredInterPodAffinity } from './plugins/inter-pod-affinity.ts'
import { leastAllocated } from './plugins/least-allocated.ts'
import { nodeName } from './plugins/node-name.ts'
import { nodePorts } from './plugins/node-ports.ts'
import { preferredTaints, taints } from './plugins/taints.ts'
import { preferredTopologySpread, topologySpread } from './plugins/topology-spread.ts'
import { unschedulable } from './plugins/unschedulable.ts'

export function defaultPlugins(dialect: Dialect): Plugins {
  return {
    filters: [
      unschedulable(dialect),
      nodeName,
      taints,
      nodeAffinity,
      nodePorts,
      fit,
      topologySpread,
      interPodAffinity,
    ],
    scores: [
      preferredTaints,
      preferredNodeAffinity,
      preferredTopologySpread,
      preferredInterPodAffinity,
      leastAllocated,
    ],
  }
}
