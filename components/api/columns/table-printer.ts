/** How the columns of a kind are written down: each column with the function that fills it. */
import { ageOf } from '../../machinery/values/duration.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Cell, Column, TablePrinter } from '../../machinery/objects/table-printer.ts'

/** Fills one column; objects may lack any field. */
export type CellOf = (object: KubeObject, nowMs: number) => Cell

export interface FilledColumn {
  readonly column: Column
  readonly cell: CellOf
}

interface ColumnOptions {
  /** Default `string`. */
  readonly type?: Column['type']
  /** Shown with -o wide only; default false. */
  readonly wide?: boolean
  readonly format?: string
}

export function column(
  [name, description]: readonly [name: string, description: string],
  cell: CellOf,
  { type = 'string', wide = false, format = '' }: ColumnOptions = {},
): FilledColumn {
  return { column: { name, type, format, description, priority: wide ? 1 : 0 }, cell }
}

export function tablePrinter(...filled: readonly FilledColumn[]): TablePrinter {
  return {
    columns: filled.map((entry) => entry.column),
    cells: (object, nowMs) => filled.map((entry) => entry.cell(object, nowMs)),
  }
}

export const nameDescription = 'Name of the object, unique among its kind in its namespace.'

export const nameColumn = column(
  ['Name', nameDescription],
  (object) => object.metadata.name ?? '',
  { format: 'name' },
)

export const ageDescription = 'Time since the object was created.'

export function age(object: KubeObject, nowMs: number): string {
  return ageOf(object.metadata.creationTimestamp, nowMs)
}

export const ageColumn = column(['Age', ageDescription], age)

/** What kinds without columns of their own show. */
export const defaultPrinter = tablePrinter(
  nameColumn,
  column(
    ['Created At', 'Time at which the object was created.'],
    (object) => object.metadata.creationTimestamp ?? null,
    { type: 'date' },
  ),
)

interface Container {
  readonly name?: string
  readonly image?: string
}

/** The wide columns of everything that has a pod template. */
export function containerColumns(
  templateOf: (object: KubeObject) => { spec?: { containers?: readonly Container[] } } | undefined,
  wide = true,
): FilledColumn[] {
  const list = (field: 'name' | 'image'): CellOf => {
    return (object) =>
      (templateOf(object)?.spec?.containers ?? []).map((each) => each[field] ?? '').join(',')
  }
  return [
    column(['Containers', 'Names of the containers in the template.'], list('name'), { wide }),
    column(['Images', 'Images of the containers in the template.'], list('image'), { wide }),
  ]
}

/** `a=b,c=d` by key, or `<none>`. */
export function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.keys(labels ?? {})
    .sort()
    .map((key) => `${key}=${labels?.[key] ?? ''}`)
  return pairs.length === 0 ? '<none>' : pairs.join(',')
}

/** The first `max` of a list and how many more there are; `<unset>` when there is nothing to show. */
export function firstOf(list: readonly string[], max = 3): string {
  const shown = list.slice(0, max).join(',')
  if (list.length > max) return `${shown} + ${list.length - max} more...`
  return shown === '' ? '<unset>' : shown
}

/** A list field that may be absent. */
export function length(list: unknown): number {
  return Array.isArray(list) ? list.length : 0
}
