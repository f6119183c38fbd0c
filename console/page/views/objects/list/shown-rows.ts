/** shownRows: the rows of a table that pass the filter, in order. Pure. */
import type { TableColumn, TableRow } from '../../../../protocol/live.ts'

/** A column as the page shows it: one of the server's, or the namespace. */
export interface ShownColumn {
  readonly name: string
  readonly description: string
  /** Index of the cell. */
  readonly cell: number | 'namespace'
  readonly is: 'name' | 'age' | 'number' | 'text'
}

export interface Sorting {
  /** Name of a column; empty: namespace and name. */
  readonly column: string
  readonly isDescending: boolean
}

function roleOf({ name, type, format }: TableColumn): ShownColumn['is'] {
  if (format === 'name') return 'name'
  if (name === 'Age') return 'age'
  return type === 'integer' || type === 'number' ? 'number' : 'text'
}

/** The server's columns; those with a priority above 0 only when `isWide`. */
export function shownColumns(
  columns: readonly TableColumn[],
  { isWide, hasNamespace }: { readonly isWide: boolean; readonly hasNamespace: boolean },
): ShownColumn[] {
  const own = columns.flatMap((column, cell): ShownColumn[] => {
    if (!isWide && (column.priority ?? 0) > 0) return []
    const { name, description = '' } = column
    return [{ name, description, cell, is: roleOf(column) }]
  })
  if (!hasNamespace) return own
  const namespace: ShownColumn = {
    name: 'Namespace',
    description: 'The namespace of the object',
    cell: 'namespace',
    is: 'text',
  }
  return [namespace, ...own]
}

/** A cell as text; what is not a scalar is shown as JSON. */
export function cellText({ cells, namespace = '' }: TableRow, cell: ShownColumn['cell']): string {
  if (cell === 'namespace') return namespace
  const value = cells[cell]
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  return typeof value === 'object' ? JSON.stringify(value) : String(value as number | boolean)
}

/** Rows never change, so what is searched in them is made once. */
const searched = new WeakMap<TableRow, string>()

function searchedText(row: TableRow): string {
  const known = searched.get(row)
  if (known !== undefined) return known
  const { namespace = '', name, cells, labels = {} } = row
  const labelTexts = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  const text = [namespace, name, ...cells.map(String), ...labelTexts].join('\n').toLowerCase()
  searched.set(row, text)
  return text
}

/** Rows that hold every word in a cell or a label. */
export function filterRows(rows: Iterable<TableRow>, filter: string): TableRow[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return [...rows]
  const found: TableRow[] = []
  for (const row of rows) {
    const text = searchedText(row)
    if (words.every((word) => text.includes(word))) found.push(row)
  }
  return found
}

const natural = new Intl.Collator('en', { numeric: true })
const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function byName(a: TableRow, b: TableRow): number {
  return order(a.namespace ?? '', b.namespace ?? '') || order(a.name, b.name)
}

type Compare = (a: TableRow, b: TableRow) => number

function comparison({ cell, is }: ShownColumn): Compare {
  // The youngest has the smallest age.
  if (is === 'age') return (a, b) => order(b.created ?? '', a.created ?? '')
  if (is === 'number') return (a, b) => Number(cellText(a, cell)) - Number(cellText(b, cell))
  if (is === 'name' || cell === 'namespace')
    return (a, b) => order(cellText(a, cell), cellText(b, cell))
  return (a, b) => natural.compare(cellText(a, cell), cellText(b, cell))
}

/** Rows that are equal in the column keep the order of their names. */
export function sortRows(
  rows: readonly TableRow[],
  columns: readonly ShownColumn[],
  { column, isDescending }: Sorting,
): TableRow[] {
  const by = columns.find(({ name }) => name === column)
  if (by === undefined) return rows.toSorted(byName)
  const compare = comparison(by)
  const sign = isDescending ? -1 : 1
  return rows.toSorted((a, b) => sign * compare(a, b) || byName(a, b))
}

/** Characters of the widest columns: longer texts are cut, and shown whole by their titles. */
const widest = 48
/** Of how many rows the widths are taken. */
const sample = 400

/** Widths in characters, for columns that stay where they are while rows scroll by. */
export function columnWidths(rows: readonly TableRow[], columns: readonly ShownColumn[]): number[] {
  const step = Math.max(1, Math.floor(rows.length / sample))
  return columns.map(({ name, cell, is }) => {
    let width = name.length + 2
    for (let index = 0; index < rows.length; index += step) {
      const row = rows[index]
      if (row !== undefined) width = Math.max(width, cellText(row, cell).length)
    }
    return Math.min(is === 'name' ? widest + 16 : widest, is === 'age' ? Math.max(width, 7) : width)
  })
}
