/** router: a routed request -> its handler. One table of served resources, one of sub-resources; no other way in. */
import type { Resource, Subresource, Verb } from '../machinery/resource.ts'
import { methodNotAllowed, noSuchResource } from '../machinery/status-error.ts'
import { createObject } from './handlers/create.ts'
import { deleteMany, deleteOne } from './handlers/delete.ts'
import { getObject } from './handlers/get.ts'
import { listObjects } from './handlers/list.ts'
import type { Parts, ResourceHandler } from './handlers/parts.ts'
import { patchObject } from './handlers/patch.ts'
import { updateObject } from './handlers/update.ts'
import { watchObjects } from './handlers/watch.ts'
import type { Next, RequestContext } from './request.ts'
import { answerText } from './respond.ts'

const verbHandlers: Readonly<Record<Verb, ResourceHandler>> = {
  get: getObject,
  list: listObjects,
  watch: watchObjects,
  create: createObject,
  update: updateObject,
  patch: patchObject,
  delete: deleteOne,
  deletecollection: deleteMany,
}

/** Verbs that need a name in the path; `watch` and the collection verbs do not. */
const itemVerbs = new Set<string>(['get', 'update', 'patch', 'delete'])

export interface Routes {
  /** Handlers of sub-resources that are more than a part of their own object, by `plural/name`, or by `name` for all. */
  readonly subresources: Readonly<Record<string, ResourceHandler>>
  /** Handlers of virtual types, by plural. */
  readonly virtual: Readonly<Record<string, ResourceHandler>>
  /** Everything that is not a resource; answers undefined for unknown paths. */
  readonly nonResource: (context: RequestContext) => Promise<Awaited<ReturnType<Next>> | undefined>
}

function isVerb(verb: string): verb is Verb {
  return Object.hasOwn(verbHandlers, verb)
}

function subresourceHandler(
  resource: Resource,
  subresource: Subresource,
  at: { verb: string; routes: Routes },
): ResourceHandler {
  const { verb, routes } = at
  if (!(subresource.verbs as readonly string[]).includes(verb)) throw methodNotAllowed()
  const special =
    routes.subresources[`${resource.plural}/${subresource.name}`] ??
    routes.subresources[subresource.name]
  if (special !== undefined) return special
  if (!isVerb(verb)) throw methodNotAllowed()
  return verbHandlers[verb]
}

/** Picks the handler or throws 404 or 405 as upstream's routes would. */
function handlerOf(context: RequestContext, resource: Resource, routes: Routes): ResourceHandler {
  const { info } = context
  if (info.subresource !== '') {
    const subresource = resource.subresources.find(({ name }) => name === info.subresource)
    if (subresource === undefined) throw noSuchResource()
    return subresourceHandler(resource, subresource, { verb: info.verb, routes })
  }
  if (!isVerb(info.verb) || !resource.verbs.includes(info.verb)) throw methodNotAllowed()
  if (itemVerbs.has(info.verb) !== (info.name !== '') && info.verb !== 'watch') {
    throw methodNotAllowed()
  }
  const needsNamespace = info.verb === 'create' || info.name !== ''
  if (resource.namespaced && needsNamespace && info.namespace === '') throw methodNotAllowed()
  if (resource.virtual) {
    const special = routes.virtual[resource.plural]
    if (special === undefined) throw methodNotAllowed()
    return special
  }
  return verbHandlers[info.verb]
}

/** The end of the chain. `served` are the resources that answer; all others are 404. */
export function createRouter(served: readonly Resource[], routes: Routes, parts: Parts): Next {
  const byPath = new Map<string, Resource>()
  const groupVersions = new Set<string>()
  for (const resource of served) {
    byPath.set(`${resource.group}/${resource.version}/${resource.plural}`, resource)
    groupVersions.add(`${resource.group}/${resource.version}`)
  }
  return async (context) => {
    const { info } = context
    if (!info.isResourceRequest) {
      return (await routes.nonResource(context)) ?? answerText(404, '404 page not found\n')
    }
    const groupVersion = `${info.group}/${info.version}`
    const resource = byPath.get(`${groupVersion}/${info.plural}`)
    if (resource === undefined) {
      if (!groupVersions.has(groupVersion)) return answerText(404, '404 page not found\n')
      throw noSuchResource()
    }
    const isNamespace = resource.plural === 'namespaces' && resource.group === ''
    if (!resource.namespaced && info.namespace !== '' && !isNamespace) throw noSuchResource()
    context.resource = resource
    // A Namespace is its own object's place for authorization; in the store it has none.
    if (isNamespace) context.info = { ...info, namespace: '' }
    return await handlerOf(context, resource, routes)(context, resource, parts)
  }
}
