/** ReviewedRequest: a write as webhooks see it: its kind and version, and its objects in that version. */
import { apiGroup, type Dialect } from '../../../api/dialect.ts'
import { objectKindOf, versionOf } from '../../../api/object-kind.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import { scaleOf } from '../../kinds/autoscaling/scale.ts'
import type { AdmissionRequest } from '../admission.ts'

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** The kind of the resource's or sub-resource's bodies. */
export function kindOf(resource: Resource, subresource: string): GroupVersionKind {
  const { group, version, kind } = resource
  const part = resource.subresources.find(({ name }) => name === subresource)
  if (part === undefined) return { group, version, kind }
  return { group: part.group ?? group, version: part.version ?? version, kind: part.kind }
}

/** Whether the request's object is of the resource's own kind, which may have several versions. */
export function isWhole(request: AdmissionRequest): boolean {
  return kindOf(request.resource, request.subresource).kind === request.resource.kind
}

/** An object in the version of `resource`, as its clients see it. Rejects with a StatusError when a conversion fails. */
export async function inVersionOf(
  resource: Resource,
  request: AdmissionRequest,
  object: KubeObject | undefined,
): Promise<KubeObject | undefined> {
  if (object === undefined) return undefined
  if (request.operation === 'CONNECT') {
    const { metadata: _, ...options } = object
    return options as KubeObject
  }
  if (!isWhole(request)) {
    const isScale = request.subresource === 'scale' && object.kind !== 'Scale'
    return isScale ? scaleOf(object, objectKindOf(request.resource).scale) : object
  }
  const kind = objectKindOf(request.resource)
  return await kind.convert(object, kind.workingVersion, versionOf(resource))
}

/** A new object as upstream shows it to mutating plugins: without the fields that the server sets afterwards. */
function withoutServerFields(object: KubeObject, isNameGenerated: boolean): KubeObject {
  const { uid: _, creationTimestamp: __, generation: ___, ...metadata } = object.metadata
  if (isNameGenerated) delete metadata.name
  return { ...object, metadata: { ...metadata, creationTimestamp: null } }
}

/** The draft as mutating plugins see it in the version that matched, and whether they see no name of it yet. */
export async function draftInVersionOf(
  matched: Resource,
  request: AdmissionRequest,
): Promise<{ readonly object: KubeObject | undefined; readonly isNameHidden: boolean }> {
  const isNew = request.operation === 'CREATE' && request.subresource === ''
  const isNameHidden = isNew && request.isNameGenerated === true
  const shown = await inVersionOf(matched, request, request.object)
  const object = isNew && shown !== undefined ? withoutServerFields(shown, isNameHidden) : shown
  return { object, isNameHidden }
}

/** The request's namespace; a Namespace counts as inside itself. */
export function namespaceOf({ resource, namespace, name }: AdmissionRequest): string {
  return resource.group === '' && resource.plural === 'namespaces' ? name : namespace
}

const optionsKinds = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' }

/** The options of the operation, which may be of another verb than the request's. */
export function optionsOf(request: AdmissionRequest, dialect: Dialect): unknown {
  const { operation, context, deletion } = request
  if (operation === 'CONNECT') return null
  const { gracePeriodSeconds, preconditions, propagation } = deletion ?? {}
  const { query } = context?.info ?? {}
  const isDelete = operation === 'DELETE'
  return {
    kind: optionsKinds[operation],
    apiVersion: `${apiGroup(dialect, 'meta')}/v1`,
    ...(isDelete && gracePeriodSeconds !== undefined ? { gracePeriodSeconds } : {}),
    ...(isDelete && Object.keys(preconditions ?? {}).length > 0 ? { preconditions } : {}),
    ...(isDelete && propagation !== undefined ? { propagationPolicy: propagation } : {}),
    ...(request.dryRun ? { dryRun: ['All'] } : {}),
    ...(isDelete ? {} : textsOf(query, ['fieldManager', 'fieldValidation'])),
  }
}

function textsOf(query: URLSearchParams | undefined, names: readonly string[]): object {
  return Object.fromEntries(
    names.map((name) => [name, query?.get(name)] as const).filter(([, value]) => value),
  )
}
