/** Scale: the one view in which every workload with replicas can be read and changed. */
import type { Deployment, ReplicationController, Scale } from '../../../api/generated/types.ts'
import { isRecord } from '../../../machinery/apply-shape.ts'
import { getOwn, setOwn } from '../../../machinery/json-copy.ts'
import { FieldPath } from '../../../machinery/field-path.ts'
import {
  formatLabelSelector,
  labelSelectorFrom,
  labelSelectorOfMap,
} from '../../../machinery/label-selector.ts'
import type { KubeObject } from '../../../machinery/object.ts'
import { conflict, invalid, StatusError } from '../../../machinery/status-error.ts'
import { mustNotBeNegative } from './field-rules.ts'

/** Where the objects of a custom kind keep what their Scale shows: fields from the root on. */
export interface ScalePlaces {
  readonly replicas: readonly string[]
  readonly statusReplicas: readonly string[]
  /** Holds a selector as text. */
  readonly selector: readonly string[] | undefined
}

function valueAt(object: unknown, fields: readonly string[]): unknown {
  return fields.reduce<unknown>(
    (value, name) => (isRecord(value) ? getOwn(value, name) : undefined),
    object,
  )
}

interface Shown {
  readonly replicas: number
  readonly statusReplicas: number
  readonly selector: string
}

function shownAt(object: KubeObject, places: ScalePlaces): Shown {
  const number = (value: unknown): number => (typeof value === 'number' ? value : 0)
  const replicas = valueAt(object, places.replicas)
  if (replicas === undefined) {
    const path = JSON.stringify(`.${places.replicas.join('.')}`)
    throw new StatusError(
      'InternalError',
      `Internal error occurred: the spec replicas field ${path} does not exist`,
    )
  }
  const selector = places.selector && valueAt(object, places.selector)
  return {
    replicas: number(replicas),
    statusReplicas: number(valueAt(object, places.statusReplicas)),
    selector: typeof selector === 'string' ? selector : '',
  }
}

function shownOf(object: KubeObject): Shown {
  const { spec, status } = object as Deployment
  return {
    replicas: spec?.replicas ?? 0,
    statusReplicas: status?.replicas ?? 0,
    selector: selectorTextOf(object),
  }
}

/** The autoscaling/v1 Scale of a Deployment, ReplicaSet, StatefulSet or ReplicationController, or of a custom kind. */
export function scaleOf(object: KubeObject, places?: ScalePlaces): Scale & KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const { replicas, statusReplicas, selector } =
    places === undefined ? shownOf(object) : shownAt(object, places)
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
      replicas: statusReplicas,
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
export function applyScale(
  draft: KubeObject,
  scale: KubeObject,
  path: readonly string[] = ['spec', 'replicas'],
): KubeObject {
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
  const last = path.length - 1
  let holder: Record<string, unknown> = draft
  for (const name of path.slice(0, last)) {
    if (!isRecord(getOwn(holder, name))) setOwn(holder, name, {})
    holder = holder[name] as Record<string, unknown>
  }
  setOwn(holder, path[last] ?? '', replicas)
  if (asked.resourceVersion) draft.metadata.resourceVersion = asked.resourceVersion
  else delete draft.metadata.resourceVersion
  return draft
}
