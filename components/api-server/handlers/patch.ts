/** patch: JSON patch, merge patch and strategic merge patch on the newest state, retried when another writer was first. */
import { schemaOf } from '../../api/schemas.ts'
import { nextTurn } from '../../component-base/next-turn.ts'
import { applyJsonPatch } from '../../machinery/json-patch.ts'
import { applyMergePatch } from '../../machinery/merge-patch.ts'
import type { KubeObject } from '../../machinery/object.ts'
import type { Resource } from '../../machinery/resource.ts'
import {
  badRequest,
  conflict,
  isStatusError,
  objectModified,
  StatusError,
} from '../../machinery/status-error.ts'
import { applyStrategicMergePatch } from '../../machinery/strategic-merge-patch.ts'
import { bodyOf, decodeValue, mediaTypeOf, parseJson, toStorage } from '../decode-body.ts'
import { objectIn } from '../forms.ts'
import type { RequestContext } from '../request.ts'
import { answerForm } from '../respond.ts'
import { patchOptionsOf, type FieldValidation } from '../write-options.ts'
import { applyObject, isApply } from './apply.ts'
import {
  demandedVersion,
  managerOfRequest,
  wantedForm,
  writtenBytes,
  type ResourceHandler,
} from './parts.ts'

/** Applies one parsed patch document to an object in the request's version. Inputs are not changed. */
export type Patch = (object: KubeObject) => unknown

const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
] as const

/** In the words of upstream's router, which refuses it before any handler sees it. */
function unsupportedPatch(): StatusError {
  return new StatusError('UnsupportedMediaType', '415: Unsupported Media Type', { details: {} })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Custom kinds have no strategic merge; here it is the handler that refuses, and says what there is. */
const customPatchTypes: readonly string[] = patchTypes.slice(0, 2)

function unsupportedCustomPatch(): StatusError {
  return new StatusError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${customPatchTypes.join(', ')}, application/apply-patch+yaml`,
  )
}

/** Without a schema there is no strategic merge. Reads the body by its Content-Type; throws 415 for others and 400 for a document of the wrong shape. */
export async function readPatch(
  context: RequestContext,
  schemaName: string | undefined,
): Promise<Patch> {
  const type = mediaTypeOf(context) as (typeof patchTypes)[number]
  if (schemaName === undefined && !customPatchTypes.includes(type)) throw unsupportedCustomPatch()
  if (!patchTypes.includes(type)) throw unsupportedPatch()
  const body = await bodyOf(context)
  const patch = parseJson(body, 'error decoding patch')
  if (type === 'application/json-patch+json') {
    if (!Array.isArray(patch)) throw badRequest('error decoding patch: a JSON patch is a list')
    return (object) => applyJsonPatch(object, patch)
  }
  if (!isRecord(patch)) throw badRequest('error decoding patch: the patch must be an object')
  if (type === 'application/merge-patch+json') return (object) => applyMergePatch(object, patch)
  const schema = schemaOf(schemaName ?? '')
  return (object) => {
    try {
      return applyStrategicMergePatch(object, patch, schema)
    } catch (error) {
      // Upstream answers 500 to most documents that do not fit; they are the client's fault all the same.
      if (!isStatusError(error) || error.code < 500) throw error
      throw new StatusError('BadRequest', error.message, { cause: error })
    }
  }
}

/** The patched object, decoded and checked like a body that was sent. */
export async function patched(
  context: RequestContext,
  resource: Resource,
  to: { old: KubeObject; patch: Patch; fieldValidation: FieldValidation },
): Promise<KubeObject> {
  const { info, isLarge } = context
  if (isLarge === true) await nextTurn()
  const value = to.patch(to.old)
  if (isLarge === true) await nextTurn()
  const object = decodeValue(context, resource, { value, fieldValidation: to.fieldValidation })
  if (object.metadata.name !== info.name) {
    throw badRequest(
      `the name of the object (${object.metadata.name ?? ''}) does not match the name on the URL (${info.name})`,
    )
  }
  return object
}

export const patchObject: ResourceHandler = async (context, resource, parts) => {
  if (isApply(context)) return await applyObject(context, resource, parts)
  const { info, user, warnings } = context
  const form = wantedForm(context, resource, parts)
  const options = patchOptionsOf(info.query, { isApply: false, dialect: parts.dialect })
  const isCustom = resource.custom !== undefined
  const patch = await readPatch(
    context,
    isCustom ? undefined : `${resource.package}.${resource.kind}`,
  )
  const version = demandedVersion(context)
  const written = await parts.registry.update({
    resource,
    namespace: info.namespace,
    name: info.name,
    subresource: info.subresource,
    user,
    dryRun: options.dryRun,
    manager: managerOfRequest(context, options.fieldManager),
    warnings,
    context,
    change: async (now, entry) => {
      if (version !== undefined && version !== String(entry.revision)) {
        throw conflict(resource, info.name, objectModified)
      }
      const object = await patched(context, resource, {
        old: isCustom ? now : objectIn(resource, entry),
        patch,
        fieldValidation: options.fieldValidation,
      })
      return toStorage(resource, object)
    },
  })
  return answerForm(
    200,
    form,
    await writtenBytes(form, written, { resource, dryRun: options.dryRun }),
  )
}
