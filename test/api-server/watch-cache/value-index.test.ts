/** Lists that select by an indexed field show the same as if they looked at all entries, at every revision. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Collection, type Snapshot } from '../../../components/api-server/watch-cache/collection.ts'
import { CacheEvent, Entry } from '../../../components/api-server/watch-cache/entry.ts'
import { encodeForStore } from '../../../components/api-server/watch-cache/object-bytes.ts'
import type { SelectedValue } from '../../../components/api-server/watch-cache/watcher.ts'

const nodeOf = (entry: Entry): string => String(entry.object()['spec']?.nodeName ?? '')

function selectedNode(value: string, looks = { count: 0 }): SelectedValue {
  const valueOf = (entry: Entry): string => {
    looks.count += 1
    return nodeOf(entry)
  }
  return { field: 'spec.nodeName', value, valueOf, isIndexed: true }
}

function podEntry(key: string, revision: number, nodeName: string): Entry {
  const [namespace = '', name = ''] = key.split('/')
  const object = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name } }
  return new Entry(key, revision, encodeForStore({ ...object, spec: { nodeName } }))
}

const key = fc.constantFrom('a/p', 'a/q', 'b/p', 'b/\u{1f600}', 'b/\uffee', 'c/p')
const node = fc.constantFrom('', 'x', 'y', 'x\0b')
const prefix = fc.constantFrom('', 'a/', 'b/')
const from = fc.constantFrom('', 'a/q', 'b/p', 'b/\uffee')
const action = fc.oneof(
  { weight: 9, arbitrary: fc.record({ put: key, node }) },
  { weight: 3, arbitrary: fc.record({ remove: key }) },
  { weight: 9, arbitrary: fc.record({ list: node, prefix, from }) },
  fc.record({ hold: fc.nat(8) }),
  fc.record({ load: fc.uniqueArray(key), node }),
  fc.record({ hide: key }),
)

const shown = (entries: Iterable<Entry>, value: string): string[] =>
  [...entries]
    .filter((entry) => nodeOf(entry) === value)
    .map((entry) => `${entry.key} ${entry.revision}`)

it('a list by an indexed field shows what a look at all entries finds, now and of every kept state', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60, size: 'max' }), (actions) => {
      const collection = new Collection({ startRevision: 0 })
      let held: Snapshot | undefined
      let revision = 0
      const commit = (at: string, entry: Entry | undefined): void => {
        const previous = collection.get(at)
        if (entry === undefined && previous === undefined) return
        collection.apply(new CacheEvent({ revision, entry, previous, appliedAtMs: 0 }))
      }
      for (const one of actions) {
        revision += 1
        if ('put' in one) commit(one.put, podEntry(one.put, revision, one.node))
        else if ('remove' in one) commit(one.remove, undefined)
        else if ('hold' in one) {
          const at = Math.max(0, revision - one.hold)
          held = one.hold === 0 ? collection.snapshot(revision) : collection.snapshotAt(at)
        } else if ('load' in one) {
          const sorted = one.load.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
          const entries = sorted.map((at) => podEntry(at, revision, one.node))
          collection.replaceAll({ entries, unreadable: [] }, revision)
        } else if ('hide' in one) collection.replaceUnreadable(one.hide, { revision })
        else {
          for (const snapshot of [collection.snapshot(revision), held]) {
            if (snapshot === undefined) continue
            const found = snapshot.entriesWith(selectedNode(one.list), one.prefix, one.from)
            const all = snapshot.entries(one.prefix, one.from)
            expect(shown(found, one.list)).toEqual(shown(all, one.list))
          }
        }
      }
    }),
  )
})

it('a list of one value looks at no entry, but for the first list, which looks at each once', () => {
  const collection = new Collection({ startRevision: 0 })
  for (let index = 1; index <= 100; index += 1) {
    const entry = podEntry(`a/p-${index}`, index, `n-${index % 10}`)
    collection.apply(
      new CacheEvent({ revision: index, entry, previous: undefined, appliedAtMs: 0 }),
    )
  }
  const looks = { count: 0 }
  const found = (value: string): Entry[] => [
    ...collection.snapshot(100).entriesWith(selectedNode(value, looks), ''),
  ]
  expect(found('n-3')).toHaveLength(10)
  expect(looks.count).toBe(100)
  expect(found('n-4').map(({ key: at }) => at)).toContain('a/p-4')
  expect(found('n-5')).toHaveLength(10)
  expect(found('elsewhere')).toEqual([])
  expect(looks.count).toBe(100)
})
