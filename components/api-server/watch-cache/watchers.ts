/**
 * Watchers: those of one collection. Watchers that select one value of a field are found by it, so that a commit costs nothing
 * for the others: every node watches its own pods (upstream: storage/cacher/cacher.go indexedWatchers).
 */
import type { CacheEvent } from './entry.ts'
import type { SelectedValue, Watcher } from './watcher.ts'

/** Watchers of one field, by the value that they select. */
interface Field {
  readonly valueOf: SelectedValue['valueOf']
  readonly byValue: Map<string, Set<Watcher>>
}

export class Watchers {
  readonly #all = new Set<Watcher>()
  /** Those that have to look at every commit. */
  readonly #unindexed = new Set<Watcher>()
  readonly #fields = new Map<string, Field>()

  get size(): number {
    return this.#all.size
  }

  add(watcher: Watcher): void {
    this.#all.add(watcher)
    const { selected } = watcher
    if (selected === undefined) {
      this.#unindexed.add(watcher)
      return
    }
    const { valueOf, value } = selected
    const field = this.#fields.get(selected.field) ?? { valueOf, byValue: new Map() }
    this.#fields.set(selected.field, field)
    const watchers = field.byValue.get(value) ?? new Set()
    field.byValue.set(value, watchers.add(watcher))
  }

  delete(watcher: Watcher): void {
    if (!this.#all.delete(watcher)) return
    this.#unindexed.delete(watcher)
    const { selected } = watcher
    if (selected === undefined) return
    const field = this.#fields.get(selected.field)
    const watchers = field?.byValue.get(selected.value)
    watchers?.delete(watcher)
    if (watchers?.size === 0) field?.byValue.delete(selected.value)
    if (field?.byValue.size === 0) this.#fields.delete(selected.field)
  }

  /** Ends all of them. */
  end(): void {
    for (const watcher of this.#all) watcher.end()
    this.#all.clear()
    this.#unindexed.clear()
    this.#fields.clear()
  }

  /** Hands a commit to those that may select the object as it is, or as it was. */
  offer(event: CacheEvent): void {
    for (const watcher of this.#unindexed) watcher.offer(event)
    for (const { valueOf, byValue } of this.#fields.values()) {
      const is = event.entry && valueOf(event.entry)
      const was = event.previous && valueOf(event.previous)
      if (is !== undefined) offerTo(byValue.get(is), event)
      if (was !== undefined && was !== is) offerTo(byValue.get(was), event)
    }
  }
}

function offerTo(watchers: ReadonlySet<Watcher> | undefined, event: CacheEvent): void {
  if (watchers === undefined) return
  for (const watcher of watchers) watcher.offer(event)
}
