/** Pane: one table of the screen as data: its rows, its columns, and by what they can be sorted and filtered. */
import type { Style } from '../../cluster/cli/terminal.ts'
import type { LiveTables, PaneName } from './live-tables.ts'

export interface PaneContext {
  readonly tables: LiveTables
  readonly nowMs: number
}

export interface Column<R> {
  readonly title: string
  readonly cell: (row: R, context: PaneContext) => string
  readonly style?: (row: R, context: PaneContext) => Style | undefined
  /** Numbers are sorted from the greatest down. */
  readonly sortBy: (row: R, context: PaneContext) => string | number
}

/** What Enter shows of a row: an object to read, or a value that is there. */
export type RowDetails =
  | {
      readonly kind: 'object'
      readonly resource: 'nodes' | 'pods' | 'events'
      readonly key: string
    }
  | { readonly kind: 'value'; readonly title: string; readonly value: unknown }

export interface Pane<R> {
  readonly name: PaneName
  readonly title: string
  readonly columns: readonly Column<R>[]
  /** Index of the column that sorts at first. */
  readonly firstSort: number
  readonly rows: (tables: LiveTables) => Iterable<R>
  readonly keyOf: (row: R) => string
  /** What a filter is looked for in, in lower case. */
  readonly textOf: (row: R) => string
  readonly detailsOf: (row: R) => RowDetails
  readonly count: (tables: LiveTables) => number
}
