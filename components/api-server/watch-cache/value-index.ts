/**
 * ValueIndex: a collection's entries by the value of one field, so that a list of one node's pods looks at these alone (upstream:
 * storage/cacher IndexerFuncs).
 */
import { compareTexts, SortedMap, sortKey } from '../../component-base/sorted-map.ts'
import type { Entry } from './entry.ts'

/** Reads the field; always the same for an entry. */
type ValueOf = (entry: Entry) => string

/** Sorts by value, then by key. What starts with it has that value, since keys have no NUL. */
function textOf(value: string, keyPrefix: string): string {
  return `${value}\0${sortKey(keyPrefix)}`
}

export class ValueIndex {
  readonly #valueOf: ValueOf
  readonly #entries: SortedMap<string, Entry>

  /** Reads the field of all entries. Throws UndecodableError. */
  constructor(valueOf: ValueOf, entries: Iterable<Entry>) {
    this.#valueOf = valueOf
    const texts = Array.from(entries, (entry) => [this.#textOf(entry), entry] as const)
    texts.sort(([one], [other]) => compareTexts(one, other))
    const keys = texts.map(([text]) => text)
    const values = texts.map(([, entry]) => entry)
    this.#entries = SortedMap.ofSorted(compareTexts, keys, values)
  }

  #textOf(entry: Entry): string {
    return textOf(this.#valueOf(entry), entry.key)
  }

  /** One entry takes the place of another one of the same key; either may be missing. */
  replace(previous: Entry | undefined, entry: Entry | undefined): void {
    const before = previous && this.#textOf(previous)
    const after = entry && this.#textOf(entry)
    if (before !== undefined && before !== after) this.#entries.delete(before)
    if (entry !== undefined && after !== undefined) this.#entries.set(after, entry)
  }

  /** All entries with the value, from `from` on, whose key starts with `keyPrefix`, in key order. */
  entriesOf(value: string, keyPrefix: string, from: string): Entry[] {
    const start = textOf(value, keyPrefix)
    const first = textOf(value, from)
    const found: Entry[] = []
    for (const [text, entry] of this.#entries.entries(first < start ? start : first)) {
      if (!text.startsWith(start)) break
      found.push(entry)
    }
    return found
  }
}
