/** Arguments of plugins, as `pluginConfig` gives them, with upstream's defaults (upstream: apis/config/types_pluginargs.go). */
import type { NodeAffinity, TopologySpreadConstraint } from '../../api/generated/types.ts'

export interface ResourceSpec {
  readonly name: string
  readonly weight: number
}

/** A point of a piecewise linear function: utilization in percent, score from 0 to 10. */
export interface UtilizationShapePoint {
  readonly utilization: number
  readonly score: number
}

export interface ScoringStrategy {
  readonly type: string
  readonly resources: readonly ResourceSpec[]
  readonly requestedToCapacityRatio?: { readonly shape: readonly UtilizationShapePoint[] }
}

/** The arguments of every plugin that takes any, by the plugin's name. */
export interface PluginArguments {
  readonly DefaultPreemption: {
    readonly minCandidateNodesPercentage: number
    readonly minCandidateNodesAbsolute: number
  }
  readonly InterPodAffinity: {
    readonly hardPodAffinityWeight: number
    readonly ignorePreferredTermsOfExistingPods: boolean
  }
  readonly NodeAffinity: { readonly addedAffinity?: NodeAffinity }
  readonly NodeResourcesBalancedAllocation: { readonly resources: readonly ResourceSpec[] }
  readonly NodeResourcesFit: {
    readonly ignoredResources: readonly string[]
    readonly ignoredResourceGroups: readonly string[]
    readonly scoringStrategy: ScoringStrategy
  }
  readonly PodTopologySpread: {
    readonly defaultConstraints: readonly TopologySpreadConstraint[]
    /** `System` or `List`. */
    readonly defaultingType: string
  }
  readonly VolumeBinding: {
    readonly bindTimeoutSeconds: number
    /** Behind the gate VolumeCapacityPriority, which is off: an error when it is given. */
    readonly shape?: readonly UtilizationShapePoint[]
  }
}

const cpuAndMemory: readonly ResourceSpec[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
]

export const defaultPluginArguments: PluginArguments = {
  DefaultPreemption: { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 },
  InterPodAffinity: { hardPodAffinityWeight: 1, ignorePreferredTermsOfExistingPods: false },
  NodeAffinity: {},
  NodeResourcesBalancedAllocation: { resources: cpuAndMemory },
  NodeResourcesFit: {
    ignoredResources: [],
    ignoredResourceGroups: [],
    scoringStrategy: { type: 'LeastAllocated', resources: cpuAndMemory },
  },
  PodTopologySpread: { defaultConstraints: [], defaultingType: 'System' },
  VolumeBinding: { bindTimeoutSeconds: 600 },
}
