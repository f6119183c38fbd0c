/** delete: DELETE of an object or a collection, with options from the body or the query. */
import type { Resource } from '../../machinery/objects/resource.ts'
import { invalidValue } from '../../machinery/validation/field-errors.ts'
import { invalid, isStatusError } from '../../machinery/objects/status-error.ts'
import { decodeDeleteOptions } from '../codec/decode-body.ts'
import { attributesOf } from '../request/attributes.ts'
import { listOptionsOf } from '../codec/list-options.ts'
import { deleteObject } from '../registry/delete.ts'
import { authorizeUnsafeDelete, deleteUnreadable } from '../registry/unsafe-delete.ts'
import type { Answer, RequestContext } from '../request/request.ts'
import { answerJson } from '../codec/respond.ts'
import {
  ignoreReadErrorsField,
  deleteOptionsOf,
  type DeleteOptions,
} from '../codec/write-options.ts'
import { answerWrite } from './answer-write.ts'
import { answerList, selectedPage } from './list.ts'
import type { Parts, ResourceHandler } from './parts.ts'
import { wantedForm } from './wanted-form.ts'

/** Kinds whose delete answers with the object even when it is removed at once (upstream: ReturnDeletedObject). */
const returnsObject = new Set([
  'core/pods',
  'core/services',
  'core/serviceaccounts',
  'core/podtemplates',
  'core/resourcequotas',
  'core/persistentvolumes',
  'core/persistentvolumeclaims',
  'storage/storageclasses',
  'storage/volumeattachments',
  'storage/csidrivers',
  'storage/csinodes',
])

async function readOptions(context: RequestContext, parts: Parts): Promise<DeleteOptions> {
  return deleteOptionsOf(context.info.query, await decodeDeleteOptions(context), {
    dialect: parts.dialect,
    allowUnsafe: parts.registry.stored.allowsUnsafeDeletion,
  })
}

function requestFor(
  context: RequestContext,
  resource: Resource,
  at: { namespace: string; name: string; options: DeleteOptions },
) {
  const { dryRun, gracePeriodSeconds, preconditions, propagation } = at.options
  return {
    resource,
    namespace: at.namespace,
    name: at.name,
    user: context.user,
    warnings: context.warnings,
    context,
    dryRun,
    gracePeriodSeconds,
    preconditions,
    propagation,
  }
}

/** DELETE with the unsafe option: audited, authorized by a verb of its own, and only for objects that cannot be read. */
async function deleteUnsafely(
  context: RequestContext,
  resource: Resource,
  parts: Parts,
): Promise<Answer> {
  const { info, user, warnings } = context
  context.annotations['apiserver/unsafe-delete-ignore-read-error'] = ''
  await authorizeUnsafeDelete(parts.authorizer, attributesOf(context))
  const { namespace, name } = info
  const target = { resource, namespace, name, user, warnings, dryRun: false }
  await deleteUnreadable(parts.registry, target)
  return answerJson(200, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, kind: resource.kind },
    code: 200,
  })
}

export const deleteOne: ResourceHandler = async (context, resource, parts) => {
  const { info } = context
  const form = wantedForm(context, resource, parts)
  const options = await readOptions(context, parts)
  if (options.ignoreReadErrors) return await deleteUnsafely(context, resource, parts)
  const written = await deleteObject(
    parts.registry,
    requestFor(context, resource, { namespace: info.namespace, name: info.name, options }),
  )
  if (written.outcome === 'removed' && !returnsObject.has(resource.storagePrefix)) {
    const { uid } = written.entry.object().metadata
    return answerJson(200, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: {
        name: info.name,
        ...(resource.group === '' ? {} : { group: resource.group }),
        kind: resource.plural,
        ...(uid === undefined ? {} : { uid }),
      },
    })
  }
  const isAccepted = written.outcome === 'terminating' && options.orphanDependents === false
  return await answerWrite(form, written, {
    resource,
    dryRun: options.dryRun,
    status: isAccepted ? 202 : 200,
  })
}

/** Deletes run this many at a time. Each is a commit of its own; they share flushes. */
const batchSize = 64

export const deleteMany: ResourceHandler = async (context, resource, parts) => {
  const { info } = context
  const form = wantedForm(context, resource, parts)
  const selected = listOptionsOf(resource, info.query, { dialect: parts.dialect, watch: false })
  const options = await readOptions(context, parts)
  if (options.ignoreReadErrors) {
    throw invalid({ group: `meta.${parts.dialect.apiDomain}`, kind: 'DeleteOptions' }, '', [
      invalidValue(ignoreReadErrorsField, {
        value: true,
        detail: 'is not allowed with DELETECOLLECTION, try again after removing the option',
      }),
    ])
  }
  const page = await selectedPage(context, resource, { options: selected, parts })
  const { entries } = page
  for (let at = 0; at < entries.length; at += batchSize) {
    await Promise.all(
      entries.slice(at, at + batchSize).map(async (entry) => {
        const { namespace = '', name = '' } = entry.object().metadata
        try {
          await deleteObject(
            parts.registry,
            requestFor(context, resource, { namespace, name, options }),
          )
        } catch (error) {
          // Another client deleted it meanwhile.
          if (!isStatusError(error, 'NotFound')) throw error
        }
      }),
    )
  }
  return await answerList(form, page)
}
