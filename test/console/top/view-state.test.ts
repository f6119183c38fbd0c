/** The keys of `skiff top`. */
import { describe, expect, it } from 'vitest'
import {
  firstView,
  press,
  type ScreenKey,
  type SeenRows,
  type ViewState,
  type Wish,
} from '../../../console/top/view-state.ts'

const seen: SeenRows = { keys: ['a', 'b', 'c', 'd', 'e'], height: 2 }

/** `tab`, `down`, or what is typed between quotes: `'web'`. */
function keys(...names: readonly string[]): ScreenKey[] {
  return names.flatMap((name): ScreenKey[] => {
    const typed = /^'(.*)'$/.exec(name)?.[1]
    if (typed === undefined) return [{ name: name as ScreenKey['name'], text: '' }]
    return Array.from(typed, (text) => ({ name: 'text', text }))
  })
}

function after(from: ViewState, ...names: readonly string[]): { view: ViewState; wishes: Wish[] } {
  let view = from
  const wishes: Wish[] = []
  for (const key of keys(...names)) {
    const pressed = press(view, key, seen)
    view = pressed.view
    if (pressed.wish !== undefined) wishes.push(pressed.wish)
  }
  return { view, wishes }
}

describe('keys', () => {
  it.each([
    [['tab'], 'pods'],
    [['right', 'right'], 'requests'],
    [['backTab'], 'events'],
    [['left', 'left'], 'requests'],
    [["'4'"], 'events'],
    [["'9'"], 'nodes'],
    [['tab', 'tab', 'tab', 'tab'], 'nodes'],
  ])('%j lead to %s', (names, pane) => {
    expect(after(firstView(), ...names).view.pane).toBe(pane)
  })

  it.each([
    [['down'], 'b'],
    [["'jj'"], 'c'],
    [['pageDown', 'pageDown', 'pageDown'], 'e'],
    [['end', 'up'], 'd'],
    [['end', 'home'], undefined],
    [['down', "'k'"], undefined],
  ])('%j select the row %s', (names, selected) => {
    expect(after(firstView(), ...names).view.panes.nodes.selected).toBe(selected)
  })

  it('type a filter, and escape removes it', () => {
    const typed = after(firstView(), "'/qs1'", 'backspace', 'enter', 'down').view
    expect(typed.panes.nodes.order.filter).toBe('qs')
    expect(typed.isTyping).toBe(false)
    expect(typed.panes.pods.order.filter).toBe('')
    expect(after(typed, 'escape').view.panes.nodes.order.filter).toBe('')
    expect(after(firstView(), "'/a'", 'escape').view.panes.nodes.order.filter).toBe('')
  })

  it('bound the length of a filter', () => {
    const { view } = after(firstView(), "'/'", `'${'x'.repeat(500)}'`)
    expect(view.panes.nodes.order.filter).toHaveLength(200)
  })

  it('sort by the next column, and reverse', () => {
    const { order } = after(firstView(), "'ssr'").view.panes.nodes
    expect(order).toEqual({ filter: '', sort: 2, isReversed: true })
    expect(after(firstView(), "'sssssss'").view.panes.nodes.order.sort).toBe(0)
  })

  it('ask to quit, to be interrupted, and for details', () => {
    expect(after(firstView(), "'q'").wishes).toEqual(['quit'])
    expect(after(firstView(), "'/'", 'interrupt').wishes).toEqual(['interrupt'])
    expect(after(firstView(), 'enter').wishes).toEqual(['details'])
    expect(after(firstView(), "'/q'").wishes).toEqual([])
  })

  it('scroll details within their lines, and close them', () => {
    const details = { title: 'pods a', lines: ['1', '2', '3', '4', '5'], top: 0 }
    const open = { ...firstView(), details }
    expect(after(open, 'down').view.details?.top).toBe(1)
    expect(after(open, 'end').view.details?.top).toBe(3)
    expect(after(open, 'end', 'home').view.details?.top).toBe(0)
    expect(after(open, 'escape').view.details).toBeUndefined()
    expect(after(open, "'q'")).toMatchObject({ wishes: [], view: { details: undefined } })
  })

  it('show help until the next key', () => {
    const { view } = after(firstView(), "'?'")
    expect(view.showsHelp).toBe(true)
    expect(after(view, "'q'")).toMatchObject({ wishes: [], view: { showsHelp: false } })
  })
})
