/** TextPane: lines of a log or a terminal, of which only those in view are elements. It follows the end unless the viewer scrolls up, or it is read from the top. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { useVisibleRows } from './use-visible-rows.ts'

const rowHeight = 18

export interface TextPaneProps {
  readonly label: string
  readonly lines: readonly string[]
  /** Number of the first line. */
  readonly from?: number
  /** It is read from the top: it does not follow the end. */
  readonly isTop?: boolean
}

export function TextPane({ label, lines, from = 0, isTop = false }: TextPaneProps) {
  const view = useVisibleRows(lines.length, rowHeight)
  const isAtEnd = useRef(!isTop)
  useLayoutEffect(() => {
    const element = view.ref.current
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight
  })
  const onScroll = (): void => {
    const element = view.ref.current
    if (element !== null && !isTop)
      isAtEnd.current =
        element.scrollHeight - element.scrollTop - element.clientHeight < 2 * rowHeight
    view.onScroll()
  }
  return (
    <div
      class="text-pane"
      ref={view.ref}
      onScroll={onScroll}
      tabIndex={0}
      role={isTop ? 'region' : 'log'}
      aria-label={label}
    >
      <div style={{ height: `${view.before}px` }} />
      {lines.slice(view.first, view.end).map((line, index) => (
        <div key={from + view.first + index} class="text-line">
          {line === '' ? '\u00a0' : line}
        </div>
      ))}
      <div style={{ height: `${view.after}px` }} />
    </div>
  )
}
