/** A store as plain as it can be, and random histories run against both it and a real one. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Store, StoreEvent } from '../../components/store/store.ts'
import { bytes, collect, line, revisionOf, until } from './actions.ts'

interface Commit {
  readonly key: string
  readonly value: string | null
}

/** Every commit since the beginning; all questions are answered by replaying them. */
class Model {
  readonly commits: Commit[] = []
  compacted = 0

  state(revision: number): Map<string, { value: string; create: number; mod: number }> {
    const state = new Map<string, { value: string; create: number; mod: number }>()
    for (const [i, { key, value }] of this.commits.slice(0, revision).entries()) {
      if (value === null) state.delete(key)
      else state.set(key, { value, create: state.get(key)?.create ?? i + 1, mod: i + 1 })
    }
    return state
  }

  range(options: { prefix: string; from: string; limit: number; revision: number }) {
    const { prefix, from, limit, revision } = options
    const keys = [...this.state(revision)]
      .filter(([key]) => key.startsWith(prefix) && Buffer.compare(bytes(key), bytes(from)) >= 0)
      .toSorted(([a], [b]) => Buffer.compare(bytes(a), bytes(b)))
    return {
      kvs: keys.slice(0, limit).map(([key, { value, create, mod }]) => ({
        key,
        value: bytes(value),
        createRevision: create,
        modRevision: mod,
      })),
      revision,
      more: keys.length > limit,
    }
  }

  events(options: { prefix: string; fromRevision: number }): string[] {
    return this.commits.flatMap(({ key, value }, i) => {
      if (i < options.fromRevision || !key.startsWith(options.prefix)) return []
      const before = this.state(i).get(key)
      const was = before === undefined ? '' : ` was ${before.value}`
      return [`${i + 1} ${value === null ? `delete ${key}` : `put ${key}=${value}`}${was}`]
    })
  }
}

const key = fc.constantFrom('a/1', 'a/2', 'a/22', 'b/1', 'b', '\u{10000}', '\uFFFF')
const prefix = fc.constantFrom('', 'a/', 'a/2', 'b', '\uFFFF', 'none')
/** Which revision a compare expects: the true one, none, or another. */
const expected = fc.oneof(
  { weight: 6, arbitrary: fc.constant('true' as const) },
  fc.constant('none' as const),
  fc.nat({ max: 30 }),
)
const txn = fc.record({ key, expected, isDelete: fc.boolean() })
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      txns: fc.array(txn, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('range' as const),
      prefix,
      from: fc.oneof(fc.constant(''), key),
      limit: fc.integer({ min: 1, max: 8 }),
      age: fc.option(fc.nat({ max: 20 }), { nil: undefined }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('watch' as const), prefix, age: fc.nat({ max: 20 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('compact' as const), age: fc.nat({ max: 10 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('copy' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

interface Watch {
  readonly prefix: string
  readonly fromRevision: number
  readonly collected: { events: StoreEvent[]; done: Promise<void> }
}

/**
 * `reopen` closes a store and opens what it kept; without it, that step does nothing. So does a copy into a store that numbers
 * anew. The store must start at revision 0.
 */
export function checkAgainstModel(options: {
  name: string
  runs: number
  open: () => Promise<Store>
  reopen?: (store: Store) => Promise<Store>
  renumbers?: boolean
}): void {
  it(`${options.name} answers any history as the model does`, async () => {
    const history = fc.array(step, { minLength: 10, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(history, async (steps) => runHistory(steps, options)),
      { numRuns: options.runs, endOnFailure: true },
    )
  })
}

/** Another store with the same content. The one before closes. */
async function copyOf(store: Store, empty: Store): Promise<Store> {
  const { kvs, revision } = await store.range({ prefix: '' })
  await empty.load(kvs, revision)
  await store.close()
  return empty
}

async function runHistory(
  steps: readonly Step[],
  {
    open,
    reopen,
    renumbers = false,
  }: {
    open: () => Promise<Store>
    reopen?: (store: Store) => Promise<Store>
    renumbers?: boolean
  },
): Promise<void> {
  const model = new Model()
  let store = await open()
  let watches: Watch[] = []
  let serial = 0
  const newest = (): number => model.commits.length

  async function commit(txns: Extract<Step, { kind: 'commit' }>['txns']): Promise<void> {
    const pending = txns.map(({ key, expected, isDelete }) => {
      const current = model.state(newest()).get(key)
      const truth = current?.mod ?? 0
      const expectedRevision = expected === 'true' ? truth : expected === 'none' ? 0 : expected
      const value = isDelete ? null : `${++serial}`
      const wins = expectedRevision === truth
      const changes = wins && !(isDelete && current === undefined)
      if (changes) model.commits.push({ key, value })
      const kv = current && {
        key,
        value: bytes(current.value),
        createRevision: current.create,
        modRevision: current.mod,
      }
      const revision = changes ? newest() : expect.any(Number)
      const answer = wins ? { ok: true, revision } : kv ? { ok: false, current: kv } : { ok: false }
      const result = store.txn({
        key,
        expectedRevision,
        value: value === null ? null : bytes(value),
      })
      return { answer, result }
    })
    expect(await Promise.all(pending.map(({ result }) => result))).toEqual(
      pending.map(({ answer }) => answer),
    )
  }

  async function range(step: Extract<Step, { kind: 'range' }>): Promise<void> {
    const { prefix, from, limit, age } = step
    const revision = newest() - (age ?? 0)
    const asked = { prefix, from, limit, ...(age === undefined ? {} : { atRevision: revision }) }
    if (revision < model.compacted)
      await expect(store.range(asked)).rejects.toMatchObject({ code: 'compacted' })
    else expect(await store.range(asked)).toEqual(model.range({ prefix, from, limit, revision }))
  }

  async function watch(step: Extract<Step, { kind: 'watch' }>): Promise<void> {
    const at = { prefix: step.prefix, fromRevision: newest() - step.age }
    const collected = collect(store, at)
    if (at.fromRevision < model.compacted)
      await expect(collected.done).rejects.toMatchObject({ code: 'compacted' })
    else {
      watches.push({ ...at, collected })
      // A watch may lose its history to a compaction before it has caught up; here it shall not.
      await until(() => collected.events.length === model.events(at).length)
    }
  }

  async function settleWatches(): Promise<void> {
    for (const { collected, ...at } of watches) {
      const seen = (): string[] => collected.events.map((e) => `${revisionOf(e)} ${line(e)}`)
      await until(() => collected.events.length >= model.events(at).length)
      expect(seen()).toEqual(model.events(at))
    }
  }

  try {
    for (const step of steps) {
      if (step.kind === 'commit') await commit(step.txns)
      else if (step.kind === 'range') await range(step)
      else if (step.kind === 'watch') await watch(step)
      else if (step.kind === 'compact') {
        const revision = Math.max(0, newest() - step.age)
        await store.compact(revision)
        model.compacted = Math.max(model.compacted, revision)
      } else if (step.kind === 'copy') {
        if (renumbers) continue
        await settleWatches()
        watches = []
        store = await copyOf(store, await open())
        model.compacted = newest()
      } else if (reopen !== undefined) {
        await settleWatches()
        watches = []
        store = await reopen(store)
      }
      expect(await store.revision()).toBe(newest())
    }
    await settleWatches()
  } finally {
    await store.close()
  }
}
