/** Scale: the one view in which every workload with replicas can be read and changed. */
import type { Deployment, ReplicationController, Scale } from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/field-path.ts'
import {
  formatLabelSelector,
  labelSelectorFrom,
  labelSelectorOfMap,
} from '../../../machinery/label-selector.ts'
import type { KubeObject } from '../../../machinery/object.ts'
import { conflict, invalid } from '../../../machinery/status-error.ts'
import { mustNotBeNegative } from './field-rules.ts'

/** The autoscaling/v1 Scale of a Deployment, ReplicaSet, StatefulSet or ReplicationController. */
export function scaleOf(object: KubeObject): Scale & KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const { spec, status } = object as Deployment
  const replicas = spec?.replicas ?? 0
  const selector = selectorTextOf(object)
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      creationTimestamp: creationTimestamp ?? null,
    },
    spec: replicas === 0 ? {} : { replicas },
    status: {
      replicas: status?.replicas ?? 0,
      ...(selector === '' ? {} : { selector }),
    },
  }
}

function selectorTextOf(object: KubeObject): string {
  if (object.kind === 'ReplicationController') {
    return formatLabelSelector(
      labelSelectorOfMap((object as ReplicationController).spec?.selector ?? {}),
    )
  }
  const selector = (object as Deployment).spec?.selector
  return selector ? formatLabelSelector(labelSelectorFrom(selector)) : ''
}

const scaleKind = { group: 'autoscaling', kind: 'Scale' }

/**
 * Sets the replicas the Scale asks for on the draft of its parent and returns the draft. The Scale's resourceVersion
 * becomes the draft's, so that a stale one is a conflict. Throws Invalid and Conflict StatusErrors.
 */
export function applyScale(draft: KubeObject, scale: KubeObject): KubeObject {
  const { name = '', uid } = draft.metadata
  const replicas = (scale as unknown as Scale).spec?.replicas ?? 0
  const root = FieldPath.root()
  if (replicas < 0) root.child('spec').child('replicas').invalid(replicas, mustNotBeNegative)
  if (root.errors.length > 0) throw invalid(scaleKind, name, root.errors)
  const asked = scale.metadata ?? {}
  if (asked.uid && asked.uid !== uid) {
    throw conflict(
      { group: scaleKind.group, plural: 'scales' },
      name,
      `Precondition failed: UID in precondition: ${asked.uid}, UID in object meta: ${uid ?? ''}`,
    )
  }
  const spec = (draft['spec'] ??= {})
  spec.replicas = replicas
  if (asked.resourceVersion) draft.metadata.resourceVersion = asked.resourceVersion
  else delete draft.metadata.resourceVersion
  return draft
}
