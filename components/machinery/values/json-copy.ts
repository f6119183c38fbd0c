/** Copies of JSON values: fresh, mutable, and harmless whatever the keys. */

/** A deep copy of a JSON value; throws RangeError past `depth` more levels of nesting. */
export function copyJson<T>(value: T, depth = 10_000): T {
  if (typeof value !== 'object' || value === null) return value
  if (depth === 0) throw new RangeError('nested too deeply')
  if (Array.isArray(value)) return value.map((item: unknown) => copyJson(item, depth - 1)) as T
  const copy: Record<string, unknown> = {}
  for (const key in value) setOwn(copy, key, copyJson(value[key], depth - 1))
  return copy as T
}

/** The object's own property of that name: a client's name may be one that every object inherits. */
export function getOwn<T>(
  from: Readonly<Record<string, T>> | undefined,
  key: string,
): T | undefined {
  return from !== undefined && Object.hasOwn(from, key) ? from[key] : undefined
}

/** Sets an own property, also for the one key that plain assignment would take for the prototype. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') target[key] = value
  else
    Object.defineProperty(target, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    })
}

/** The value with every lone surrogate replaced, as Go reads it: such text has no UTF-8 form. It copies only the objects and lists that hold one. */
export function wellFormedJson(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) value[index] = wellFormedJson(item)
    return value
  }
  const entries = Object.entries(value)
  if (entries.every(([key]) => key.isWellFormed())) {
    for (const [key, child] of entries) {
      if (typeof child === 'string' || typeof child === 'object') {
        setOwn(value as Record<string, unknown>, key, wellFormedJson(child))
      }
    }
    return value
  }
  return Object.fromEntries(
    entries.map(([key, child]) => [key.toWellFormed(), wellFormedJson(child)]),
  )
}
