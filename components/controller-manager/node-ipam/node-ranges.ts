/** NodeRanges: which node has which ranges of pod addresses, one from each range of the cluster. */
import type { CidrSet } from '../cidr-set.ts'

export class NodeRanges {
  readonly #sets: readonly CidrSet[]
  readonly #byNode = new Map<string, readonly string[]>()
  /** What each node was last seen to carry. */
  readonly #carried = new Map<string, string>()

  /** `sets` are the cluster's ranges in the order of the nodes' ranges; they belong to this object from now on. */
  constructor(sets: readonly CidrSet[]) {
    this.#sets = sets
  }

  /** The node's ranges are these, whatever it had. Throws, the first time, for a range that the cluster's do not hold. */
  occupy(node: string, ranges: readonly string[]): void {
    const carried = ranges.join()
    if (this.#carried.get(node) === carried) return
    const isKnown = this.#byNode.get(node)?.join() === carried
    if (!isKnown) this.release(node)
    this.#carried.set(node, carried)
    if (isKnown) return
    const occupied: string[] = []
    try {
      for (const [index, range] of ranges.entries()) {
        const set = this.#sets[index]
        if (set === undefined) {
          throw new Error(
            `node:${node} has an allocated cidr: ${range} at index:${index} that does not exist in cluster cidrs configuration`,
          )
        }
        set.occupy(range)
        occupied.push(range)
      }
    } finally {
      // A node keeps its range until it is deleted.
      this.#byNode.set(node, occupied)
    }
  }

  /** The ranges the node has, or else the next free ones; undefined when a cluster's range is used up. */
  allocate(node: string): readonly string[] | undefined {
    const known = this.#byNode.get(node)
    if (known?.length === this.#sets.length) return known
    this.release(node)
    const ranges: string[] = []
    for (const set of this.#sets) {
      const range = set.allocateNext()
      if (range === undefined) {
        for (const [index, one] of ranges.entries()) this.#sets[index]?.release(one)
        return undefined
      }
      ranges.push(range)
    }
    this.#byNode.set(node, ranges)
    return ranges
  }

  /** Frees the node's ranges, if it has any. */
  release(node: string): void {
    for (const [index, range] of (this.#byNode.get(node) ?? []).entries())
      this.#sets[index]?.release(range)
    this.#byNode.delete(node)
    this.#carried.delete(node)
  }
}
