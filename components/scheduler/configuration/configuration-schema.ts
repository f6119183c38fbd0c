/** Schema of KubeSchedulerConfiguration, v1 (upstream: kube-scheduler/config/v1/types.go). */
import { schemaOf } from '../../api/schemas.ts'
import {
  anything,
  document,
  durationText,
  flag,
  float,
  int32,
  int64,
  list,
  struct,
  text,
} from '../../machinery/configuration/config-schema.ts'
import { extensionPoints } from '../extension-points.ts'

const pluginSet = struct('PluginSet', {
  enabled: list(struct('Plugin', { name: text, weight: int32 })),
  disabled: list(struct('Plugin', { name: text, weight: int32 })),
})

const plugins = struct(
  'Plugins',
  Object.fromEntries([...extensionPoints, 'multiPoint'].map((point) => [point, pluginSet])),
)

const extender = struct('Extender', {
  urlPrefix: text,
  filterVerb: text,
  preemptVerb: text,
  prioritizeVerb: text,
  weight: int64,
  bindVerb: text,
  enableHTTPS: flag,
  tlsConfig: struct('ExtenderTLSConfig', {
    insecure: flag,
    serverName: text,
    certFile: text,
    keyFile: text,
    caFile: text,
    certData: text,
    keyData: text,
    caData: text,
  }),
  httpTimeout: durationText,
  nodeCacheCapable: flag,
  managedResources: list(
    struct('ExtenderManagedResource', { name: text, ignoredByScheduler: flag }),
  ),
  ignorable: flag,
})

export const configurationSchema = document('KubeSchedulerConfiguration', {
  parallelism: int32,
  leaderElection: struct('LeaderElectionConfiguration', {
    leaderElect: flag,
    leaseDuration: durationText,
    renewDeadline: durationText,
    retryPeriod: durationText,
    resourceLock: text,
    resourceName: text,
    resourceNamespace: text,
  }),
  clientConnection: struct('ClientConnectionConfiguration', {
    kubeconfig: text,
    acceptContentTypes: text,
    contentType: text,
    qps: float,
    burst: int32,
  }),
  enableProfiling: flag,
  enableContentionProfiling: flag,
  percentageOfNodesToScore: int32,
  podInitialBackoffSeconds: int64,
  podMaxBackoffSeconds: int64,
  profiles: list(
    struct('KubeSchedulerProfile', {
      schedulerName: text,
      percentageOfNodesToScore: int32,
      plugins,
      pluginConfig: list(struct('PluginConfig', { name: text, args: anything })),
    }),
  ),
  extenders: list(extender),
  delayCacheUntilActive: flag,
})

const resources = list(struct('ResourceSpec', { name: text, weight: int64 }))
const shape = list(struct('UtilizationShapePoint', { utilization: int32, score: int32 }))

/** Schemas of the arguments of plugins, by the plugin's name. */
export const argumentSchemas = {
  DefaultPreemption: document('DefaultPreemptionArgs', {
    minCandidateNodesPercentage: int32,
    minCandidateNodesAbsolute: int32,
  }),
  InterPodAffinity: document('InterPodAffinityArgs', {
    hardPodAffinityWeight: int32,
    ignorePreferredTermsOfExistingPods: flag,
  }),
  NodeAffinity: document('NodeAffinityArgs', { addedAffinity: schemaOf('core/v1.NodeAffinity') }),
  NodeResourcesBalancedAllocation: document('NodeResourcesBalancedAllocationArgs', { resources }),
  NodeResourcesFit: document('NodeResourcesFitArgs', {
    ignoredResources: list(text),
    ignoredResourceGroups: list(text),
    scoringStrategy: struct('ScoringStrategy', {
      type: text,
      resources,
      requestedToCapacityRatio: struct('RequestedToCapacityRatioParam', { shape }),
    }),
  }),
  PodTopologySpread: document('PodTopologySpreadArgs', {
    defaultConstraints: list(schemaOf('core/v1.TopologySpreadConstraint')),
    defaultingType: text,
  }),
  VolumeBinding: document('VolumeBindingArgs', { bindTimeoutSeconds: int64, shape }),
}
