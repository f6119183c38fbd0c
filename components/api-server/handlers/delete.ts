/** delete and deletecollection: options from body or query, then the registry decides what happens. */
import type { Resource } from '../../machinery/resource.ts'
import { isStatusError } from '../../machinery/status-error.ts'
import { decodeDeleteOptions } from '../decode-body.ts'
import { listOptionsOf } from '../list-options.ts'
import { deleteObject } from '../registry/delete.ts'
import type { RequestContext } from '../request.ts'
import { answerBytes, answerJson } from '../respond.ts'
import type { Entry } from '../watch-cache/entry.ts'
import { deleteOptionsOf, type DeleteOptions } from '../write-options.ts'
import { answerList } from './list.ts'
import { wantedForm, writtenBytes, type Parts, type ResourceHandler } from './parts.ts'

/** Kinds whose delete answers with the object even when it is gone at once (upstream: ReturnDeletedObject). */
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
  return deleteOptionsOf(context.info.query, await decodeDeleteOptions(context), parts.dialect)
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
    dryRun,
    gracePeriodSeconds,
    preconditions,
    propagation,
  }
}

export const deleteOne: ResourceHandler = async (context, resource, parts) => {
  const { info } = context
  const form = wantedForm(context, resource, parts)
  const options = await readOptions(context, parts)
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
  return answerBytes(isAccepted ? 202 : 200, writtenBytes(form, written, options.dryRun))
}

/** Deletes run this many at a time; each is its own commit, and they share flushes. */
const batchSize = 64

export const deleteMany: ResourceHandler = async (context, resource, parts) => {
  const { info } = context
  const form = wantedForm(context, resource, parts)
  const selected = listOptionsOf(resource, info.query, { dialect: parts.dialect, watch: false })
  const options = await readOptions(context, parts)
  const revision = await parts.cache.current()
  const snapshot = parts.cache.collection(resource).snapshot(revision)
  const prefix = resource.namespaced && info.namespace !== '' ? `${info.namespace}/` : ''
  const { matches } = selected.selection
  const entries: Entry[] = []
  for (const entry of snapshot.entries(prefix)) {
    if (matches === undefined || matches(entry)) entries.push(entry)
  }
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
          // Somebody else deleted it meanwhile: that is what was asked for.
          if (!isStatusError(error, 'NotFound')) throw error
        }
      }),
    )
  }
  return answerList(form, { entries, meta: { resourceVersion: String(revision) } })
}
