/** Defaults of the controllers that keep Pods running (upstream: pkg/apis/apps/v1/defaults.go). */
import type {
  DaemonSet,
  Deployment,
  PersistentVolumeClaim,
  ReplicaSet,
  ReplicationController,
  StatefulSet,
} from '../../../api/generated/types.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { defaultPodTemplate } from '../core/pod/pod-defaults.ts'
import { defaultClaimSpec } from '../core/pod/volume-defaults.ts'

export function defaultDeployment(object: KubeObject): void {
  const { spec } = object as Deployment
  if (spec === undefined) return
  spec.replicas ??= 1
  const strategy = (spec.strategy ??= {})
  strategy.type ||= 'RollingUpdate'
  if (strategy.type === 'RollingUpdate') {
    strategy.rollingUpdate ??= {}
    strategy.rollingUpdate.maxUnavailable ??= '25%'
    strategy.rollingUpdate.maxSurge ??= '25%'
  }
  spec.revisionHistoryLimit ??= 10
  spec.progressDeadlineSeconds ??= 600
  defaultPodTemplate(spec.template)
}

export function defaultReplicaSet(object: KubeObject): void {
  const { spec } = object as ReplicaSet
  if (spec === undefined) return
  spec.replicas ??= 1
  defaultPodTemplate(spec.template)
}

export function defaultStatefulSet(object: KubeObject): void {
  const { spec } = object as StatefulSet
  if (spec === undefined) return
  spec.podManagementPolicy ||= 'OrderedReady'
  const strategy = (spec.updateStrategy ??= {})
  strategy.type ||= 'RollingUpdate'
  if (strategy.type === 'RollingUpdate') {
    strategy.rollingUpdate ??= {}
    strategy.rollingUpdate.partition ??= 0
  }
  const policy = (spec.persistentVolumeClaimRetentionPolicy ??= {})
  policy.whenDeleted ||= 'Retain'
  policy.whenScaled ||= 'Retain'
  spec.replicas ??= 1
  spec.revisionHistoryLimit ??= 10
  defaultPodTemplate(spec.template)
  for (const claim of spec.volumeClaimTemplates ?? []) defaultClaimTemplate(claim)
}

/** Claims inside a StatefulSet are whole objects, with the kind's own defaults. */
function defaultClaimTemplate(claim: PersistentVolumeClaim): void {
  claim.kind ||= 'PersistentVolumeClaim'
  claim.apiVersion ||= 'v1'
  if (claim.spec) defaultClaimSpec(claim.spec)
  claim.status ??= {}
  claim.status.phase ||= 'Pending'
}

export function defaultDaemonSet(object: KubeObject): void {
  const { spec } = object as DaemonSet
  if (spec === undefined) return
  const strategy = (spec.updateStrategy ??= {})
  strategy.type ||= 'RollingUpdate'
  if (strategy.type === 'RollingUpdate') {
    strategy.rollingUpdate ??= {}
    strategy.rollingUpdate.maxUnavailable ??= 1
    strategy.rollingUpdate.maxSurge ??= 0
  }
  spec.revisionHistoryLimit ??= 10
  defaultPodTemplate(spec.template)
}

export function defaultReplicationController(object: KubeObject): void {
  const { spec, metadata } = object as ReplicationController
  if (spec === undefined) return
  const labels = spec.template?.metadata?.labels
  if (labels !== undefined) {
    if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels }
    if (Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels }
  }
  spec.replicas ??= 1
  defaultPodTemplate(spec.template)
}
