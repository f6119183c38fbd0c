/** Related: what a finding may rest on besides the object itself, as plain data. */
import type { Dialect } from '../../components/api/dialect.ts'
import type {
  EndpointSlice,
  Event,
  HorizontalPodAutoscaler,
  IngressClass,
  Job,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  ReplicaSet,
  ResourceQuota,
  Service,
  StorageClass,
} from '../../components/api/generated/types.ts'
import type { PodExplanation } from '../../components/api/pod-explanation.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'

/** By the keys of `resourcesOf`. */
export interface RelatedKinds {
  readonly endpointSlices: EndpointSlice
  readonly events: Event
  readonly horizontalPodAutoscalers: HorizontalPodAutoscaler
  readonly ingressClasses: IngressClass
  readonly jobs: Job
  readonly nodes: Node
  readonly persistentVolumeClaims: PersistentVolumeClaim
  readonly persistentVolumes: PersistentVolume
  readonly podDisruptionBudgets: PodDisruptionBudget
  readonly pods: Pod
  readonly replicaSets: ReplicaSet
  readonly resourceQuotas: ResourceQuota
  readonly services: Service
  readonly storageClasses: StorageClass
}

export type RelatedKey = keyof RelatedKinds

export const relatedKeys = [
  'endpointSlices',
  'events',
  'horizontalPodAutoscalers',
  'ingressClasses',
  'jobs',
  'nodes',
  'persistentVolumeClaims',
  'persistentVolumes',
  'podDisruptionBudgets',
  'pods',
  'replicaSets',
  'resourceQuotas',
  'services',
  'storageClasses',
] as const satisfies readonly RelatedKey[]

/** What became of the question to the scheduler. */
export type SchedulerAnswer =
  | { readonly kind: 'answered'; readonly explanation: PodExplanation }
  /** It runs, and the pod does not wait for a node any more, or is not yet known to it. */
  | { readonly kind: 'not-waiting' }
  | { readonly kind: 'silent'; readonly why: string }

export type Related = { readonly [K in RelatedKey]: readonly RelatedKinds[K][] } & {
  readonly nowMs: number
  readonly dialect: Dialect
  /** Absent when the scheduler was not asked. */
  readonly scheduler?: SchedulerAnswer
  /** Metadata of what is in a namespace that ends, or of what may depend on an object that ends. */
  readonly contents: readonly KubeObject[]
  /** Kinds of which something was not read: their absence shows nothing. */
  readonly incomplete: ReadonlySet<RelatedKey>
}

/** Nothing is related; what is given takes the place of the empty lists. */
export function relatedOf(some: Pick<Related, 'nowMs' | 'dialect'> & Partial<Related>): Related {
  const lists = Object.fromEntries(relatedKeys.map((key) => [key, []])) as unknown as {
    [K in RelatedKey]: RelatedKinds[K][]
  }
  return { ...lists, contents: [], incomplete: new Set(), ...some }
}
