/** ViewState: what the user has chosen to see, and how a key changes it. Pure. */
import type { PaneName } from './live-tables.ts'
import type { RowOrder } from './pane-rows.ts'
import { paneNames, paneOf } from './panes.ts'

/** A key as the screen reports it; `text` is what was typed. */
export interface ScreenKey {
  readonly name:
    | 'up'
    | 'down'
    | 'left'
    | 'right'
    | 'pageUp'
    | 'pageDown'
    | 'home'
    | 'end'
    | 'enter'
    | 'escape'
    | 'tab'
    | 'backTab'
    | 'backspace'
    | 'interrupt'
    | 'text'
  readonly text: string
}

export interface PaneState {
  readonly order: RowOrder
  /** The key of the selected row; undefined: the first one, whichever that is. */
  readonly selected: string | undefined
}

export interface DetailsView {
  readonly title: string
  readonly lines: readonly string[]
  readonly top: number
}

export interface ViewState {
  readonly pane: PaneName
  readonly panes: Readonly<Record<PaneName, PaneState>>
  /** The filter of the pane is being typed. */
  readonly isTyping: boolean
  readonly showsHelp: boolean
  readonly details: DetailsView | undefined
}

/** What a key asks for beyond the view. */
export type Wish = 'quit' | 'interrupt' | 'details'

export interface Pressed {
  readonly view: ViewState
  readonly wish?: Wish
}

/** What a key may need to know of the pane's rows. */
export interface SeenRows {
  readonly keys: readonly string[]
  /** Rows of a page. */
  readonly height: number
}

const mostFilter = 200

const paneState = (name: PaneName): PaneState => ({
  order: { filter: '', sort: paneOf(name).firstSort, isReversed: false },
  selected: undefined,
})

export function firstView(): ViewState {
  return {
    pane: 'nodes',
    panes: {
      nodes: paneState('nodes'),
      pods: paneState('pods'),
      requests: paneState('requests'),
      events: paneState('events'),
    },
    isTyping: false,
    showsHelp: false,
    details: undefined,
  }
}

function withPane(view: ViewState, change: Partial<PaneState>): ViewState {
  const { pane, panes } = view
  return { ...view, panes: { ...panes, [pane]: { ...panes[pane], ...change } } }
}

function withOrder(view: ViewState, change: Partial<RowOrder>): ViewState {
  return withPane(view, { order: { ...view.panes[view.pane].order, ...change } })
}

function turned(view: ViewState, by: 1 | -1): ViewState {
  const at = paneNames.indexOf(view.pane) + by + paneNames.length
  return { ...view, pane: paneNames[at % paneNames.length] ?? view.pane }
}

function typed(view: ViewState, { name, text }: ScreenKey): ViewState {
  const { filter } = view.panes[view.pane].order
  switch (name) {
    case 'enter':
      return { ...view, isTyping: false }
    case 'escape':
      return withOrder({ ...view, isTyping: false }, { filter: '' })
    case 'backspace':
      return withOrder(view, { filter: filter.slice(0, -1) })
    case 'text':
      return withOrder(view, { filter: `${filter}${text}`.slice(0, mostFilter) })
    default:
      return view
  }
}

/** How far a key moves; undefined for a key that does not. */
function stepOf({ name, text }: ScreenKey, height: number): number | undefined {
  if (name === 'up' || text === 'k') return -1
  if (name === 'down' || text === 'j') return 1
  if (name === 'pageUp') return -height
  if (name === 'pageDown') return height
  if (name === 'home') return -Infinity
  return name === 'end' ? Infinity : undefined
}

function moved(view: ViewState, step: number, { keys }: SeenRows): ViewState {
  const { selected } = view.panes[view.pane]
  const at = selected === undefined ? 0 : Math.max(0, keys.indexOf(selected))
  const to = Math.max(0, Math.min(keys.length - 1, at + step))
  // The first row is no row in particular: what comes new at the top is selected then.
  return withPane(view, { selected: to === 0 ? undefined : keys[to] })
}

function inDetails(
  view: ViewState,
  details: DetailsView,
  of: { key: ScreenKey; height: number },
): Pressed {
  const { key, height } = of
  const step = stepOf(key, height)
  if (step !== undefined) {
    const last = Math.max(0, details.lines.length - height)
    const top = Math.max(0, Math.min(last, details.top + step))
    return { view: { ...view, details: { ...details, top } } }
  }
  const closes = key.name === 'escape' || key.name === 'enter' || key.text === 'q'
  return { view: closes ? { ...view, details: undefined } : view }
}

function command(view: ViewState, key: ScreenKey): Pressed {
  const { order } = view.panes[view.pane]
  switch (key.text) {
    case 'q':
      return { view, wish: 'quit' }
    case '/':
      return { view: { ...view, isTyping: true } }
    case 's':
      return {
        view: withOrder(view, { sort: (order.sort + 1) % paneOf(view.pane).columns.length }),
      }
    case 'r':
      return { view: withOrder(view, { isReversed: !order.isReversed }) }
    case '?':
      return { view: { ...view, showsHelp: true } }
    default: {
      const pane = paneNames[Number(key.text) - 1]
      return { view: pane === undefined ? view : { ...view, pane } }
    }
  }
}

/** The view after a key, and what the key asks for. */
export function press(view: ViewState, key: ScreenKey, seen: SeenRows): Pressed {
  if (key.name === 'interrupt') return { view, wish: 'interrupt' }
  if (view.isTyping) return { view: typed(view, key) }
  if (view.showsHelp) return { view: { ...view, showsHelp: false } }
  if (view.details !== undefined) return inDetails(view, view.details, { key, height: seen.height })
  const step = stepOf(key, seen.height)
  if (step !== undefined) return { view: moved(view, step, seen) }
  switch (key.name) {
    case 'tab':
    case 'right':
      return { view: turned(view, 1) }
    case 'backTab':
    case 'left':
      return { view: turned(view, -1) }
    case 'enter':
      return { view, wish: 'details' }
    case 'escape':
      return { view: withOrder(view, { filter: '' }) }
    case 'text':
      return command(view, key)
    default:
      return { view }
  }
}
