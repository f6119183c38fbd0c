/** Folder watch: whether a folder is still the one it was, by its inode: removed, moved or replaced, it is gone. */
import { statSync } from 'node:fs'
import type { Clock } from '../../components/component-base/clock.ts'

export interface FolderWatch {
  isThere(): boolean
  /** Resolves within a second after the folder has gone; rejects with `signal.reason`. */
  gone(signal: AbortSignal): Promise<void>
}

const lookEveryMs = 500

/** Another folder in its place, made from a copy say, has another inode on the same device. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Any other trouble, such as a network file system that is away, will pass.
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}

/** Looks twice a second: a watch by the operating system does not tell of a folder above that was removed or moved. */
export function watchFolder(path: string, clock: Clock): FolderWatch {
  const own = identityOf(path)
  const isThere = (): boolean => {
    try {
      return identityOf(path) === own
    } catch {
      return true // it cannot be looked at now, which says nothing
    }
  }
  return {
    isThere,
    gone: async (signal) => {
      while (isThere()) await clock.sleep(lookEveryMs, signal)
    },
  }
}
