/** Related: what a finding may rest on besides the object itself, as plain data. */
import type { Dialect } from '../../components/api/dialect.ts'
import type {
  EndpointSlice,
  Event,
  FlowSchema,
  IngressClass,
  Job,
  LimitRange,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  PriorityLevelConfiguration,
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
  readonly flowSchemas: FlowSchema
  readonly ingressClasses: IngressClass
  readonly jobs: Job
  readonly limitRanges: LimitRange
  readonly nodes: Node
  readonly persistentVolumeClaims: PersistentVolumeClaim
  readonly persistentVolumes: PersistentVolume
  readonly podDisruptionBudgets: PodDisruptionBudget
  readonly pods: Pod
  readonly priorityLevelConfigurations: PriorityLevelConfiguration
  readonly replicaSets: ReplicaSet
  readonly resourceQuotas: ResourceQuota
  readonly services: Service
  readonly storageClasses: StorageClass
}

export type RelatedKey = keyof RelatedKinds

export const relatedKeys = [
  'endpointSlices',
  'events',
  'flowSchemas',
  'ingressClasses',
  'jobs',
  'limitRanges',
  'nodes',
  'persistentVolumeClaims',
  'persistentVolumes',
  'podDisruptionBudgets',
  'pods',
  'priorityLevelConfigurations',
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
  /** Metadata of what is in a namespace that is being deleted. */
  readonly contents: readonly KubeObject[]
  /** Metadata of what names an object that is being deleted as its owner. */
  readonly dependents: readonly KubeObject[]
  /** Kinds of which something was not read: their absence shows nothing. */
  readonly incomplete: ReadonlySet<RelatedKey>
}

/** The node that the pod is bound to, if it was read. */
export function nodeOf(pod: Pod, { nodes }: Pick<Related, 'nodes'>): Node | undefined {
  return nodes.find(({ metadata }) => metadata.name === pod.spec?.nodeName)
}

/** Nothing is related; what is given takes the place of the empty lists. */
export function relatedOf(some: Pick<Related, 'nowMs' | 'dialect'> & Partial<Related>): Related {
  const lists = Object.fromEntries(relatedKeys.map((key) => [key, []])) as unknown as {
    [K in RelatedKey]: RelatedKinds[K][]
  }
  return { ...lists, contents: [], dependents: [], incomplete: new Set(), ...some }
}
