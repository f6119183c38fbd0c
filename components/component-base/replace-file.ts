/**
 * ReplaceFile: gives a file the name of another one, which it replaces. Windows refuses that while any program has the other one open, such
 * as a reader or a virus scanner; those are done within moments, so it is tried again there.
 */
import { renameSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

/** How long to wait before each further attempt: two seconds in all. */
const waitsMs = [10, 20, 50, 100, 200, 400, 500, 720]

const refusals = new Set(['EPERM', 'EACCES', 'EBUSY'])

/** What a system refuses only for a while. */
function isPassing(error: unknown, platform: NodeJS.Platform): boolean {
  return platform === 'win32' && refusals.has(String((error as NodeJS.ErrnoException).code))
}

interface Means<T> {
  readonly platform?: NodeJS.Platform
  readonly rename?: (from: string, to: string) => T
  readonly wait?: (ms: number) => T
}

/** Rejects with the system's error. */
export async function replaceFile(
  from: string,
  to: string,
  means: Means<Promise<unknown>> = {},
): Promise<void> {
  const { platform = process.platform, rename: attempt = rename, wait = delay } = means
  for (const waitMs of waitsMs) {
    try {
      await attempt(from, to)
      return
    } catch (error) {
      if (!isPassing(error, platform)) throw error
      await wait(waitMs)
    }
  }
  await attempt(from, to)
}

/** Blocks the thread. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** The same, before it returns. Throws the system's error. */
export function replaceFileNow(from: string, to: string, means: Means<unknown> = {}): void {
  const { platform = process.platform, rename: attempt = renameSync, wait = block } = means
  for (const waitMs of waitsMs) {
    try {
      attempt(from, to)
      return
    } catch (error) {
      if (!isPassing(error, platform)) throw error
      wait(waitMs)
    }
  }
  attempt(from, to)
}
