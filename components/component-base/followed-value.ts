/** FollowedValue: what the files of some flags hold, parsed; read again when they change. */
import type { Clock } from './clock.ts'
import { StartError } from './component.ts'
import { readFlagFile } from './flag-file.ts'
import { openFollowedFiles } from './followed-file.ts'
import type { Files } from './files.ts'
import type { Log } from './log.ts'

export interface FollowedValue<T> {
  /** The flag that is to blame. */
  readonly flag: string
  /** The newest that was sound. */
  readonly current: T
  /** Why the newest content is not in use. */
  readonly fault: string | undefined
  /** Follows the files until `signal` aborts. What `use` throws keeps the last in use. */
  follow(
    options: { clock: Clock; log: Log; signal: AbortSignal },
    use: (next: T) => void | Promise<void>,
  ): Promise<void>
}

/** `files` are pairs of flag and path; the first flag is the one to blame. Rejects with StartError. */
export async function openFollowedValue<T>(
  files: readonly (readonly [flag: string, path: string])[],
  parse: (texts: readonly string[]) => T,
  from?: Files,
): Promise<FollowedValue<T>> {
  for (const [flag, path] of files) readFlagFile(flag, path, from)
  const flag = files[0]?.[0] ?? ''
  const file = await openFollowedFiles(
    files.map(([, path]) => path),
    from,
  )
  let current: T
  try {
    current = parse(file.initialTexts)
  } catch (error) {
    throw new StartError(`--${flag}: ${(error as Error).message}`, error)
  }
  return {
    flag,
    get current() {
      return current
    },
    get fault() {
      return file.fault
    },
    follow: (options, use) =>
      file.follow({
        ...options,
        take: async (texts) => {
          const before = current
          current = parse(texts)
          try {
            await use(current)
          } catch (error) {
            current = before
            throw error
          }
        },
      }),
  }
}
