/** SortedMap: a map in key order whose snapshot costs nothing (a copy-on-write B-tree). The only file that imports sorted-btree. */
import sortedBTree from 'sorted-btree'
import { bulkLoad } from 'sorted-btree/extended/bulkLoad.js'

// The package is CommonJS: Node's default import is its exports object; vitest hands out the class itself.
type TreeClass = typeof sortedBTree.default
const imported: { default?: TreeClass } = sortedBTree
const BTree = imported.default ?? (imported as unknown as TreeClass)
type Tree<K, V> = sortedBTree.default<K, V>

/** The package's own default. */
const maxNodeSize = 32
/** Room in each node for keys that come between. */
const loadFactor = 0.8

/** Negative, zero or positive, as for Array.sort. */
export type Compare<K> = (a: K, b: K) => number

/**
 * Iterators must not outlive a change of the map they come from: to iterate across awaits, take a snapshot.
 */
export class SortedMap<K, V> {
  readonly #compare: Compare<K>
  readonly #tree: Tree<K, V>

  /** `tree` is for `snapshot` alone. */
  constructor(compare: Compare<K>, tree: Tree<K, V> = new BTree<K, V>(undefined, compare)) {
    this.#compare = compare
    this.#tree = tree
  }

  /** The map of these keys; faster than to set them one by one if they are in order, each once. The arrays are copied. */
  static ofSorted<K, V>(
    compare: Compare<K>,
    keys: readonly K[],
    values: readonly V[],
  ): SortedMap<K, V> {
    const isInOrder = keys.every((key, at) => at === 0 || compare(keys[at - 1] as K, key) < 0)
    if (isInOrder && keys.length > 0) {
      const tree = bulkLoad([...keys], [...values], maxNodeSize, compare, loadFactor)
      return new SortedMap<K, V>(compare, tree)
    }
    const map = new SortedMap<K, V>(compare)
    for (const [at, key] of keys.entries()) map.set(key, values[at] as V)
    return map
  }

  get size(): number {
    return this.#tree.size
  }

  get(key: K): V | undefined {
    return this.#tree.get(key)
  }

  /** The smallest key; undefined when empty. */
  firstKey(): K | undefined {
    return this.#tree.minKey()
  }

  set(key: K, value: V): void {
    this.#tree.set(key, value)
  }

  /** True when the key was there. */
  delete(key: K): boolean {
    return this.#tree.delete(key)
  }

  /** Entries in order, from the smallest key that is not below `from`; all without it. */
  entries(from?: K): IterableIterator<[K, V]> {
    return this.#tree.entries(from)
  }

  /** How many keys are not below `from` and below `to`; to the end without it. Whole nodes are counted, not keys. */
  count(from: K, to?: K): number {
    const end = to ?? this.#tree.maxKey()
    if (end === undefined) return 0
    const order = this.#compare(from, end)
    if (order > 0 || (order === 0 && to !== undefined)) return 0
    return this.#tree.forRange(from, end, to === undefined)
  }

  /** The map as it is now; later changes to either side do not show in the other. Constant time. */
  snapshot(): SortedMap<K, V> {
    return new SortedMap(this.#compare, this.#tree.clone())
  }
}

/** The language's own order of texts, which is by UTF-16 units. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

const fromSurrogates = /[\ud800-\uffff]/
const allFromSurrogates = /[\ud800-\uffff]/g

/**
 * A text that `<` orders as the UTF-8 bytes of `key` are ordered, which is the order of etcd and of lists; that of a prefix is a
 * prefix. It is the key itself unless there is a unit from U+D800 on: surrogates, which stand for what is above U+FFFF, then
 * change places with the units above them. To look for such a unit once is cheaper than to compare any other way.
 */
export function sortKey(key: string): string {
  return fromSurrogates.test(key) ? key.replaceAll(allFromSurrogates, changedPlace) : key
}

function changedPlace(unit: string): string {
  const code = unit.charCodeAt(0)
  return String.fromCharCode(code < 0xe000 ? code + 0x2000 : code - 0x800)
}
