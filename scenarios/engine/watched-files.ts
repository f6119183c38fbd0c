/** Watched files: when one of them changes, is removed or comes back. */
import { statSync } from 'node:fs'
import type { Clock } from '../../components/component-base/clock.ts'

const lookEveryMs = 200

function stampOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat === undefined ? 'absent' : `${stat.ino} ${stat.mtimeMs} ${stat.size}`
}

export interface WatchedFiles {
  /** Resolves soon after a change since the files were first looked at; rejects with `signal.reason`. */
  changed(signal: AbortSignal): Promise<void>
}

/** Looks at them: editors replace files, which a watch of the system loses. */
export function watchFiles(files: readonly string[], clock: Clock): WatchedFiles {
  const stamps = files.map(stampOf)
  const isSame = (): boolean => files.every((file, index) => stampOf(file) === stamps[index])
  return {
    changed: async (signal) => {
      while (isSame()) await clock.sleep(lookEveryMs, signal)
    },
  }
}
