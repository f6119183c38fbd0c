/** Remembered: answers that are the same for the same object each time, and cost more to make than to look up. */

/** The same function, asked once for each object; an answer is kept as long as its object is. */
export function remembered<Key extends WeakKey, Value>(
  make: (key: Key) => Value,
): (key: Key) => Value {
  const known = new WeakMap<Key, { readonly value: Value }>()
  return (key) => {
    let found = known.get(key)
    if (found === undefined) known.set(key, (found = { value: make(key) }))
    return found.value
  }
}
