/** Waits for a line in a growing log file. */
import { watch } from 'node:fs'
import { lastLines } from '../../cluster/log-tail.ts'

/** Resolves when one of the last lines matches. Rejects with `signal.reason`. The file must exist. */
export function untilLogged(file: string, pattern: RegExp, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      if (!lastLines(file, 200).some((line) => pattern.test(line))) return
      watcher.close()
      signal.removeEventListener('abort', stop)
      resolve()
    }
    const stop = (): void => {
      watcher.close()
      reject(signal.reason as Error)
    }
    const watcher = watch(file, look)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    else look()
  })
}
