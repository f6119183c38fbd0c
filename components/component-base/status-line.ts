/** Status lines: JSON lines on descriptor 3, for the process that started this one. */
import { fstatSync, writeSync } from 'node:fs'

const typeMask = 0o170000
const pipe = 0o010000
const socket = 0o140000
const regular = 0o100000

/**
 * Whether the starting process can have handed over a descriptor of this mode. An event loop's own descriptors have no file type. The bits
 * are compared, since `isFIFO` and `isSocket` of Node are false on Windows whatever the descriptor.
 */
export function isHandedOver(mode: number): boolean {
  return [pipe, socket, regular].includes(mode & typeMask)
}

/** Whether commands can come over a descriptor of this mode. On Windows a channel is a named pipe, which goes both ways. */
export function isTwoWay(mode: number, platform = process.platform): boolean {
  return (mode & typeMask) === (platform === 'win32' ? pipe : socket)
}

/** Writes a line to descriptor 3, if the starting process handed one over. */
export function writeStatusLine(report: object): void {
  try {
    if (!isHandedOver(fstatSync(3).mode)) return
    writeSync(3, `${JSON.stringify(report)}\n`)
  } catch {
    // No descriptor 3, or its reader is gone: the starting process does not wait for this line.
  }
}
