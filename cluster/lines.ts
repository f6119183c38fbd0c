/** Lines: reading a stream of text line by line. */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** Calls back for each line; an error of the stream is its end. Returns a promise that resolves at that end. */
export function readLines(stream: Readable, onLine: (line: string) => void): Promise<void> {
  return new Promise((resolve) => {
    stream.on('error', () => resolve())
    createInterface({ input: stream })
      .on('line', onLine)
      .on('error', () => {}) // the stream's own error, told a second time
      .on('close', resolve)
  })
}
