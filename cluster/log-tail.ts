/** Log tail: the last lines of a component's log file, read without loading the file. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const windowBytes = 64 * 1024

/** Up to `count` last lines that began at or after byte `from`, or all of a log that was emptied since; none when the file is not there. */
export function lastLines(path: string, count: number, earliest = 0): string[] {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch {
    return [] // nothing was logged yet
  }
  try {
    const end = fstatSync(file).size
    const from = earliest > end ? 0 : earliest
    if (count <= 0) return []
    for (let window = windowBytes; ; window *= 4) {
      const start = Math.max(from, end - window)
      const buffer = Buffer.alloc(end - start)
      const read = readSync(file, buffer, 0, buffer.length, start)
      const lines = buffer.toString('utf8', 0, read).split('\n')
      if (lines.at(-1) === '') lines.pop()
      if (start > from) lines.shift()
      if (lines.length >= count || start <= from) return lines.slice(-count)
    }
  } finally {
    closeSync(file)
  }
}

/** A JSON log line as people read it; any other line as it is. */
export function readableLine(line: string): string {
  if (!line.startsWith('{')) return line
  try {
    const { time, level, message, ...fields } = JSON.parse(line) as Record<string, unknown>
    if (typeof message !== 'string') return line
    const rest = Object.entries(fields).map(([name, value]) => `${name}=${readableValue(value)}`)
    const clock = typeof time === 'string' ? time.slice(11, 23) : ''
    const rank = typeof level === 'string' ? level : ''
    return [clock, rank.padEnd(5), message, ...rest].join(' ').trim()
  } catch {
    return line
  }
}

function readableValue(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'message' in value) {
    const cause = (value as { cause?: unknown }).cause
    return `${String(value.message)}${cause === undefined ? '' : `: ${readableValue(cause)}`}`
  }
  return typeof value === 'string' && !/\s/.test(value) ? value : JSON.stringify(value)
}
