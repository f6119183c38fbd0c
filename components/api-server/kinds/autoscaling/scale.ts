/** Scale: the one view in which every workload with replicas can be read and changed. */
import type { Deployment, ReplicationController, Scale } from '../../../api/generated/types.ts'
import { isRecord } from '../../../machinery/apply/apply-shape.ts'
import { getOwn, setOwn } from '../../../machinery/values/json-copy.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import {
  formatLabelSelector,
  labelSelectorFrom,
  labelSelectorOfMap,
} from '../../../machinery/selectors/label-selector.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { ScalePlaces } from '../../../machinery/objects/resource.ts'
import {
  badRequest,
  conflict,
  invalid,
  StatusError,
} from '../../../machinery/objects/status-error.ts'
import { mustNotBeNegative } from '../rules/field-rules.ts'

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
  const selector = places.selector && valueAt(object, places.selector)
  return {
    replicas: number(valueAt(object, places.replicas)),
    statusReplicas: number(valueAt(object, places.statusReplicas)),
    selector: typeof selector === 'string' ? selector : '',
  }
}

/** Whether a custom resource has no replicas, not even 0. Objects of built-in kinds always have some. */
function lacksReplicas(object: KubeObject, places: ScalePlaces | undefined): boolean {
  return places !== undefined && valueAt(object, places.replicas) === undefined
}

function fieldText({ replicas }: ScalePlaces): string {
  return `the spec replicas field ${JSON.stringify(`.${replicas.join('.')}`)}`
}

/** Throws an InternalError StatusError, as upstream, when there are no replicas to read. */
export function checkReadable(object: KubeObject, places: ScalePlaces | undefined): void {
  if (places === undefined || !lacksReplicas(object, places)) return
  throw new StatusError(
    'InternalError',
    `Internal error occurred: ${fieldText(places)} does not exist`,
  )
}

/**
 * The replicas of a Scale whose custom resource has none, where a write begins (upstream: apiextensions-apiserver
 * pkg/registry/customresource/etcd.go, invalidSpecReplicas). Clients see it: a JSON patch can replace it, and a write that
 * sends it is rejected like one that leaves it.
 */
const unset = -(2 ** 31)

/** The Scale that a write changes. A custom resource need not have replicas yet. */
export function scaleToChange(object: KubeObject, places: ScalePlaces | undefined): KubeObject {
  const scale = scaleOf(object, places)
  return lacksReplicas(object, places) ? { ...scale, spec: { replicas: unset } } : scale
}

/** Throws a BadRequest StatusError when a write leaves the replicas unset. */
export function checkReplicasSet(scale: KubeObject, places: ScalePlaces | undefined): void {
  if (places === undefined || (scale as unknown as Scale).spec?.replicas !== unset) return
  throw badRequest(`${fieldText(places)} cannot be empty`)
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
 * Sets the replicas the Scale asks for on the draft of its parent and returns the draft. The Scale's resourceVersion, if it has
 * one, becomes the draft's, so that a stale one is a conflict. Throws Invalid and Conflict StatusErrors.
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
  return draft
}
