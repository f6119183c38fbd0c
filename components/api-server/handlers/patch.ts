/** patch: JSON patch, merge patch and strategic merge patch on the newest state, retried when another writer was first. */
import { schemaOf } from '../../api/schemas.ts'
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
import { decodeValue, maxBodyBytes, mediaTypeOf, parseJson, toStorage } from '../decode-body.ts'
import { objectIn } from '../forms.ts'
import type { RequestContext } from '../request.ts'
import { answerBytes } from '../respond.ts'
import { writeOptionsOf, type FieldValidation } from '../write-options.ts'
import { wantedForm, writtenBytes, type ResourceHandler } from './parts.ts'

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

/** Reads the body by its Content-Type; throws 415 for others and 400 for a document of the wrong shape. */
export async function readPatch(context: RequestContext, schemaName: string): Promise<Patch> {
  const type = mediaTypeOf(context) as (typeof patchTypes)[number]
  if (!patchTypes.includes(type)) throw unsupportedPatch()
  const body = await context.http.body(maxBodyBytes)
  const patch = parseJson(body, 'error decoding patch')
  if (type === 'application/json-patch+json') {
    if (!Array.isArray(patch)) throw badRequest('error decoding patch: a JSON patch is a list')
    return (object) => applyJsonPatch(object, patch)
  }
  if (!isRecord(patch)) throw badRequest('error decoding patch: the patch must be an object')
  if (type === 'application/merge-patch+json') return (object) => applyMergePatch(object, patch)
  const schema = schemaOf(schemaName)
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
export function patched(
  context: RequestContext,
  resource: Resource,
  to: { old: KubeObject; patch: Patch; fieldValidation: FieldValidation },
): KubeObject {
  const { info } = context
  const value = to.patch(to.old)
  const object = decodeValue(context, resource, { value, fieldValidation: to.fieldValidation })
  if (object.metadata.name !== info.name) {
    throw badRequest(
      `the name of the object (${object.metadata.name ?? ''}) does not match the name on the URL (${info.name})`,
    )
  }
  return object
}

/** The version that an If-Match header demands, with or without an entity tag's quotes; any with `*` or none. */
function demandedVersion(context: RequestContext): string | undefined {
  const header = context.http.headers['if-match']
  if (typeof header !== 'string' || header.trim() === '*') return undefined
  return header.trim().replace(/^"(.*)"$/, '$1')
}

export const patchObject: ResourceHandler = async (context, resource, parts) => {
  const { info, user, warnings } = context
  const form = wantedForm(context, resource, parts)
  const options = writeOptionsOf(info.query, 'PatchOptions', parts.dialect)
  const patch = await readPatch(context, `${resource.package}.${resource.kind}`)
  const version = demandedVersion(context)
  const written = await parts.registry.update({
    resource,
    namespace: info.namespace,
    name: info.name,
    subresource: info.subresource,
    user,
    dryRun: options.dryRun,
    warnings,
    change: (_, entry) => {
      if (version !== undefined && version !== String(entry.revision)) {
        throw conflict(resource, info.name, objectModified)
      }
      const object = patched(context, resource, {
        old: objectIn(resource, entry),
        patch,
        fieldValidation: options.fieldValidation,
      })
      return toStorage(resource, object)
    },
  })
  return answerBytes(200, writtenBytes(form, written, options.dryRun))
}
