/** frame: the screen as lines of text. Every line fits on one row of the terminal once it is cut to its width. Texts are escaped. */
import { styled, type Style } from '../../cluster/cli/terminal.ts'
import { plain } from '../../cluster/cli/why-request-text.ts'
import { humanDuration } from '../../components/machinery/values/duration.ts'
import type { LiveTables, PaneName } from './live-tables.ts'
import type { PaneContext } from './pane.ts'
import { paneNames, paneOf } from './panes.ts'
import type { DetailsView, PaneState, ViewState } from './view-state.ts'

export interface FrameInput {
  readonly title: string
  readonly tables: LiveTables
  readonly view: ViewState
  /** Filtered and sorted. */
  readonly rowsOf: (pane: PaneName) => readonly unknown[]
  readonly nowMs: number
  readonly rows: number
  readonly colors: boolean
  /** Why and for how long the cluster has not answered. */
  readonly loss: { readonly why: string; readonly forMs: number } | undefined
}

/** Cells are cut here, so that one long name leaves room for the other columns; the last column is cut by the screen. */
const mostCell = 44
/** A pane that is not in front shows its heading and so many rows at least. */
const leastRows = 3
const headerLines = 2

const keysLine = 'tab panes  ↑↓ rows  enter details  / filter  s sort  r reverse  ? help  q quit'

export const helpLines: readonly string[] = [
  'tab, right, shift-tab, left   next pane, pane before; 1 to 4 choose one',
  'up, down, pages, home, end    choose a row; j and k too',
  'enter                         details of the row; escape closes them',
  '/                             filter: type, then enter; escape removes it',
  's, r                          sort by the next column; reverse the order',
  'q, Ctrl-C                     quit',
]

function clip(text: string): string {
  return text.length > mostCell ? `${text.slice(0, mostCell - 1)}…` : text
}

/** Rows that a pane shows, from where, and which of them is selected. */
export function windowOf(
  keys: readonly string[],
  { selected }: PaneState,
  height: number,
): { readonly start: number; readonly at: number } {
  const at = selected === undefined ? 0 : Math.max(0, keys.indexOf(selected))
  const start = Math.max(0, Math.min(at - Math.floor(height / 2), keys.length - height))
  return { start, at }
}

interface PaneFrame {
  readonly name: PaneName
  readonly input: FrameInput
  /** Lines, the heading and column titles among them. */
  readonly height: number
}

function headingOf({ name, input }: PaneFrame, shown: number): string {
  const { tables, view, colors } = input
  const { order } = view.panes[name]
  const pane = paneOf(name)
  const isFront = view.pane === name
  const total = pane.count(tables)
  const count = shown === total ? `${total}` : `${shown} of ${total}`
  const sort = `${pane.columns[order.sort]?.title ?? ''}${order.isReversed ? ' reversed' : ''}`
  const isTyping = isFront && view.isTyping
  const filter =
    order.filter === '' && !isTyping ? '' : `  filter: ${plain(order.filter)}${isTyping ? '▏' : ''}`
  const text = `${isFront ? '▶' : ' '} ${pane.title} (${count})  by ${sort}${filter}`
  return styled(text, isFront ? 'cyan' : 'dim', colors)
}

function rowLines(of: PaneFrame, rows: readonly unknown[]): string[] {
  const { name, input } = of
  const { columns } = paneOf(name)
  const { tables, nowMs, colors } = input
  const context: PaneContext = { tables, nowMs }
  const last = columns.length - 1
  const cells = rows.map((row) =>
    columns.map(({ cell }, index) => {
      const text = plain(cell(row, context))
      return index === last ? text : clip(text)
    }),
  )
  const widths = columns.map(({ title }, index) =>
    Math.max(title.length, ...cells.map((line) => line[index]?.length ?? 0)),
  )
  const line = (texts: readonly string[], styleOf: (index: number) => Style | undefined): string =>
    texts
      .map((text, index) => {
        const padded = index === last ? text : text.padEnd(widths[index] ?? 0)
        const style = styleOf(index)
        return style === undefined ? padded : styled(padded, style, colors)
      })
      .join('  ')
  const titles = line(
    columns.map(({ title }) => title),
    () => 'dim',
  )
  const body = cells.map((texts, at) =>
    line(texts, (index) => columns[index]?.style?.(rows[at], context)),
  )
  return [titles, ...body]
}

function paneLines(of: PaneFrame): string[] {
  const { name, input, height } = of
  const pane = paneOf(name)
  const rows = input.rowsOf(name)
  const room = Math.max(0, height - 2)
  const { start, at } = windowOf(rows.map(pane.keyOf), input.view.panes[name], room)
  const [titles = '', ...body] = rowLines(of, rows.slice(start, start + room))
  const isFront = input.view.pane === name
  const marked = body.map((line, index) =>
    isFront && start + index === at ? `${styled('>', 'bold', input.colors)} ${line}` : `  ${line}`,
  )
  const notice = input.tables.notices.get(name)
  const lines =
    notice === undefined
      ? [`  ${titles}`, ...marked]
      : [`  ${styled(plain(notice), 'yellow', input.colors)}`, ...marked]
  return padded([headingOf(of, rows.length), ...lines], height)
}

/** Exactly so many lines. */
function padded(lines: readonly string[], height: number): string[] {
  const kept = lines.slice(0, height)
  return [...kept, ...Array.from({ length: height - kept.length }, () => '')]
}

/** The pane in front has what the others leave; where there is no room for all, it has everything. */
export function paneHeights(front: PaneName, height: number): ReadonlyMap<PaneName, number> {
  const small = leastRows + 2
  if (height < small * paneNames.length) return new Map([[front, height]])
  // A quarter of the rows for each of the others on a tall screen.
  const other = Math.max(small, Math.floor(height / 6))
  const rest = height - other * (paneNames.length - 1)
  return new Map(paneNames.map((name) => [name, name === front ? rest : other]))
}

function headerOf({ title, tables, loss, colors }: FrameInput): string[] {
  const ready = [...tables.nodes.values()].filter((node) => node.ready === 'True').length
  const counts = `${ready}/${tables.nodes.size} nodes Ready, ${tables.pods.size} pods`
  const head = styled(`skiff top  ${plain(title)}  ${counts}`, 'bold', colors)
  if (loss === undefined) return [head, styled(keysLine, 'dim', colors)]
  const text = `The cluster has not answered for ${humanDuration(loss.forMs)}: ${plain(loss.why)}`
  return [head, styled(text, 'red', colors)]
}

function detailsLines(details: DetailsView, height: number, colors: boolean): string[] {
  const { title, lines, top } = details
  const head = styled(`${plain(title)}  (escape closes)`, 'cyan', colors)
  const shown = lines.slice(top, top + height - 1).map(plain)
  return padded([head, ...shown], height)
}

/** Exactly `rows` lines. */
export function frameOf(input: FrameInput): string[] {
  const { view, rows, colors } = input
  const header = headerOf(input)
  const height = Math.max(0, rows - headerLines)
  if (view.showsHelp) return padded([...header, ...helpLines], rows)
  if (view.details !== undefined)
    return padded([...header, ...detailsLines(view.details, height, colors)], rows)
  const heights = paneHeights(view.pane, height)
  const parts = [...heights].map(([name, lines]) => paneLines({ name, input, height: lines }))
  return padded([...header, ...parts.flat()], rows)
}

/** Rows of a page of the pane in front. */
export function pageHeight(view: ViewState, rows: number): number {
  const height = Math.max(0, rows - headerLines)
  if (view.details !== undefined) return Math.max(1, height - 1)
  return Math.max(1, (paneHeights(view.pane, height).get(view.pane) ?? height) - 2)
}
