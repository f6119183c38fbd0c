/** Loadable: what a store can be filled with (Store.load), checked before any of it is stored. */
import type { KeyValue } from './store.ts'

/** All keys, or a TypeError that names the one that no store can hold at this revision. */
export async function loadable(
  kvs: Iterable<KeyValue> | AsyncIterable<KeyValue>,
  revision: number,
): Promise<readonly KeyValue[]> {
  if (!Number.isSafeInteger(revision) || revision < 0)
    throw new TypeError(`${revision} is not a revision`)
  const all = Symbol.iterator in kvs ? [...kvs] : await Array.fromAsync(kvs)
  const keys = new Set<string>()
  const revisions = new Set<number>()
  for (const { key, createRevision, modRevision } of all) {
    const refuse = (why: string): TypeError =>
      new TypeError(`the key ${JSON.stringify(key)} cannot be loaded: ${why}`)
    if (!key.isWellFormed()) throw refuse('it has no UTF-8 form')
    if (keys.has(key)) throw refuse('it is there twice')
    if (revisions.has(modRevision)) throw refuse(`revision ${modRevision} wrote another key`)
    if (!isBetween(createRevision, 1, modRevision) || !isBetween(modRevision, 1, revision))
      throw refuse(`it was created at ${createRevision}, written at ${modRevision} of ${revision}`)
    keys.add(key)
    revisions.add(modRevision)
  }
  return all
}

function isBetween(number: number, least: number, most: number): boolean {
  return Number.isSafeInteger(number) && number >= least && number <= most
}
