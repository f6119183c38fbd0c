/** ObjectTable: rows of a list, of which only those in view are elements. */
import type { TableRow } from '../../../../protocol/live.ts'
import { objectPlace, type KindPlace } from '../../../app/object-place.ts'
import { linkTo } from '../../../app/router.ts'
import { age } from '../../../app/time.ts'
import { useVisibleRows } from '../../../parts/use-visible-rows.ts'
import type { RowMarks } from './row-marks.ts'
import { cellText, columnWidths, type ShownColumn, type Sorting } from './shown-rows.ts'
import { toneOf } from './tone.ts'

const rowHeight = 32

export interface ObjectTableProps {
  readonly label: string
  readonly kind: KindPlace
  readonly rows: readonly TableRow[]
  readonly columns: readonly ShownColumn[]
  readonly marks: RowMarks
  readonly sorting: Sorting
  readonly onSort: (column: string) => void
  readonly nowMs: number
  /** Draws again when it changes. */
  readonly version: number
}

function shownText(row: TableRow, column: ShownColumn, nowMs: number): string {
  if (column.is === 'age' && row.created !== undefined) return age(Date.parse(row.created), nowMs)
  return cellText(row, column.cell)
}

interface RowProps {
  readonly row: TableRow
  readonly index: number
  readonly table: ObjectTableProps
}

function Row({ row, index, table }: RowProps) {
  const { kind, columns, marks, nowMs } = table
  const isGone = marks.isGone(row.key)
  const glow = marks.glow(row.key)
  // Two animations that look the same: a name that changes starts it again.
  const state = isGone ? 'gone' : glow === 0 ? '' : glow % 2 === 0 ? 'glow-even' : 'glow-odd'
  return (
    <tr class={state} aria-rowindex={index + 2}>
      {columns.map((column) => {
        const text = shownText(row, column, nowMs)
        return (
          <td key={column.name} title={text} class={column.is === 'number' ? 'number' : undefined}>
            {column.is === 'name' && !isGone ? (
              <a href={linkTo(objectPlace(kind, row))}>{text}</a>
            ) : (
              <span class={column.is === 'text' ? toneOf(text) : undefined}>{text}</span>
            )}
          </td>
        )
      })}
    </tr>
  )
}

function Head({ columns, sorting, onSort }: ObjectTableProps) {
  return (
    <tr aria-rowindex={1}>
      {columns.map(({ name, description }) => {
        const isBy = sorting.column === name
        const direction = sorting.isDescending ? 'descending' : 'ascending'
        return (
          <th key={name} scope="col" aria-sort={isBy ? direction : undefined} title={description}>
            <button type="button" onClick={() => onSort(name)}>
              {name}
              <span aria-hidden="true">{isBy ? (sorting.isDescending ? ' ↓' : ' ↑') : ''}</span>
            </button>
          </th>
        )
      })}
    </tr>
  )
}

export function ObjectTable(props: ObjectTableProps) {
  const { label, rows, columns } = props
  const view = useVisibleRows(rows.length, rowHeight)
  const widths = columnWidths(rows, columns)
  const shown = rows.slice(view.first, view.end)
  return (
    <div
      class="rows"
      ref={view.ref}
      onScroll={view.onScroll}
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <table aria-rowcount={rows.length + 1}>
        <colgroup>
          {columns.map(({ name }, index) => (
            <col key={name} style={{ width: `${(widths[index] ?? 10) + 3}ch` }} />
          ))}
        </colgroup>
        <thead>
          <Head {...props} />
        </thead>
        <tbody>
          {view.before > 0 && (
            <tr class="room" style={{ height: `${view.before}px` }} aria-hidden />
          )}
          {shown.map((row, index) => (
            <Row key={row.key} row={row} index={view.first + index} table={props} />
          ))}
          {view.after > 0 && <tr class="room" style={{ height: `${view.after}px` }} aria-hidden />}
        </tbody>
      </table>
    </div>
  )
}
