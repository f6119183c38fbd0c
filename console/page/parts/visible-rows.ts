/** visibleRows: which rows of a long list are drawn, and how much room the others take. Pure. */

export interface Viewport {
  readonly scrollTop: number
  readonly height: number
  readonly rowHeight: number
  readonly count: number
}

export interface VisibleRows {
  readonly first: number
  /** After the last one. */
  readonly end: number
  /** Pixels of the rows before and after. */
  readonly before: number
  readonly after: number
}

/** Rows that are drawn beyond each edge, so that a quick scroll shows no gap. */
const margin = 8

export function visibleRows({ scrollTop, height, rowHeight, count }: Viewport): VisibleRows {
  const top = Math.max(0, Math.floor(scrollTop / rowHeight) - margin)
  const shown = Math.ceil(height / rowHeight) + 2 * margin
  // A list that became shorter leaves the scroll position beyond its end.
  const first = Math.max(0, Math.min(top, count - shown))
  const end = Math.min(count, first + shown)
  return { first, end, before: first * rowHeight, after: (count - end) * rowHeight }
}
