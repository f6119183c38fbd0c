/**
 * TopScreen: a full-screen terminal that shows lines and reports keys, on Ink. A bundle of its own: Ink needs top-level await, which
 * programs cannot have, and nothing else pays for loading it.
 */
import { Box, render, Text, useInput, useWindowSize, type Key } from 'ink'
import { createElement, useEffect, useState, type ReactNode } from 'react'
import type { ScreenKey } from './view-state.ts'

/** Frames a second at most. */
const mostFrames = 10

export interface ShownScreen {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  /** The lines to show on so many rows. */
  readonly draw: (rows: number) => readonly string[]
  readonly onKey: (key: ScreenKey, rows: number) => void
  /** Calls back whenever there is something new to show, until the returned function is called. */
  readonly onChange: (callback: () => void) => () => void
}

export interface TopScreen {
  /** Leaves the screen and restores the terminal; idempotent. */
  close(): Promise<void>
  /** Settles when the screen is left; rejects with an error of `draw`. */
  readonly closed: Promise<unknown>
}

/** Keys that have a name, in the order in which they are looked for. */
const named: readonly (readonly [is: keyof Key, name: ScreenKey['name']])[] = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['pageUp', 'pageUp'],
  ['pageDown', 'pageDown'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'enter'],
  ['escape', 'escape'],
  ['backspace', 'backspace'],
  ['delete', 'backspace'],
]

/** Characters that are keys; fast typing and pastes come as one text. */
const characters: Readonly<Record<string, ScreenKey['name']>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\b': 'backspace',
  '\u007f': 'backspace',
  '\u0003': 'interrupt',
}

function typedKeys(text: string): ScreenKey[] {
  return Array.from(text).flatMap((character): ScreenKey[] => {
    const name = characters[character]
    if (name !== undefined) return [{ name, text: '' }]
    return character < ' ' ? [] : [{ name: 'text', text: character }]
  })
}

function keysOf(input: string, key: Key): ScreenKey[] {
  if (key.ctrl) return input === 'c' ? [{ name: 'interrupt', text: '' }] : []
  if (key.tab) return [{ name: key.shift ? 'backTab' : 'tab', text: '' }]
  const found = named.find(([is]) => key[is] === true)
  if (found !== undefined) return [{ name: found[1], text: '' }]
  return key.meta ? [] : typedKeys(input)
}

function Lines({ draw, onKey, onChange }: ShownScreen): ReactNode {
  const [, setCount] = useState(0)
  const { rows } = useWindowSize()
  // The last row stays free: a line feed there would scroll.
  const height = Math.max(1, rows - 1)
  useEffect(() => onChange(() => setCount((count) => count + 1)), [onChange])
  useInput((input, key) => {
    for (const pressed of keysOf(input, key)) onKey(pressed, height)
  })
  const lines = draw(height).map((line, index) =>
    createElement(Text, { key: index, wrap: 'truncate' }, line === '' ? ' ' : line),
  )
  return createElement(Box, { flexDirection: 'column' }, lines)
}

export function openScreen(screen: ShownScreen): TopScreen {
  const { stdin, stdout } = screen
  const app = render(createElement(Lines, screen), {
    stdin,
    stdout,
    exitOnCtrlC: false,
    patchConsole: false,
    alternateScreen: true,
    incrementalRendering: true,
    interactive: true,
    isScreenReaderEnabled: false,
    maxFps: mostFrames,
  })
  const closed = app.waitUntilExit()
  return {
    close: async () => {
      app.unmount()
      await closed.catch(() => {})
    },
    closed,
  }
}
