/** FakeReader: an in-memory ObjectReader that tests fill by hand; changes are told as the watch cache tells them. */
import type {
  ObjectChange,
  ObjectReader,
} from '../../components/api-server/watch-cache/object-reader.ts'
import { deepFreeze, keyOf } from '../../components/machinery/objects/object.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import { copyJson } from '../../components/machinery/values/json-copy.ts'

export class FakeReader implements ObjectReader {
  readonly #objects = new Map<string, Map<string, KubeObject>>()
  readonly #handlers = new Map<string, Set<(change: ObjectChange) => void>>()
  #revision = 0

  /** Creates or replaces; gives it a resourceVersion, and a uid unless it has one. */
  put(resource: Resource, object: KubeObject): KubeObject {
    const key = keyOf(object)
    const objects = this.#of(resource)
    const old = objects.get(key)
    this.#revision += 1
    const stored = deepFreeze<KubeObject>({
      ...copyJson(object),
      metadata: {
        uid: old?.metadata.uid ?? `uid-${this.#revision}`,
        ...copyJson(object.metadata),
        resourceVersion: String(this.#revision),
      },
    })
    objects.set(key, stored)
    this.#tell(resource, old === undefined ? 'ADDED' : 'MODIFIED', key, stored)
    return stored
  }

  remove(resource: Resource, namespace: string, name: string): void {
    const key = namespace === '' ? name : `${namespace}/${name}`
    const objects = this.#of(resource)
    const old = objects.get(key)
    if (old === undefined) throw new Error(`no ${resource.plural} ${key}`)
    objects.delete(key)
    this.#tell(resource, 'DELETED', key, old)
  }

  get(resource: Resource, namespace: string, name: string): KubeObject | undefined {
    return this.#of(resource).get(namespace === '' ? name : `${namespace}/${name}`)
  }

  list(resource: Resource, namespace = ''): readonly KubeObject[] {
    const keys = [...this.#of(resource).keys()].toSorted()
    return keys
      .filter((key) => namespace === '' || key.startsWith(`${namespace}/`))
      .map((key) => this.#of(resource).get(key) as KubeObject)
  }

  onChange(resource: Resource, handler: (change: ObjectChange) => void): () => void {
    const handlers = this.#handlers.get(resource.storagePrefix) ?? new Set()
    this.#handlers.set(resource.storagePrefix, handlers.add(handler))
    return () => handlers.delete(handler)
  }

  #of(resource: Resource): Map<string, KubeObject> {
    let objects = this.#objects.get(resource.storagePrefix)
    if (objects === undefined) {
      objects = new Map()
      this.#objects.set(resource.storagePrefix, objects)
    }
    return objects
  }

  #tell(resource: Resource, type: ObjectChange['type'], key: string, object: KubeObject): void {
    for (const handler of this.#handlers.get(resource.storagePrefix) ?? []) {
      handler({ type, key, object: () => object })
    }
  }
}
