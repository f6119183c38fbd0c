/** Status lines: JSON lines on descriptor 3, for the process that started this one. */
import { fstatSync, writeSync } from 'node:fs'

/** Writes a line to descriptor 3, if the starting process handed one over. */
export function writeStatusLine(report: object): void {
  try {
    // An event loop's own descriptors have no file type; those of a pipe, socket or file have one.
    const stat = fstatSync(3)
    if (!stat.isFIFO() && !stat.isSocket() && !stat.isFile()) return
    writeSync(3, `${JSON.stringify(report)}\n`)
  } catch {
    // No descriptor 3, or its reader is gone: the starting process does not wait for this line.
  }
}
