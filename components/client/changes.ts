/** Changes: what lists and watch events change in a cache, as one event per object (upstream: client-go DeltaFIFO and processDeltas). */
import type { KubeObject } from '../machinery/objects/object.ts'
import { keyOf } from '../machinery/objects/object.ts'
import type { ReflectorSink } from './reflector.ts'

export type ObjectChange<T> =
  | { readonly type: 'add'; readonly object: T }
  | { readonly type: 'update'; readonly object: T; readonly old: T }
  /** `object` is the last state known; a deletion missed during a disconnect is reported with it after the relist. */
  | { readonly type: 'delete'; readonly object: T }

/** The objects known so far; `set` and `delete` return what was there. */
export interface KnownObjects<T> {
  keys(): Iterable<string>
  set(object: T): T | undefined
  delete(key: string): T | undefined
}

/** Applies lists and events to `known`, and distributes each difference once `known` has it. */
export function createChanges<T extends KubeObject>(
  known: KnownObjects<T>,
  distribute: (change: ObjectChange<T>) => void,
): ReflectorSink<T> {
  const put = (object: T): void => {
    const old = known.set(object)
    if (old === undefined) distribute({ type: 'add', object })
    else if (old.metadata.uid !== object.metadata.uid) {
      distribute({ type: 'delete', object: old })
      distribute({ type: 'add', object })
    } else if (old.metadata.resourceVersion !== object.metadata.resourceVersion)
      distribute({ type: 'update', object, old })
  }
  return {
    replace: (objects) => {
      const gone = new Set(known.keys())
      for (const object of objects) {
        gone.delete(keyOf(object))
        put(object)
      }
      for (const key of gone) {
        const object = known.delete(key)
        if (object !== undefined) distribute({ type: 'delete', object })
      }
    },
    apply: (type, object) => {
      if (type !== 'DELETED') {
        put(object)
        return
      }
      if (known.delete(keyOf(object)) !== undefined) distribute({ type: 'delete', object })
    },
  }
}
