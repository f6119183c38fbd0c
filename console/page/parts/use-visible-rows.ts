/** useVisibleRows: the rows of a long list that its scrolling element shows now. */
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { visibleRows, type VisibleRows } from './visible-rows.ts'

export interface ScrolledRows extends VisibleRows {
  /** For the element that scrolls. */
  readonly ref: RefObject<HTMLDivElement>
  readonly onScroll: () => void
}

/** Draws again when other rows come into view. `rowHeight` is in pixels, the same for all rows. */
export function useVisibleRows(count: number, rowHeight: number): ScrolledRows {
  const ref = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ scrollTop: 0, height: 800 })
  const measure = (): void => {
    const element = ref.current
    if (element === null) return
    // Whole rows: scrolling within one draws nothing.
    const scrollTop = Math.floor(element.scrollTop / rowHeight) * rowHeight
    const height = element.clientHeight
    setView((old) =>
      old.scrollTop === scrollTop && old.height === height ? old : { scrollTop, height },
    )
  }
  useLayoutEffect(() => {
    measure()
    const element = ref.current
    if (element === null) return undefined
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return { ...visibleRows({ ...view, rowHeight, count }), ref, onScroll: measure }
}
