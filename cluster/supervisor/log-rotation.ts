/**
 * Log rotation: no log of a cluster grows for ever. Processes append to their files themselves, so that they can outlive the
 * process that started them; a full file is therefore copied to `FILE.1` and emptied under them, never renamed.
 */
import { closeSync, ftruncateSync, openSync, readSync, statSync, writeFileSync } from 'node:fs'
import type { Clock } from '../../components/component-base/clock.ts'

/** A log of this size is full. */
export const fullLogBytes = 10 * 1024 * 1024
/** A log can be larger by what is written in this time. */
export const rotationCheckMs = 10_000
const chunkBytes = 1024 * 1024

/** Where the lines before those in a log are; one such file is kept. */
export function olderLog(path: string): string {
  return `${path}.1`
}

/** Sets the log aside now if it is full, and whenever it is, until the returned function is called. */
export function keepLogBounded(path: string, clock: Clock): () => void {
  let cancel = (): void => {}
  const look = (): void => {
    cancel = clock.after(rotationCheckMs, look)
    try {
      if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) >= fullLogBytes) setAside(path)
    } catch {
      // A full disk, say: nothing is lost, and the next look tries again.
    }
  }
  look()
  return () => cancel()
}

function setAside(path: string): void {
  const log = openSync(path, 'r+')
  try {
    const older = openSync(olderLog(path), 'w', 0o600)
    try {
      const chunk = Buffer.alloc(chunkBytes)
      for (;;) {
        const read = readSync(log, chunk)
        if (read === 0) break
        writeFileSync(older, chunk.subarray(0, read))
      }
      // Writers append at the new end. Lines written between the last read and this are lost: some microseconds.
      ftruncateSync(log, 0)
    } finally {
      closeSync(older)
    }
  } finally {
    closeSync(log)
  }
}
