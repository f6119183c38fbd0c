/** CommandChannel: commands as JSON lines on descriptor 3, from the process that started this one, and the replies to them. */
import { fstatSync } from 'node:fs'
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { UnknownCommandError } from './commands.ts'
import type { Commands } from './commands.ts'
import { messageOf } from './log.ts'
import { isTwoWay, writeStatusLine } from './status-line.ts'

/** A line to a component. */
export interface CommandLine {
  readonly command: string
  readonly id: number
  readonly params: unknown
}

/** A line back. */
export type ReplyLine = { readonly reply: number } & (
  { readonly result: unknown } | { readonly error: string; readonly isUnknown: boolean }
)

function canListen(): boolean {
  try {
    return isTwoWay(fstatSync(3).mode)
  } catch {
    return false // no descriptor 3
  }
}

async function answer(commands: Commands, line: string): Promise<void> {
  const { command, id, params } = JSON.parse(line) as CommandLine
  try {
    writeStatusLine({ reply: id, result: (await commands.call(command, params)) ?? null })
  } catch (error) {
    const isUnknown = error instanceof UnknownCommandError
    writeStatusLine({ reply: id, error: messageOf(error), isUnknown })
  }
}

/**
 * Answers commands for as long as the process runs; the channel does not keep it alive. False without a channel: no command comes.
 * `onEnd` is called when the starting process is gone.
 */
export function serveCommands(commands: Commands, onEnd: () => void): boolean {
  if (!canListen()) return false
  const socket = new Socket({ fd: 3, readable: true, writable: false })
  socket.on('error', () => {}) // the starting process is gone: no further commands
  createInterface({ input: socket })
    .on('line', (line) => void answer(commands, line))
    .on('error', () => {})
    .on('close', onEnd)
  socket.unref()
  return true
}
