/** Commits: every change that the store has made to the objects, in the order of revisions, as the store itself tells it. */

export interface Commit {
  readonly revision: number
  readonly key: string
  /** Undefined: the object was deleted. */
  readonly value: string | undefined
}

interface Held {
  readonly revision: number
  readonly value: string
}

export class Commits {
  readonly all: readonly Commit[]
  readonly #byRevision: ReadonlyMap<number, Commit>
  readonly #byKey = new Map<string, Commit[]>()

  /** In the order of revisions, one key each. */
  constructor(all: readonly Commit[]) {
    this.all = all
    this.#byRevision = new Map(all.map((commit) => [commit.revision, commit]))
    for (const commit of all) {
      const known = this.#byKey.get(commit.key)
      if (known === undefined) this.#byKey.set(commit.key, [commit])
      else known.push(commit)
    }
  }

  at(revision: number): Commit | undefined {
    return this.#byRevision.get(revision)
  }

  of(key: string): readonly Commit[] {
    return this.#byKey.get(key) ?? []
  }

  get keys(): readonly string[] {
    return [...this.#byKey.keys()]
  }

  /** What the key held once `revision` was committed. */
  heldAt(key: string, revision: number): Held | undefined {
    const last = this.of(key).findLast((commit) => commit.revision <= revision)
    return last?.value === undefined ? undefined : { revision: last.revision, value: last.value }
  }

  stateAt(revision: number): ReadonlyMap<string, Held> {
    const state = new Map<string, Held>()
    for (const key of this.keys) {
      const held = this.heldAt(key, revision)
      if (held !== undefined) state.set(key, held)
    }
    return state
  }

  /** The first commit to the key after `revision`. */
  after(key: string, revision: number): Commit | undefined {
    return this.of(key).find((commit) => commit.revision > revision)
  }

  between(after: number, upTo: number): readonly Commit[] {
    return this.all.filter(({ revision }) => revision > after && revision <= upTo)
  }
}
