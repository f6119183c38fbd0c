/** The model of a collection: every commit in order. All questions are answered by replaying them. */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Selection } from './selections.ts'

/** An object as clients read it; kind and apiVersion, which lists leave out, are dropped. */
export interface Shown {
  readonly metadata: {
    readonly name: string
    readonly resourceVersion: string
    readonly uid: string
    readonly labels?: Readonly<Record<string, string>>
    readonly finalizers?: readonly string[]
    readonly deletionTimestamp?: string
  }
  readonly data?: Readonly<Record<string, string>>
}

export interface ShownEvent {
  readonly type: string
  readonly object: Shown
}

/** `object` is undefined for a deletion. */
export interface Commit {
  readonly revision: number
  readonly name: string
  readonly object: Shown | undefined
}

export function shown(object: Shown & { kind?: unknown; apiVersion?: unknown }): Shown {
  const { kind: _, apiVersion: __, ...rest } = object
  return rest
}

export const revisionOf = (object: Shown): number => Number(object.metadata.resourceVersion)

export class History {
  readonly #commits: Commit[] = []
  /** Where commits may be missing or have a guessed revision: what a killed server did not tell anybody. */
  readonly #gaps: { readonly after: number; readonly to: number }[] = []

  /** Commits come in any order; one that is known already must be the same. */
  add(commit: Commit): void {
    const at = this.#commits.findIndex(({ revision }) => revision >= commit.revision)
    const known = at < 0 ? undefined : this.#commits[at]
    if (known?.revision === commit.revision) {
      assert.deepEqual(commit, known, 'two commits have one revision')
      return
    }
    this.#commits.splice(at < 0 ? this.#commits.length : at, 0, commit)
  }

  addGap(after: number, to: number): void {
    this.#gaps.push({ after, to })
  }

  isInGap(revision: number): boolean {
    return this.#gaps.some(({ after, to }) => revision > after && revision <= to)
  }

  /** True when no commit after `from` up to `to` can be missing. */
  isWhole(from: number, to = Infinity): boolean {
    return this.#gaps.every((gap) => gap.to <= from || gap.after >= to)
  }

  get commits(): readonly Commit[] {
    return this.#commits
  }

  at(revision: number): Commit | undefined {
    return this.#commits.find((commit) => commit.revision === revision)
  }

  after(revision: number): Commit[] {
    return this.#commits.filter((commit) => commit.revision > revision)
  }

  /** Objects by name as of a revision. */
  state(revision: number): Map<string, Shown> {
    const state = new Map<string, Shown>()
    for (const commit of this.#commits) {
      if (commit.revision > revision) break
      if (commit.object === undefined) state.delete(commit.name)
      else state.set(commit.name, commit.object)
    }
    return state
  }

  /** What a list at that revision holds, in its order. */
  list(revision: number, selection: Selection): Shown[] {
    return [...this.state(revision).values()]
      .filter(selection.matches)
      .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
  }

  /** What a watch of that selection shows after a revision. */
  events(revision: number, selection: Selection): ShownEvent[] {
    const state = this.state(revision)
    return this.after(revision).flatMap(({ revision: at, name, object }): ShownEvent[] => {
      const previous = state.get(name)
      const was = previous !== undefined && selection.matches(previous)
      if (object === undefined) state.delete(name)
      else state.set(name, object)
      if (object !== undefined && selection.matches(object)) {
        return [{ type: was ? 'MODIFIED' : 'ADDED', object }]
      }
      if (!was) return []
      const metadata = { ...previous.metadata, resourceVersion: String(at) }
      return [{ type: 'DELETED', object: { ...previous, metadata } }]
    })
  }

  /** True when the claim held at some moment from `low` on, up to `high`. */
  held(
    within: { low: number; high: number },
    claim: (state: ReadonlyMap<string, Shown>) => boolean,
  ): boolean {
    const moments = [within.low]
    for (const { revision } of this.#commits) {
      if (revision > within.low && revision <= within.high) moments.push(revision)
    }
    return moments.some((revision) => this.isInGap(revision) || claim(this.state(revision)))
  }
}

export const isSame = (a: unknown, b: unknown): boolean => isDeepStrictEqual(a, b)
