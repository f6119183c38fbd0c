/** The two kinds one reconciler serves: a ReplicationController is a ReplicaSet whose selector is a plain map. */
import type {
  LabelSelector as SelectorObject,
  PodTemplateSpec,
  ReplicaSetStatus,
} from '../../api/generated/types.ts'
import type { Resources } from '../../api/resources.ts'
import type { LabelSelector } from '../../machinery/selectors/label-selector.ts'
import { labelSelectorOfMap } from '../../machinery/selectors/label-selector.ts'
import type { ObjectMeta } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { selectorOrNothing } from '../owner-keys.ts'

/** Fields that both kinds share. */
export interface ReplicaOwner {
  kind?: string
  apiVersion?: string
  metadata: ObjectMeta
  spec?: {
    replicas?: number
    minReadySeconds?: number
    selector?: SelectorObject | Record<string, string>
    template?: PodTemplateSpec
  }
  status?: ReplicaSetStatus
}

export interface ReplicaKind {
  resourceOf(resources: Resources): Resource
  selectorOf(owner: ReplicaOwner): LabelSelector
}

export const replicaSetKind: ReplicaKind = {
  resourceOf: (resources) => resources.replicaSets,
  selectorOf: ({ spec }) => selectorOrNothing(spec?.selector as SelectorObject | undefined),
}

export const replicationControllerKind: ReplicaKind = {
  resourceOf: (resources) => resources.replicationControllers,
  selectorOf: ({ spec }) => labelSelectorOfMap((spec?.selector ?? {}) as Record<string, string>),
}
