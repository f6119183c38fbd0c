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

/**
 * The bytewise order of the strings' UTF-8 forms, which is the order of etcd and of lists. It differs from `<` only
 * where a character outside the basic plane meets one above the surrogates (U+E000 to U+FFFF).
 */
export function compareUtf8(a: string, b: string): number {
  const shared = Math.min(a.length, b.length)
  for (let i = 0; i < shared; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return codePointRank(x) - codePointRank(y)
  }
  return a.length - b.length
}

/** Lifts surrogates, which stand for code points above U+FFFF, over all other units. */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit
}
