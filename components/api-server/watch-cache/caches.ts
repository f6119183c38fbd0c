/** Caches: what the rest of the server reads, be it of one store or of several. Revisions are those of one store alone. */
import type { Resource } from '../../machinery/objects/resource.ts'
import type { WatchCache } from './watch-cache.ts'

/** What concerns all resources; anything with a revision goes through `of`. */
type OfAll =
  | 'collection'
  | 'endWatches'
  | 'find'
  | 'forget'
  | 'get'
  | 'isFollowing'
  | 'isShared'
  | 'list'
  | 'objectsIn'
  | 'onChange'
  | 'prove'
  | 'proveAll'
  | 'reread'
  | 'rereadUnreadable'
  | 'sizes'
  | 'unreadable'

export interface Caches extends Pick<WatchCache, OfAll> {
  /** Of all resources together. */
  readonly history: Omit<WatchCache['history'], 'revisionAt'>
  /** The cache that follows the resource's store. */
  of(resource: Resource): WatchCache
  /**
   * Resolves when all that decides about a write of the resource is as new as it was in the stores at the call. Rejects when its
   * own store cannot be asked.
   */
  catchUp(resource: Resource): Promise<unknown>
  /** Resolves when all caches are as new as their stores were at the call; undefined where they always are. */
  refresh(): Promise<unknown> | undefined
}
