/** Rows of the console's tables: order, filter, marks, and the part that is drawn. */
import { describe, expect, it } from 'vitest'
import { visibleRows } from '../../../console/page/parts/visible-rows.ts'
import { RowMarks } from '../../../console/page/views/objects/list/row-marks.ts'
import {
  cellText,
  columnWidths,
  filterRows,
  shownColumns,
  sortRows,
} from '../../../console/page/views/objects/list/shown-rows.ts'
import type { TableRow } from '../../../console/protocol/live.ts'

const columns = [
  { name: 'Name', type: 'string', format: 'name' },
  { name: 'Restarts', type: 'integer' },
  { name: 'Ready', type: 'string' },
  { name: 'Age', type: 'string' },
  { name: 'IP', type: 'string', priority: 1 },
]

const row = (name: string, more: Partial<TableRow> = {}): TableRow => ({
  key: name,
  namespace: 'default',
  name,
  cells: [name, 0, '1/1', '5s', '10.0.0.1'],
  ...more,
})

const names = (rows: readonly TableRow[]): string[] => rows.map(({ name }) => name)

describe('columns', () => {
  it('are those of the server; wide ones and the namespace on request', () => {
    const shown = (isWide: boolean, hasNamespace: boolean) =>
      shownColumns(columns, { isWide, hasNamespace }).map(({ name }) => name)
    expect(shown(false, false)).toEqual(['Name', 'Restarts', 'Ready', 'Age'])
    expect(shown(true, true)).toEqual(['Namespace', 'Name', 'Restarts', 'Ready', 'Age', 'IP'])
  })

  it('show cells of any type as text', () => {
    const cells = row('a', { cells: [null, 3, { a: 1 }, true] })
    expect([0, 1, 2, 3, 4].map((cell) => cellText(cells, cell))).toEqual([
      '',
      '3',
      '{"a":1}',
      'true',
      '',
    ])
  })

  it('are as wide as their texts, up to a bound', () => {
    const shown = shownColumns(columns, { isWide: false, hasNamespace: false })
    const [name = 0, , ready = 0] = columnWidths(
      [row('x'.repeat(500)), row('b', { cells: ['b', 0, '10/10 and more'] })],
      shown,
    )
    expect(name).toBe(64)
    expect(ready).toBe('10/10 and more'.length)
  })
})

describe('rows', () => {
  const shown = shownColumns(columns, { isWide: true, hasNamespace: true })
  const rows = [
    row('web-10', { cells: ['web-10', 10, '2/10'], created: '2026-01-03T00:00:00Z' }),
    row('web-9', { cells: ['web-9', 9, '10/10'], created: '2026-01-01T00:00:00Z' }),
    row('api', { namespace: 'a', cells: ['api', 9, '1/1'], created: '2026-01-02T00:00:00Z' }),
  ]
  const sorted = (column: string, isDescending = false) =>
    names(sortRows(rows, shown, { column, isDescending }))

  it('are in the order of namespaces and names without another', () => {
    expect(sorted('')).toEqual(['api', 'web-10', 'web-9'])
  })

  it('sort numbers by value, ages by time and other texts with numbers in natural order', () => {
    expect(sorted('Restarts')).toEqual(['api', 'web-9', 'web-10'])
    expect(sorted('Restarts', true)).toEqual(['web-10', 'api', 'web-9'])
    expect(sorted('Age')).toEqual(['web-10', 'api', 'web-9'])
    expect(sorted('Ready')).toEqual(['api', 'web-10', 'web-9'])
  })

  it('pass the filter when each word is in a cell or a label', () => {
    const labelled = row('db', { labels: { tier: 'Back' } })
    expect(names(filterRows([...rows, labelled], 'tier=back DB'))).toEqual(['db'])
    expect(names(filterRows(rows, 'web 10/'))).toEqual(['web-9'])
    expect(filterRows(rows, ' ')).toHaveLength(3)
  })
})

describe('marks', () => {
  const table = (...rows: TableRow[]) => new Map(rows.map((one) => [one.key, one]))

  it('are not made by a snapshot', () => {
    const marks = new RowMarks()
    marks.apply({ rows: table(row('a')), changed: undefined }, 0)
    expect(marks.glow('a')).toBe(0)
    expect(marks.gone()).toEqual([])
  })

  it('let a changed row glow for a while, and again with the next change', () => {
    const marks = new RowMarks()
    marks.apply({ rows: table(row('a')), changed: new Set(['a']) }, 0)
    expect(marks.glow('a')).toBe(1)
    marks.apply({ rows: table(row('a')), changed: new Set(['a']) }, 100)
    expect(marks.glow('a')).toBe(2)
    marks.expire(2100)
    expect(marks.glow('a')).toBe(0)
  })

  it('keep a deleted row for a moment, and drop it when it comes back', () => {
    const marks = new RowMarks()
    marks.apply({ rows: table(row('a'), row('b')), changed: undefined }, 0)
    marks.apply({ rows: table(), changed: new Set(['a', 'b']) }, 1000)
    expect(names(marks.gone())).toEqual(['a', 'b'])
    marks.apply({ rows: table(row('a')), changed: new Set(['a']) }, 1500)
    expect(names(marks.gone())).toEqual(['b'])
    expect(marks.expire(3000)).toBe(false)
    expect(marks.expire(3600)).toBe(true)
    expect(marks.gone()).toEqual([])
  })
})

describe('visible rows of a long list', () => {
  const view = { height: 320, rowHeight: 32, count: 20_000 }

  it('are those in view with a margin, whatever the length', () => {
    const { first, end, before, after } = visibleRows({ ...view, scrollTop: 320_000 })
    expect(end - first).toBe(26)
    expect(first).toBeLessThan(10_000)
    expect(end).toBeGreaterThan(10_010)
    expect(before + (end - first) * 32 + after).toBe(20_000 * 32)
  })

  it('end with the list when it became shorter than the scroll position', () => {
    const { first, end, after } = visibleRows({ ...view, count: 30, scrollTop: 320_000 })
    expect([first, end, after]).toEqual([4, 30, 0])
    expect(visibleRows({ ...view, count: 0, scrollTop: 0 })).toMatchObject({ first: 0, end: 0 })
  })
})
