/**
 * Kinds that are served and that nothing in the cluster acts on yet: by storage prefix, what is missing and what that means. A
 * client that creates one is warned, and an Event says it of the object. An entry goes when its controller comes.
 */
export const unattendedKinds: ReadonlyMap<string, string> = new Map([
  [
    'autoscaling/horizontalpodautoscalers',
    'this cluster has no HorizontalPodAutoscaler controller: nothing is scaled',
  ],
  [
    'networking/ingresses',
    'this cluster has no ingress controller of its own: unless you run one, no traffic is routed',
  ],
  [
    'networking/networkpolicies',
    'this cluster has no network plugin: network policies are not enforced',
  ],
  [
    'resource/resourceclaims',
    'this cluster has no ResourceClaim controller: no devices are allocated',
  ],
  [
    'storagemigration/storageversionmigrations',
    'this cluster has no StorageVersionMigration controller: nothing is migrated',
  ],
])
