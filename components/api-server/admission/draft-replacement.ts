/** Draft replacement: what a mutating webhook or policy made of the object that it saw becomes the draft of the write. */
import { objectKindOf, versionOf } from '../../api/object-kind.ts'
import { schemaOf } from '../../api/schemas.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { decode, type Decoded } from '../../machinery/schema/decode.ts'
import type { StructSchema } from '../../machinery/schema/schema.ts'
import { applyScale } from '../kinds/autoscaling/scale.ts'
import { ensureNamespace } from '../kinds/metadata.ts'
import type { AdmissionRequest } from './admission.ts'
import { isWhole, kindOf } from './webhook/reviewed-request.ts'

/** The schema of what the request brings, in the version that matched. */
export function draftSchema(matched: Resource, request: AdmissionRequest): StructSchema {
  const { group, version, kind } = kindOf(matched, request.subresource)
  return kind === matched.kind
    ? objectKindOf(matched).schema
    : schemaOf(`${group.split('.')[0] || 'core'}/${version}.${kind}`)
}

/** The patched value, decoded as a body would be; `sent` is the object that was patched. Reports unknown fields if asked to. */
export function decodedPatch(
  value: unknown,
  of: { matched: Resource; request: AdmissionRequest; sent: KubeObject; report?: boolean },
): Decoded<KubeObject> {
  const { matched, request, sent, report = false } = of
  const { kind, apiVersion } = sent
  const isOfKind = kindOf(matched, request.subresource).kind === matched.kind
  const { object, problems } = isOfKind
    ? objectKindOf(matched).decode(value, { report })
    : decode(value, draftSchema(matched, request), { mode: report ? 'report' : 'ignore' })
  object.metadata ??= {}
  const named = {
    ...object,
    ...(kind === undefined ? {} : { kind }),
    ...(apiVersion === undefined ? {} : { apiVersion }),
  }
  return { object: named, problems }
}

/** Makes `draft` equal to `object`, since the registry keeps the draft. */
function replaceWith(draft: KubeObject, object: KubeObject): void {
  for (const name of Object.keys(draft)) delete draft[name]
  Object.assign(draft, object)
}

/** A new object keeps what the server gave it, whatever is changed. */
function keepServerFields(
  request: AdmissionRequest,
  { object, draft }: { object: KubeObject; draft: KubeObject },
): void {
  const { resource, namespace, operation, subresource } = request
  if (operation !== 'CREATE' || subresource !== '') return
  const { uid, creationTimestamp, generation, name } = draft.metadata
  for (const [field, value] of Object.entries({ uid, creationTimestamp, generation })) {
    if (value === undefined) Reflect.deleteProperty(object.metadata, field)
    else Object.assign(object.metadata, { [field]: value })
  }
  if (request.isNameGenerated === true && name !== undefined) object.metadata.name ||= name
  ensureNamespace(object, namespace, resource.namespaced)
}

/** Replaces the request's draft by an object in the version that matched. The request must have one. */
export async function replaceDraft(
  request: AdmissionRequest,
  { matched, object }: { matched: Resource; object: KubeObject },
): Promise<void> {
  const { object: draft } = request
  if (draft === undefined) throw new Error('the request brings no object')
  if (!isWhole(request)) {
    if (request.subresource === 'scale' && draft.kind !== 'Scale') {
      applyScale(draft, object, objectKindOf(request.resource).scale?.replicas)
    } else replaceWith(draft, object)
    return
  }
  const kind = objectKindOf(request.resource)
  const next = await kind.convert(object, versionOf(matched), kind.workingVersion)
  keepServerFields(request, { object: next, draft })
  request.applyDefaults?.(next)
  replaceWith(draft, next)
}
