/** The order of a merged list: elements the patch names in its order, the others in theirs, woven together as upstream does. */

export type JsonObject = Record<string, unknown>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

/** The value of an element's merge key; undefined without one. */
export function keyValue(element: JsonObject, mergeKey: string): unknown {
  return Object.hasOwn(element, mergeKey) ? element[mergeKey] : undefined
}

/** The identity of an element: itself if it is a scalar, else its merge key. */
export function byKey(element: unknown, mergeKey: string | undefined): unknown {
  return isObject(element) && mergeKey !== undefined ? keyValue(element, mergeKey) : element
}

interface Orders {
  readonly merged: readonly unknown[]
  /** Elements that the patch names, in the order it wants. */
  readonly order: readonly unknown[]
  /** The list before the patch. */
  readonly original: readonly unknown[]
  readonly mergeKey: string | undefined
}

/** The merged elements in their final order; a new list. */
export function enforceOrder({ merged, order, original, mergeKey }: Orders): unknown[] {
  const wanted = positions(order, mergeKey)
  const before = positions(original, mergeKey)
  const key = (element: unknown) => byKey(element, mergeKey)
  const named = sorted(
    merged.filter((element) => wanted.has(key(element))),
    (element) => wanted.get(key(element)),
  )
  const others = sorted(
    merged.filter((element) => !wanted.has(key(element))),
    (element) => before.get(key(element)),
  )
  const result: unknown[] = []
  let next = 0
  for (const element of named) {
    const at = before.get(key(element))
    // Others go first only while both stood in the original, in that order.
    while (next < others.length && at !== undefined) {
      const other = before.get(key(others[next]))
      if (other === undefined || other >= at) break
      result.push(others[next])
      next += 1
    }
    result.push(element)
  }
  return [...result, ...others.slice(next)]
}

/** Where each key stands first. */
export function positions(
  list: readonly unknown[],
  mergeKey: string | undefined,
): Map<unknown, number> {
  const found = new Map<unknown, number>()
  for (const [index, element] of list.entries()) {
    const key = byKey(element, mergeKey)
    if (!found.has(key)) found.set(key, index)
  }
  return found
}

function sorted(
  list: readonly unknown[],
  positionOf: (element: unknown) => number | undefined,
): unknown[] {
  return list.toSorted((a, b) => (positionOf(a) ?? list.length) - (positionOf(b) ?? list.length))
}
