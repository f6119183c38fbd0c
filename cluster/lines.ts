/** Lines: reading a stream line by line, as text or as JSON. */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** Calls back for each line. Resolves at the end of the stream; an error of the stream is its end. */
export function readLines(stream: Readable, onLine: (line: string) => void): Promise<void> {
  return new Promise((resolve) => {
    stream.on('error', () => resolve())
    createInterface({ input: stream })
      .on('line', onLine)
      .on('error', () => {}) // the stream's own error, reported a second time
      .on('close', resolve)
  })
}

/** A JSON line that a process of the cluster writes on descriptor 3 (component-base/status-line.ts). */
export type StatusLine = Readonly<Record<string, unknown>>

/** Calls back for each JSON object and ignores other lines. Resolves at the end of the stream. */
export function readStatusLines(
  stream: Readable,
  onStatus: (status: StatusLine) => void,
): Promise<void> {
  return readLines(stream, (line) => {
    let parsed: unknown
    try {
      parsed = JSON.parse(line)
    } catch {
      return
    }
    if (typeof parsed === 'object' && parsed !== null) onStatus(parsed as StatusLine)
  })
}
