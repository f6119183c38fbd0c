/** The screen on a terminal that only remembers: what is written, and in which mode the keyboard is. */
import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { openScreen, type ShownScreen } from '../../../console/top/top-screen.ts'
import type { ScreenKey } from '../../../console/top/view-state.ts'
import { eventually } from '../../support/eventually.ts'

function terminal() {
  const state = { written: '', isRaw: false }
  const stdout = Object.assign(new EventEmitter(), {
    isTTY: true,
    columns: 20,
    rows: 5,
    write: (text: string, ...rest: unknown[]) => {
      state.written += text
      const done = rest.at(-1)
      if (typeof done === 'function') done()
      return true
    },
  })
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => void (state.isRaw = isRaw),
    ref: () => {},
    unref: () => {},
  })
  return {
    state,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stdin: stdin as unknown as NodeJS.ReadStream,
    type: (keys: string) => void stdin.write(keys),
  }
}

const enters = '\u001b[?1049h'
const leaves = '\u001b[?1049l'

function open(more: Partial<ShownScreen> = {}) {
  const at = terminal()
  const keys: ScreenKey[] = []
  const screen = openScreen({
    stdin: at.stdin,
    stdout: at.stdout,
    draw: () => ['one', 'a line that is longer than the screen'],
    onKey: (key) => void keys.push(key),
    onChange: () => () => {},
    ...more,
  })
  return { ...at, keys, screen }
}

describe('the screen', () => {
  it('cuts lines to the width, and restores the terminal when it is closed', async () => {
    const { state, screen } = open()
    await eventually(() => expect(state.written).toContain('a line that is long'))
    expect(state.written).toContain(enters)
    expect(state.written).not.toContain('longer than')
    expect(state.isRaw).toBe(true)
    await screen.close()
    await screen.close()
    expect(state.written).toContain(leaves)
    expect(state.isRaw).toBe(false)
  })

  it('restores the terminal and rejects when drawing fails', async () => {
    const { state, screen } = open({
      draw: () => {
        throw new Error('cannot draw')
      },
    })
    await expect(screen.closed).rejects.toThrow('cannot draw')
    await screen.close()
    expect(state.isRaw).toBe(false)
    expect(state.written.lastIndexOf(leaves)).toBeGreaterThan(state.written.lastIndexOf(enters))
  })

  it('reports keys by name, and what is typed fast or pasted one character at a time', async () => {
    const { keys, screen, state, type } = open()
    await eventually(() => expect(state.isRaw).toBe(true))
    type('/we\r')
    type('\u001b[B')
    type('\u001b[Z')
    type('\u0003')
    await eventually(() => expect(keys).toHaveLength(7))
    expect(keys.map(({ name, text }) => (name === 'text' ? text : name))).toEqual([
      '/',
      'w',
      'e',
      'enter',
      'down',
      'backTab',
      'interrupt',
    ])
    await screen.close()
  })
})
