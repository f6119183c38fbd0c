/** Watchers that are found by the value they select get the same events as if they looked at every commit. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Collection } from '../../../components/api-server/watch-cache/collection.ts'
import { Deliveries } from '../../../components/api-server/watch-cache/deliveries.ts'
import { CacheEvent, Entry } from '../../../components/api-server/watch-cache/entry.ts'
import { encodeForStore } from '../../../components/api-server/watch-cache/object-bytes.ts'
import { Watcher } from '../../../components/api-server/watch-cache/watcher.ts'
import type { SelectedValue } from '../../../components/api-server/watch-cache/watcher.ts'

const fields = ['node', 'phase'] as const
type Field = (typeof fields)[number]

const valueOf =
  (field: Field) =>
  (entry: Entry): string =>
    String(entry.object()['spec']?.[field] ?? '')

/** Counts in `looks` how often it looks at an entry. */
function watcherOf(
  field: Field,
  value: string,
  { isIndexed, looks }: { isIndexed: boolean; looks: { count: number } },
): Watcher {
  const selected: SelectedValue = { field, value, valueOf: valueOf(field), isIndexed: false }
  return new Watcher({
    keyPrefix: '',
    exactKey: false,
    matches: (entry) => {
      looks.count += 1
      return valueOf(field)(entry) === value
    },
    ...(isIndexed ? { selected } : {}),
    form: 'test',
    encode: (type, entry) => Buffer.from(`${type} ${entry.key} ${entry.revision}`),
    takeFirst: () => undefined,
    deliveries: new Deliveries(),
    maxQueuedBytes: 1_000_000,
  })
}

const name = fc.constantFrom('a', 'b', 'c')
const value = fc.constantFrom('', 'x', 'y', 'z')
const field = fc.constantFrom(...fields)
const action = fc.oneof(
  { weight: 4, arbitrary: fc.record({ put: name, node: value, phase: value }) },
  fc.record({ remove: name }),
  fc.record({ attach: field, value }),
  fc.record({ detach: fc.nat(5) }),
)

it('every watcher gets the events of what it selects, whatever comes, changes, goes and is attached', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60, size: 'max' }), (actions) => {
      const collection = new Collection({ startRevision: 0 })
      const pairs: { indexed: Watcher; plain: Watcher }[] = []
      const looks = { count: 0 }
      let revision = 0
      const commit = (key: string, entry: Entry | undefined): void => {
        const previous = collection.get(key)
        if (entry === undefined && previous === undefined) return
        collection.apply(new CacheEvent({ revision, entry, previous, appliedAtMs: 0 }))
      }
      for (const one of actions) {
        revision += 1
        if ('put' in one) {
          const { put, node, phase } = one
          const object = { apiVersion: 'v1', kind: 'X', metadata: { name: put } }
          const stored = encodeForStore({ ...object, spec: { node, phase } })
          commit(put, new Entry(put, revision, stored))
        } else if ('remove' in one) commit(one.remove, undefined)
        else if ('attach' in one) {
          const indexed = watcherOf(one.attach, one.value, { isIndexed: true, looks })
          const plain = watcherOf(one.attach, one.value, { isIndexed: false, looks })
          for (const watcher of [indexed, plain]) collection.attach(watcher, revision)
          pairs.push({ indexed, plain })
        } else {
          const pair = pairs[one.detach]
          if (pair === undefined) continue
          collection.detach(pair.indexed)
          collection.detach(pair.plain)
        }
      }
      for (const { indexed, plain } of pairs) {
        expect(indexed.take().map(String)).toEqual(plain.take().map(String))
      }
    }),
  )
})

it('a watcher does not look at objects that neither have nor had the value that it selects', () => {
  const collection = new Collection({ startRevision: 0 })
  const looks = { count: 0 }
  const others = Array.from({ length: 100 }, (_, index) =>
    watcherOf('node', `n-${index}`, { isIndexed: true, looks }),
  )
  for (const watcher of others) collection.attach(watcher, 0)
  const stored = encodeForStore({
    apiVersion: 'v1',
    kind: 'X',
    metadata: { name: 'a' },
    spec: { node: 'n-7' },
  })
  const entry = new Entry('a', 1, stored)
  collection.apply(new CacheEvent({ revision: 1, entry, previous: undefined, appliedAtMs: 0 }))
  expect(looks.count).toBe(1)
  expect(others.filter((watcher) => watcher.take().length > 0)).toEqual([others[7]])
  for (const watcher of others) collection.detach(watcher)
  expect(collection.watchers).toBe(0)
})
