/** ObjectCache: frozen objects by key, with indexes kept on every change. */
import type { KubeObject } from '../machinery/objects/object.ts'
import { deepFreeze, keyOf } from '../machinery/objects/object.ts'

export interface ObjectCache<T extends KubeObject> {
  get(key: string): T | undefined
  list(): readonly T[]
  keys(): Iterable<string>
  readonly size: number
  /** Freezes and keeps the object; returns what it replaced. */
  set(object: T): T | undefined
  /** Returns what was there. */
  delete(key: string): T | undefined
  /** Adds an index, over what is there already too. */
  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void
  /** Throws for an index that was never added. */
  byIndex(name: string, value: string): readonly T[]
}

interface Index<T> {
  readonly valuesOf: (object: T) => readonly string[]
  readonly keys: Map<string, Set<string>>
}

export function createObjectCache<T extends KubeObject>(): ObjectCache<T> {
  const objects = new Map<string, T>()
  const indexes = new Map<string, Index<T>>()

  const enter = (index: Index<T>, key: string, object: T): void => {
    for (const value of index.valuesOf(object)) {
      const keys = index.keys.get(value)
      if (keys === undefined) index.keys.set(value, new Set([key]))
      else keys.add(key)
    }
  }
  const leave = (index: Index<T>, key: string, object: T): void => {
    for (const value of index.valuesOf(object)) {
      const keys = index.keys.get(value)
      keys?.delete(key)
      if (keys?.size === 0) index.keys.delete(value)
    }
  }

  return {
    get: (key) => objects.get(key),
    list: () => [...objects.values()],
    keys: () => objects.keys(),
    get size() {
      return objects.size
    },
    set: (object) => {
      const key = keyOf(object)
      const old = objects.get(key)
      objects.set(key, deepFreeze(object))
      for (const index of indexes.values()) {
        if (old !== undefined) leave(index, key, old)
        enter(index, key, object)
      }
      return old
    },
    delete: (key) => {
      const old = objects.get(key)
      if (old === undefined) return undefined
      objects.delete(key)
      for (const index of indexes.values()) leave(index, key, old)
      return old
    },
    addIndex: (name, valuesOf) => {
      const index: Index<T> = { valuesOf, keys: new Map() }
      indexes.set(name, index)
      for (const [key, object] of objects) enter(index, key, object)
    },
    byIndex: (name, value) => {
      const index = indexes.get(name)
      if (index === undefined) throw new Error(`no index named ${name}`)
      const found: T[] = []
      for (const key of index.keys.get(value) ?? []) {
        const object = objects.get(key)
        if (object !== undefined) found.push(object)
      }
      return found
    },
  }
}
