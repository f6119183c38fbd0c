/** Simulated terminal: the line discipline between a user's raw keys and a command that reads lines. */
import { PassThrough } from 'node:stream'
import type { Readable } from 'node:stream'

/** Output with a terminal's line breaks. */
export function withCarriageReturns(text: string | Buffer): string | Buffer {
  return typeof text === 'string' ? text.replaceAll(/\r?\n/g, '\r\n') : text
}

const keys = { interrupt: '\u0003', end: '\u0004', backspace: '\u0008', erase: '\u007f' } as const

/**
 * Turns keys into the input of a command: echoes them and passes on whole lines. Ctrl-D on an empty line ends the input; Ctrl-C
 * calls `onInterrupt`.
 */
export function lineInput(
  input: Readable,
  effects: { echo: (text: string) => void; onInterrupt: () => void },
): Readable {
  const output = new PassThrough()
  let line = ''
  const onKey = (key: string): void => {
    if (key === '\r' || key === '\n') {
      effects.echo('\r\n')
      output.write(`${line}\n`)
      line = ''
    } else if (key === keys.interrupt) {
      effects.echo('^C\r\n')
      line = ''
      effects.onInterrupt()
    } else if (key === keys.end) {
      if (line === '') output.end()
    } else if (key === keys.erase || key === keys.backspace) {
      if (line !== '') effects.echo('\b \b')
      line = line.slice(0, -1)
    } else {
      line += key
      effects.echo(key)
    }
  }
  input.setEncoding('utf8')
  input.on('data', (text: string) => {
    for (const key of text) if (!output.writableEnded) onKey(key)
  })
  input.on('error', () => {})
  input.once('close', () => output.end())
  input.once('end', () => output.end())
  return output
}
