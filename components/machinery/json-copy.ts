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
