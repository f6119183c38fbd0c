/** Watching for users of the library: what is there as ADDED, then every change, over restarts and expired revisions. */
import { observedStates } from '../cluster/observe.ts'
import { createChanges } from '../components/client/changes.ts'
import type { KnownObjects, ObjectChange } from '../components/client/changes.ts'
import { keyOf } from '../components/machinery/objects/object.ts'
import type { KubeObject } from '../components/machinery/objects/object.ts'
import { listOptions } from '../scenarios/engine/selection.ts'
import type { Connection } from './connection.ts'
import { isUnserved } from './kinds.ts'
import type { KubernetesObject, Selection, WatchEvent } from './types.ts'

/** Not frozen, unlike an informer's: users may change what they got. */
function createKnownObjects(): KnownObjects<KubeObject> {
  const objects = new Map<string, KubeObject>()
  return {
    keys: () => objects.keys(),
    set: (object) => {
      const key = keyOf(object)
      const old = objects.get(key)
      objects.set(key, object)
      return old
    },
    delete: (key) => {
      const old = objects.get(key)
      objects.delete(key)
      return old
    },
  }
}

const types = { add: 'ADDED', update: 'MODIFIED', delete: 'DELETED' } as const

/**
 * Read as slowly as its reader likes. Ends when `signal` aborts; throws errors that time does not mend. When the kind's definition
 * goes, its objects are reported as deleted before an UnknownKindError; when it is there again by then, the watch goes on.
 */
export async function* watchObjects<T extends KubernetesObject>(
  { client, kinds, namespace: fallback }: Connection,
  selection: Selection,
  signal: AbortSignal = new AbortController().signal,
): AsyncGenerator<WatchEvent<T>, void> {
  const changes: ObjectChange<KubeObject>[] = []
  const sink = createChanges(createKnownObjects(), (change) => changes.push(change))
  const newEvents = function* (): Generator<WatchEvent<T>, void> {
    for (const { type, object } of changes.splice(0)) {
      if (signal.aborted) return
      yield { type: types[type], object: object as unknown as T }
    }
  }
  let resource = await kinds.find(selection)
  for (;;) {
    const { namespaced: isNamespaced } = resource
    const selected = listOptions(selection, { isNamespaced, fallback })
    const options = { client: client.resource(resource), clock: client.clock, ...selected, signal }
    let unserved: unknown
    try {
      for await (const { objects, change } of observedStates(options)) {
        if (change === undefined) sink.replace([...objects.values()])
        else if (change.type !== 'BOOKMARK') sink.apply(change.type, change.object)
        yield* newEvents()
      }
    } catch (error) {
      if (signal.aborted) return
      if (!isUnserved(error)) throw error
      unserved = error
    }
    sink.replace([])
    yield* newEvents()
    const now = await kinds.find(selection)
    if (now === resource) throw unserved
    resource = now
  }
}
