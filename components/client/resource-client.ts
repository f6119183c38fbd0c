/** ResourceClient: the verbs on one resource, typed. Errors are StatusErrors; an unreachable server is a ConnectionError. */
import type { KubeList, KubeObject } from '../machinery/object.ts'
import type { Resource } from '../machinery/resource.ts'

export interface ListOptions {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly resourceVersion?: string
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan'
  readonly limit?: number
  readonly continue?: string
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

export interface ResourceClient<T extends KubeObject = KubeObject> {
  readonly resource: Resource
  get(ref: ObjectRef, options?: { subresource?: string; signal?: AbortSignal }): Promise<T>
  /** All pages are one request unless `limit` is set. */
  list(options?: ListOptions, signal?: AbortSignal): Promise<KubeList<T>>
  /** The object's own namespace is used; `options.subresource` with `ref` posts to a sub-resource (binding, eviction, token). */
  create(object: T, options?: WriteOptions): Promise<T>
  createSubresource(ref: ObjectRef, subresource: string, object: KubeObject): Promise<KubeObject>
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
