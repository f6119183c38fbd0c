/** takeFrom: the next values of an iterator, which stays open. */

/** Fewer when it ends before. `take` of iterator helpers would close the iterator. */
export function takeFrom<T>(iterator: Iterator<T>, count: number): T[] {
  const taken: T[] = []
  while (taken.length < count) {
    const next = iterator.next()
    if (next.done === true) break
    taken.push(next.value)
  }
  return taken
}
