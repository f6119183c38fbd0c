/**
 * NewestObjects: an informer's cache, and over it what this controller wrote and the informer has not shown yet. A decision
 * that reads it is never older than the controller's own acts (upstream: the caches of pv_controller_base.go).
 */
import type { Informer } from '../../client/informer.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { keyOf } from '../../machinery/objects/object.ts'

export interface NewestObjects<T extends KubeObject> {
  get(key: string): T | undefined
  list(): readonly T[]
  /** The object was updated, and this is the server's answer. */
  wrote(object: T): void
}

function versionOf(object: KubeObject): number {
  return Number(object.metadata.resourceVersion ?? 0)
}

/** Call it before the informer runs. */
export function createNewestObjects<T extends KubeObject>(informer: Informer<T>): NewestObjects<T> {
  const written = new Map<string, T>()
  informer.onEvent(({ type, object }) => {
    const key = keyOf(object)
    const own = written.get(key)
    if (own !== undefined && (type === 'delete' || versionOf(object) >= versionOf(own)))
      written.delete(key)
  })
  return {
    get: (key) => written.get(key) ?? informer.get(key),
    list: () =>
      written.size === 0
        ? informer.list()
        : informer.list().map((object) => written.get(keyOf(object)) ?? object),
    wrote: (object) => {
      const shown = informer.get(keyOf(object))
      // An object that the cache has dropped meanwhile is gone: nothing would ever remove it from here.
      if (shown?.metadata.uid !== object.metadata.uid) return
      if (shown !== undefined && versionOf(shown) < versionOf(object))
        written.set(keyOf(object), object)
    },
  }
}
