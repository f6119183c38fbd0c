/**
 * PaneRows: the rows of a pane, filtered and sorted. 20,000 rows take tens of milliseconds, so a change of rows alone is followed only
 * after ten times what the last round took; a key is followed at once.
 */
import type { Clock } from '../../components/component-base/clock.ts'
import type { PaneName } from './live-tables.ts'
import { paneOf } from './panes.ts'
import type { Pane, PaneContext } from './pane.ts'

export interface RowOrder {
  readonly filter: string
  /** Index of a column. */
  readonly sort: number
  readonly isReversed: boolean
}

/** Of the time that passes, at most a tenth is spent on sorting. */
const restFactor = 10
/** What ages is sorted anew this often. */
const mostRestMs = 2000

type Keyed = readonly [by: string | number, key: string, row: unknown]

function compare([a, aKey]: Keyed, [b, bKey]: Keyed): number {
  if (typeof a === 'number' && typeof b === 'number' && a !== b) return b - a
  if (a !== b) return a < b ? -1 : 1
  return aKey < bKey ? -1 : aKey > bKey ? 1 : 0
}

function ordered(pane: Pane<unknown>, order: RowOrder, context: PaneContext): unknown[] {
  const column = pane.columns[order.sort]
  const wanted = order.filter.toLowerCase()
  const keyed: Keyed[] = []
  for (const row of pane.rows(context.tables)) {
    if (wanted !== '' && !pane.textOf(row).includes(wanted)) continue
    keyed.push([column?.sortBy(row, context) ?? 0, pane.keyOf(row), row])
  }
  keyed.sort(compare)
  if (order.isReversed) keyed.reverse()
  return keyed.map(([, , row]) => row)
}

export class PaneRows {
  readonly #clock: Clock
  readonly #pane: Pane<unknown>
  #rows: readonly unknown[] = []
  #order: RowOrder | undefined
  #version = -1
  #restUntilMs = 0

  constructor(name: PaneName, clock: Clock) {
    this.#clock = clock
    this.#pane = paneOf(name)
  }

  /** Rows of before may be older than the tables; what a row shows beside its own fields is read anew. */
  get(order: RowOrder, context: PaneContext): readonly unknown[] {
    const version = context.tables.version(this.#pane.name)
    const isOther = this.#order !== order
    const startedMs = this.#clock.elapsed()
    const isDue = version !== this.#version && startedMs >= this.#restUntilMs
    if (!isOther && !isDue) return this.#rows
    this.#rows = ordered(this.#pane, order, context)
    this.#order = order
    this.#version = version
    const tookMs = this.#clock.elapsed() - startedMs
    this.#restUntilMs = startedMs + Math.min(mostRestMs, tookMs * restFactor)
    return this.#rows
  }
}
