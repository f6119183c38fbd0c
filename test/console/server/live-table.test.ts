/** Tables that pages follow. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LiveTable, type TableFollower } from '../../../console/server/live/table.ts'
import { FakeClock } from '../../support/fake-clock.ts'

interface Row {
  readonly key: string
  readonly value: number
}

/** A page: what it has been sent, and the rows that it holds by that. */
class Page implements TableFollower {
  readonly rows = new Map<string, Row>()
  messages = 0
  snapshots = 0
  isReady = true
  takesParts = true
  readonly unsent: (() => void)[] = []
  readonly changes: Buffer[] = []

  snapshot(part: Buffer, sent: () => void): void {
    this.messages += 1
    const { snapshot, first = false } = JSON.parse(`{${part.toString()}`) as {
      readonly snapshot: readonly Row[]
      readonly first?: boolean
    }
    if (first) {
      this.rows.clear()
      this.snapshots += 1
    }
    for (const row of snapshot) this.rows.set(row.key, row)
    this.unsent.push(sent)
    if (this.takesParts) this.take()
  }

  /** The connection takes what it was given. */
  take(): void {
    for (const sent of this.unsent.splice(0)) sent()
  }

  changed(change: Buffer): void {
    this.messages += 1
    this.changes.push(change)
    const { set, gone } = JSON.parse(`{${change.toString()}`) as {
      readonly set: readonly Row[]
      readonly gone: readonly string[]
    }
    for (const key of gone) this.rows.delete(key)
    for (const row of set) this.rows.set(row.key, row)
  }

  ended(): void {}
}

function tableWith(
  clock: FakeClock,
  bounds: { readonly mostRows?: number; readonly partRows?: number } = {},
): LiveTable<Row> {
  return new LiveTable<Row>({ clock, keyOf: ({ key }) => key, ...bounds })
}

const row = (key: string, value = 0): Row => ({ key, value })

test('changes within a tenth of a second reach a page as one message', async () => {
  const clock = new FakeClock()
  const table = tableWith(clock)
  const page = new Page()
  table.replace([row('a')])
  table.follow(page)
  await clock.step(100)
  expect(page.messages).toBe(1)
  for (let value = 1; value <= 1000; value += 1) table.set(row('a', value))
  await clock.step(100)
  expect(page.messages).toBe(2)
  expect(page.rows.get('a')?.value).toBe(1000)
})

test('a page gets nothing before the table is whole', async () => {
  const clock = new FakeClock()
  const table = tableWith(clock)
  const page = new Page()
  table.follow(page)
  table.set(row('a'))
  await clock.step(1000)
  expect(page.messages).toBe(0)
  table.replace([row('b')])
  await clock.step(100)
  expect([...page.rows.keys()]).toEqual(['b'])
})

test('a large snapshot comes in parts', async () => {
  const clock = new FakeClock()
  const table = tableWith(clock)
  const page = new Page()
  table.replace(Array.from({ length: 4500 }, (_, at) => row(`r${at}`)))
  table.follow(page)
  await clock.step(100)
  expect(page.messages).toBe(3)
  expect(page.snapshots).toBe(1)
  expect(page.rows.size).toBe(4500)
})

test('the next part of a snapshot comes when the page has taken the last one, and with what changed meanwhile', async () => {
  const clock = new FakeClock()
  const table = tableWith(clock)
  const page = new Page()
  page.takesParts = false
  table.replace(Array.from({ length: 4500 }, (_, at) => row(`r${at}`)))
  table.follow(page)
  await clock.step(100)
  expect(page.messages).toBe(1)
  table.delete('r0')
  table.delete('r4000')
  table.set(row('r1', 1))
  table.set(row('new', 2))
  await clock.step(100)
  for (let part = 0; part < 3; part += 1) page.take()
  await clock.step(100)
  expect(page.snapshots).toBe(1)
  expect(Object.fromEntries(page.rows)).toEqual(
    Object.fromEntries([...table.values()].map((one) => [one.key, one])),
  )
})

test('pages that get the same change share its bytes', async () => {
  const clock = new FakeClock()
  const table = tableWith(clock)
  const pages = [new Page(), new Page()]
  table.replace([row('a')])
  for (const page of pages) table.follow(page)
  await clock.step(100)
  table.set(row('a', 1))
  await clock.step(100)
  expect(pages[0]?.changes).toHaveLength(1)
  expect(pages[0]?.changes[0]).toBe(pages[1]?.changes[0])
})

test('a page that is behind is left out, and gets a new snapshot once it has caught up', async () => {
  const clock = new FakeClock()
  const table = tableWith(clock)
  const page = new Page()
  table.replace([row('a')])
  table.follow(page)
  await clock.step(100)
  page.isReady = false
  table.set(row('a', 1))
  table.delete('a')
  table.set(row('b', 2))
  await clock.step(1000)
  expect(page.messages).toBe(1)
  page.isReady = true
  await clock.step(100)
  expect(page.snapshots).toBe(2)
  expect([...page.rows.keys()]).toEqual(['b'])
})

test('the oldest row leaves a bounded table', async () => {
  const clock = new FakeClock()
  const table = tableWith(clock, { mostRows: 2 })
  const page = new Page()
  table.replace([])
  table.follow(page)
  for (const key of ['a', 'b', 'c']) table.set(row(key))
  await clock.step(100)
  expect([...page.rows.keys()]).toEqual(['b', 'c'])
})

test('whatever happens, pages end with the rows of the table', async () => {
  const step = fc.oneof(
    fc.record({
      do: fc.constant('set'),
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      value: fc.nat(),
    }),
    fc.record({ do: fc.constant('delete'), key: fc.constantFrom('a', 'b', 'c', 'd') }),
    fc.record({ do: fc.constant('replace'), keys: fc.subarray(['a', 'b', 'c', 'd']) }),
    fc.record({ do: fc.constant('wait'), ms: fc.nat(250) }),
    fc.record({ do: fc.constant('ready'), page: fc.nat(1), is: fc.boolean() }),
    fc.record({ do: fc.constant('join') }),
    fc.record({ do: fc.constant('take'), taker: fc.nat(1) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const clock = new FakeClock()
      const table = tableWith(clock, { partRows: 2 })
      const pages = [new Page(), new Page()]
      table.replace([])
      for (const page of pages) {
        page.takesParts = false
        table.follow(page)
      }
      for (const one of steps) {
        if ('ms' in one) await clock.step(one.ms)
        else if ('keys' in one) table.replace(one.keys.map((key) => row(key)))
        else if ('value' in one) table.set(row(one.key, one.value))
        else if ('key' in one) table.delete(one.key)
        else if ('page' in one) (pages[one.page] as Page).isReady = one.is
        else if ('taker' in one) (pages[one.taker] as Page).take()
        else {
          const page = new Page()
          pages.push(page)
          table.follow(page)
        }
      }
      for (const page of pages) {
        page.isReady = true
        page.takesParts = true
        page.take()
      }
      await clock.step(300)
      for (const page of pages) {
        expect(Object.fromEntries(page.rows)).toEqual(
          Object.fromEntries([...table.values()].map((one) => [one.key, one])),
        )
      }
    }),
    { numRuns: 300 },
  )
})
