/**
 * attemptWrite: tries a write on the cached state of its object until it is decided. Another server may have written since: what an
 * attempt throws holds only for the newest state (upstream: storage/etcd3 GuaranteedUpdate, origStateIsCurrent).
 */
import type { Resource } from '../../machinery/objects/resource.ts'
import { isRefusal } from '../../store/store.ts'
import type { Entry } from '../watch-cache/entry.ts'
import type { Caches } from '../watch-cache/caches.ts'

/** What an attempt at a write is made on. */
export interface Attempt {
  /** The object as the cache has it. */
  readonly current: Entry | undefined
  /**
   * Resolves with whether the object is as it was when the attempt began; to be asked before an answer that writes nothing.
   * Costs a request to the store once, where other servers write to it, too.
   */
  isNewest(): boolean | Promise<boolean>
}

/** `attempt` resolves with undefined when another writer was first: it is made again on the newer state. */
export async function attemptWrite<T>(
  cache: Caches,
  of: {
    readonly resource: Resource
    readonly key: string
    /** May throw, for what cannot be read. */
    readonly find: () => Entry | undefined
  },
  attempt: (on: Attempt) => Promise<T | undefined>,
): Promise<T> {
  const own = cache.of(of.resource)
  const revisionNow = (): number | undefined => own.collection(of.resource).get(of.key)?.revision
  // Whether the cache was at least as new as the store once since the request came.
  let isKnown = !own.isShared
  for (;;) {
    const revision = revisionNow()
    const isNewest = (): boolean | Promise<boolean> => {
      if (isKnown) return revisionNow() === revision
      return cache.catchUp(of.resource).then(() => {
        isKnown = true
        return revisionNow() === revision
      })
    }
    try {
      const written = await attempt({ current: of.find(), isNewest })
      if (written !== undefined) return written
      // A compare was lost to a state that the cache has by now.
      isKnown = true
    } catch (error) {
      // A write that the store refused may have been made: made again, it would undo what others have written since.
      if (isKnown || isRefusal(error) || (await isNewest())) throw error
    }
  }
}
