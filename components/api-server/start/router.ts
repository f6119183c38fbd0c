/** router: finds the handler of a request in one table of served resources and one of sub-resources. */
import { objectKindOf } from '../../api/object-kind.ts'
import { deprecationWarning } from '../../api/lifecycle.ts'
import type { Resource, Subresource, Verb } from '../../machinery/objects/resource.ts'
import { methodNotAllowed, noSuchResource } from '../../machinery/objects/status-error.ts'
import type { Aggregator } from '../aggregation/aggregator.ts'
import { createObject } from '../handlers/create.ts'
import { deleteMany, deleteOne } from '../handlers/delete.ts'
import { getObject } from '../handlers/get.ts'
import { listObjects } from '../handlers/list.ts'
import type { Parts, ResourceHandler } from '../handlers/parts.ts'
import { patchObject } from '../handlers/patch.ts'
import { updateObject } from '../handlers/update.ts'
import { watchObjects } from '../handlers/watch.ts'
import type { Next, RequestContext } from '../request/request.ts'
import { isLongRunning } from '../request/long-running.ts'
import { answerText, checkAcceptable } from '../codec/respond.ts'

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
  /** Handlers of sub-resources other than plain parts of their object, by `plural/name`, or by `name` for every resource. */
  readonly subresources: Readonly<Record<string, ResourceHandler>>
  /** Handlers of virtual types, by plural. */
  readonly virtual: Readonly<Record<string, ResourceHandler>>
  /** The kind of a CustomResourceDefinition, by `group/version/plural`. */
  readonly custom: (path: string) => Resource | undefined
  /** Group versions of extension API servers, by `group/version`, and how to forward a request. */
  readonly aggregated: Pick<Aggregator, 'table' | 'remoteAt' | 'forward'>
  /** Answers requests that name no resource; undefined for unknown paths. */
  readonly nonResource: (context: RequestContext) => Promise<Awaited<ReturnType<Next>> | undefined>
}

function isVerb(verb: string): verb is Verb {
  return Object.hasOwn(verbHandlers, verb)
}

function subresourceHandler(
  context: RequestContext,
  resource: Resource,
  at: { subresource: Subresource; routes: Routes },
): ResourceHandler {
  const { verb } = context.info
  const { subresource, routes } = at
  if (!(subresource.verbs as readonly string[]).includes(verb)) throw methodNotAllowed()
  const special =
    routes.subresources[`${resource.plural}/${subresource.name}`] ??
    routes.subresources[subresource.name]
  if (special !== undefined) {
    // Only a Scale has columns.
    if (!isLongRunning(context)) {
      checkAcceptable(context, { hasTable: subresource.name === 'scale' })
    }
    return special
  }
  if (!isVerb(verb)) throw methodNotAllowed()
  return verbHandlers[verb]
}

/** Picks the handler or throws 404 or 405 as upstream's routes would. */
function handlerOf(context: RequestContext, resource: Resource, routes: Routes): ResourceHandler {
  const { info } = context
  // Only a resource that can be listed has a path across namespaces.
  const isListed = resource.verbs.includes('list')
  if (resource.virtual && resource.namespaced && !isListed && info.namespace === '') {
    throw noSuchResource()
  }
  if (info.subresource !== '') {
    const subresource = resource.subresources.find(({ name }) => name === info.subresource)
    // Only a proxy has a path of the client behind it.
    const isWhole = info.rest.length === 0 || info.subresource === 'proxy'
    if (subresource === undefined || !isWhole) throw noSuchResource()
    return subresourceHandler(context, resource, { subresource, routes })
  }
  if (!isVerb(info.verb) || !resource.verbs.includes(info.verb)) throw methodNotAllowed()
  if (info.verb === 'watch' && context.http.method !== 'GET') throw methodNotAllowed()
  if (itemVerbs.has(info.verb) !== (info.name !== '') && info.verb !== 'watch') {
    throw methodNotAllowed()
  }
  const spansNamespaces = info.name === '' && (info.verb === 'list' || info.verb === 'watch')
  if (resource.namespaced && !spansNamespaces && info.namespace === '') throw methodNotAllowed()
  if (resource.virtual) {
    const special = routes.virtual[resource.plural]
    if (special === undefined) throw methodNotAllowed()
    checkAcceptable(context, { hasTable: info.verb !== 'create' })
    return special
  }
  return verbHandlers[info.verb]
}

/** Adds the deprecation of the version to the warnings and the audit record (upstream: apiserver pkg/endpoints/deprecation). */
function noteDeprecated({ warnings, annotations }: RequestContext, resource: Resource): void {
  const warning = deprecationWarning(resource)
  if (warning === undefined) return
  warnings.push(warning)
  annotations['deprecated'] = 'true'
  const { removed } = resource.lifecycle
  if (removed !== undefined) annotations['removed-release'] = removed
}

/** The end of the chain. Resources outside `served` get 404. */
export function createRouter(served: readonly Resource[], routes: Routes, parts: Parts): Next {
  const byPath = new Map<string, Resource>()
  const groupVersions = new Set<string>()
  for (const resource of served) {
    byPath.set(`${resource.group}/${resource.version}/${resource.plural}`, resource)
    groupVersions.add(`${resource.group}/${resource.version}`)
  }
  const { aggregated } = routes
  const { remotes } = aggregated.table
  return async (context) => {
    const { info } = context
    if (!info.isResourceRequest) {
      const remote = aggregated.remoteAt(info.path)
      if (remote !== undefined) return await aggregated.forward(context, remote)
      return (await routes.nonResource(context)) ?? answerText(404, '404 page not found\n')
    }
    const groupVersion = `${info.group}/${info.version}`
    const path = `${groupVersion}/${info.plural}`
    const isServed = (): boolean =>
      remotes.has(groupVersion) || byPath.has(path) || routes.custom(path) !== undefined
    // Another server may have established the kind just now.
    if (!isServed()) await parts.cache.refresh()
    const remote = remotes.get(groupVersion)
    if (remote !== undefined) return await aggregated.forward(context, remote)
    const resource = byPath.get(path) ?? routes.custom(path)
    if (resource === undefined) {
      if (!groupVersions.has(groupVersion)) return answerText(404, '404 page not found\n')
      throw noSuchResource()
    }
    const isNamespace = resource.plural === 'namespaces' && resource.group === ''
    if (!resource.namespaced && info.namespace !== '' && !isNamespace) throw noSuchResource()
    context.resource = resource
    if (resource.lifecycle.deprecated !== undefined) noteDeprecated(context, resource)
    const warning = objectKindOf(resource).deprecationWarning
    if (warning !== undefined) context.warnings.push(warning)
    // Authorization treats a Namespace as in itself. In the store it has no namespace.
    if (isNamespace) context.info = { ...info, namespace: '' }
    return await handlerOf(context, resource, routes)(context, resource, parts)
  }
}
