/** ResourceClient: the verbs on one resource, typed. Errors are StatusErrors; an unreachable server is a ConnectionError. */
import type { KubeList, KubeObject } from '../machinery/objects/object.ts'
import type { Resource } from '../machinery/objects/resource.ts'
import { apiVersionOf, resourcePath } from '../machinery/objects/resource.ts'
import type { RestClient } from './rest-client.ts'
import { watchEvents } from './watch-stream.ts'

export interface ListOptions {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly resourceVersion?: string
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan'
  readonly limit?: number
  readonly continue?: string
  /** Asks for the objects' metadata alone; they still carry the resource's own apiVersion and kind. */
  readonly metadataOnly?: boolean
}

export interface WatchOptions extends Omit<ListOptions, 'limit' | 'continue'> {
  readonly allowWatchBookmarks?: boolean
  readonly sendInitialEvents?: boolean
  readonly timeoutSeconds?: number
}

export interface WatchEvent<T extends KubeObject = KubeObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  readonly object: T
}

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

export interface WriteOptions {
  readonly subresource?: string
  readonly dryRun?: boolean
  readonly fieldManager?: string
  /** The user that the request acts for; the client's own needs the right to impersonate. */
  readonly impersonate?: string
  readonly signal?: AbortSignal
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground'
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
  readonly dryRun?: boolean
  readonly signal?: AbortSignal
}

/** Where an object is; `namespace` is '' or absent for cluster-scoped resources. */
export interface ObjectRef {
  readonly namespace?: string | undefined
  readonly name: string
}

export interface GetOptions {
  readonly subresource?: string
  readonly resourceVersion?: string
  readonly signal?: AbortSignal
}

export interface ResourceClient<T extends KubeObject = KubeObject> {
  readonly resource: Resource
  /** The newest state, or with `resourceVersion` one that is not older. */
  get(ref: ObjectRef, options?: GetOptions): Promise<T>
  /** All pages are one request unless `limit` is set. Items are given their apiVersion and kind. */
  list(options?: ListOptions, signal?: AbortSignal): Promise<KubeList<T>>
  /** The object's own namespace is used; `options.subresource` with `ref` posts to a sub-resource (binding, eviction, token). */
  create(object: T, options?: WriteOptions): Promise<T>
  createSubresource(
    ref: ObjectRef,
    subresource: string,
    object: KubeObject,
    options?: Omit<WriteOptions, 'subresource'>,
  ): Promise<KubeObject>
  /** Replaces a sub-resource that has a kind of its own (scale). */
  updateSubresource(
    ref: ObjectRef,
    subresource: string,
    object: KubeObject,
    options?: Omit<WriteOptions, 'subresource'>,
  ): Promise<KubeObject>
  /** Sends the object's resourceVersion, so a lost race is a Conflict. */
  update(object: T, options?: WriteOptions): Promise<T>
  updateStatus(object: T, options?: WriteOptions): Promise<T>
  patch(
    ref: ObjectRef,
    patch: unknown,
    options: WriteOptions & { readonly type: PatchType; readonly force?: boolean },
  ): Promise<T>
  /** Resolves with the last state or the Status. A missing object is a NotFound StatusError. */
  delete(ref: ObjectRef, options?: DeleteOptions): Promise<KubeObject>
  deleteCollection(options: ListOptions, deleteOptions?: DeleteOptions): Promise<void>
  /** Ends when the server ends it; throws a StatusError for an ERROR event (410: relist). */
  watch(options: WatchOptions, signal: AbortSignal): AsyncIterable<WatchEvent<T>>
}

const patchTypes: Record<PatchType, string> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}

function query(
  parameters: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '' && value !== false) search.set(name, String(value))
  }
  return search.size === 0 ? '' : `?${search.toString()}`
}

function selection(options: Omit<ListOptions, 'namespace'>) {
  const { labelSelector, fieldSelector, resourceVersion, resourceVersionMatch, limit } = options
  return {
    labelSelector,
    fieldSelector,
    resourceVersion,
    resourceVersionMatch,
    limit,
    continue: options.continue,
  }
}

function writeQuery(options: WriteOptions & { readonly force?: boolean }): string {
  return query({
    dryRun: options.dryRun === true ? 'All' : undefined,
    fieldManager: options.fieldManager,
    force: options.force,
  })
}

function headersOf({ impersonate }: WriteOptions): { headers?: Readonly<Record<string, string>> } {
  return impersonate === undefined ? {} : { headers: { 'impersonate-user': impersonate } }
}

function abortable(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal }
}

function deleteRequest(options: DeleteOptions) {
  const { gracePeriodSeconds, propagationPolicy, preconditions, dryRun, signal } = options
  const body = {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    gracePeriodSeconds,
    propagationPolicy,
    preconditions,
    ...(dryRun === true ? { dryRun: ['All'] } : {}),
  }
  return { method: 'DELETE', body, ...abortable(signal) }
}

/**
 * The resource's verbs over HTTP. Objects are sent with their apiVersion and kind, which those from lists lack. `metaGroup`
 * is the dialect's name of the meta group.
 */
export function createResourceClient<T extends KubeObject = KubeObject>(
  rest: RestClient,
  resource: Resource,
  metaGroup = '',
): ResourceClient<T> {
  const pathOf: PathOf = ({ namespace, name }, subresource) =>
    resourcePath(resource, {
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { name }),
      ...(subresource === undefined ? {} : { subresource }),
    })
  const accepting = ({ metadataOnly = false }: ListOptions, as: string) =>
    metadataOnly ? { headers: { accept: `application/json;as=${as};g=${metaGroup};v=v1` } } : {}
  return {
    resource,
    ...readVerbs<T>(rest, resource, { pathOf, accepting }),
    ...writeVerbs<T>(rest, resource, pathOf),
    ...deleteVerbs(rest, pathOf),
  }
}

type PathOf = (
  ref: { namespace?: string | undefined; name?: string },
  subresource?: string,
) => string

function readVerbs<T extends KubeObject>(
  rest: RestClient,
  resource: Resource,
  at: {
    readonly pathOf: PathOf
    readonly accepting: (
      options: ListOptions,
      as: string,
    ) => { headers?: Readonly<Record<string, string>> }
  },
): Pick<ResourceClient<T>, 'get' | 'list' | 'watch'> {
  const { pathOf, accepting } = at
  const { kind } = resource
  const apiVersion = apiVersionOf(resource)
  return {
    get: async (ref, options = {}) =>
      (await rest.json({
        method: 'GET',
        path:
          pathOf(ref, options.subresource) + query({ resourceVersion: options.resourceVersion }),
        ...abortable(options.signal),
      })) as T,
    list: async (options = {}, signal) => {
      const list = (await rest.json({
        method: 'GET',
        path: pathOf({ namespace: options.namespace }) + query(selection(options)),
        ...accepting(options, 'PartialObjectMetadataList'),
        ...abortable(signal),
      })) as KubeList<T>
      // Servers leave these out of list items; with them an object is the same wherever it came from.
      for (const item of list.items) {
        if (item.apiVersion === undefined || options.metadataOnly === true)
          item.apiVersion = apiVersion
        if (item.kind === undefined || options.metadataOnly === true) item.kind = kind
      }
      return list
    },
    watch: async function* (options, signal) {
      const parameters = {
        ...selection(options),
        watch: true,
        allowWatchBookmarks: options.allowWatchBookmarks,
        sendInitialEvents: options.sendInitialEvents,
        timeoutSeconds: options.timeoutSeconds,
      }
      const { chunks } = await rest.stream({
        method: 'GET',
        path: pathOf({ namespace: options.namespace }) + query(parameters),
        ...accepting(options, 'PartialObjectMetadata'),
        signal,
      })
      if (options.metadataOnly !== true) {
        yield* watchEvents<T>(chunks)
        return
      }
      for await (const event of watchEvents<T>(chunks))
        yield { ...event, object: Object.assign(event.object, { apiVersion, kind }) }
    },
  }
}

type WriteVerbs =
  'create' | 'createSubresource' | 'updateSubresource' | 'update' | 'updateStatus' | 'patch'

function writeVerbs<T extends KubeObject>(
  rest: RestClient,
  resource: Resource,
  pathOf: PathOf,
): Pick<ResourceClient<T>, WriteVerbs> {
  const apiVersion = apiVersionOf(resource)
  const typed = (object: T) => ({ ...object, apiVersion, kind: resource.kind })
  const update = async (object: T, options: WriteOptions = {}): Promise<T> =>
    (await rest.json({
      method: 'PUT',
      path: pathOf(object.metadata, options.subresource) + writeQuery(options),
      ...headersOf(options),
      body: typed(object),
      ...abortable(options.signal),
    })) as T
  return {
    create: async (object, options = {}) => {
      const { namespace } = object.metadata
      const target =
        options.subresource === undefined
          ? pathOf({ namespace })
          : pathOf(object.metadata, options.subresource)
      return (await rest.json({
        method: 'POST',
        path: target + writeQuery(options),
        ...headersOf(options),
        body: typed(object),
        ...abortable(options.signal),
      })) as T
    },
    createSubresource: async (ref, subresource, object, options = {}) =>
      (await rest.json({
        method: 'POST',
        path: pathOf(ref, subresource) + writeQuery(options),
        ...headersOf(options),
        body: object,
        ...abortable(options.signal),
      })) as KubeObject,
    updateSubresource: async (ref, subresource, object, options = {}) =>
      (await rest.json({
        method: 'PUT',
        path: pathOf(ref, subresource) + writeQuery(options),
        ...headersOf(options),
        body: object,
        ...abortable(options.signal),
      })) as KubeObject,
    update,
    updateStatus: (object, options = {}) => update(object, { ...options, subresource: 'status' }),
    patch: async (ref, patch, options) =>
      (await rest.json({
        method: 'PATCH',
        path: pathOf(ref, options.subresource) + writeQuery(options),
        ...headersOf(options),
        body: patch,
        contentType: patchTypes[options.type],
        ...abortable(options.signal),
      })) as T,
  }
}

function deleteVerbs(
  rest: RestClient,
  pathOf: PathOf,
): Pick<ResourceClient, 'delete' | 'deleteCollection'> {
  return {
    delete: async (ref, options = {}) =>
      (await rest.json({ path: pathOf(ref), ...deleteRequest(options) })) as KubeObject,
    deleteCollection: async (options, deleteOptions = {}) => {
      await rest.json({
        path: pathOf({ namespace: options.namespace }) + query(selection(options)),
        ...deleteRequest(deleteOptions),
      })
    },
  }
}
