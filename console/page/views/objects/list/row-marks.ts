/** RowMarks: which rows of a table changed or went lately. Pure: the time is given. */
import type { TableRow } from '../../../../protocol/live.ts'

/** How long a deleted row stays, struck through. */
const goneMs = 2500
/** How long a changed row glows. */
const glowMs = 2000

/** What the marks need of `LiveRows`. */
export interface MarkedChange {
  readonly rows: ReadonlyMap<string, TableRow>
  /** Undefined after a snapshot, which marks nothing. */
  readonly changed: ReadonlySet<string> | undefined
}

export interface GoneRow {
  readonly row: TableRow
  readonly atMs: number
}

export class RowMarks {
  readonly #known = new Map<string, TableRow>()
  readonly #gone = new Map<string, GoneRow>()
  readonly #changed = new Map<string, { readonly atMs: number; readonly count: number }>()

  apply({ rows, changed }: MarkedChange, nowMs: number): void {
    if (changed === undefined) {
      this.#replace(rows)
      return
    }
    for (const key of changed) {
      const row = rows.get(key)
      const known = this.#known.get(key)
      if (row !== undefined) {
        this.#known.set(key, row)
        this.#gone.delete(key)
        const count = (this.#changed.get(key)?.count ?? 0) + 1
        this.#changed.set(key, { atMs: nowMs, count })
      } else if (known !== undefined) {
        this.#known.delete(key)
        this.#changed.delete(key)
        this.#gone.set(key, { row: known, atMs: nowMs })
      }
    }
  }

  #replace(rows: ReadonlyMap<string, TableRow>): void {
    this.#known.clear()
    this.#gone.clear()
    for (const [key, row] of rows) this.#known.set(key, row)
  }

  /** Ends marks whose time has come. True when a row went with them. */
  expire(nowMs: number): boolean {
    for (const [key, { atMs }] of this.#changed) {
      if (nowMs - atMs >= glowMs) this.#changed.delete(key)
    }
    const before = this.#gone.size
    for (const [key, { atMs }] of this.#gone) if (nowMs - atMs >= goneMs) this.#gone.delete(key)
    return this.#gone.size !== before
  }

  /** How often the row changed while it glows; 0: it does not glow. */
  glow(key: string): number {
    return this.#changed.get(key)?.count ?? 0
  }

  isGone(key: string): boolean {
    return this.#gone.has(key)
  }

  /** Rows that were deleted a moment ago. */
  gone(): TableRow[] {
    return [...this.#gone.values()].map(({ row }) => row)
  }
}
