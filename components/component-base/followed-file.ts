/** FollowedFiles: files whose content is in use, and is taken again when it changes and is sound; else the last stays. */
import { basename, dirname } from 'node:path'
import { upkeepOf } from './clock.ts'
import type { Clock } from './clock.ts'
import { diskFiles } from './files.ts'
import type { Files } from './files.ts'
import type { Log } from './log.ts'

/** The files are read this often even without an event: a change is in use within this time (AUTHZ-036). */
const lookEveryMs = 60_000
/** Editors write in several steps, and a certificate comes before its key: events that come together are one change. */
const settleMs = 50

interface Following<Content> {
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  /** Called after every attempt: for metrics. */
  readonly onReload?: (outcome: 'success' | 'failure') => void
  readonly take: (content: Content) => void | Promise<void>
}

interface Followed<Content> {
  /** Why the newest content was not taken; for `/readyz`. */
  readonly fault: string | undefined
  /** Calls `take` with each new content until `signal` aborts. What it throws keeps the last in use. */
  follow(options: Following<Content>): Promise<void>
}

/** Files that belong together, as a certificate and its key do: a change of one is a change of all. */
export interface FollowedFiles extends Followed<readonly string[]> {
  /** The contents at start, in the order of the paths. */
  readonly initialTexts: readonly string[]
}

export interface FollowedFile extends Followed<string> {
  readonly path: string
  /** The content at start. */
  readonly initialText: string
}

/** Calls `wake` when one of the files changes, as far as the system reports it. */
function watchFiles(files: Files, paths: readonly string[], wake: () => void): () => void {
  const folders = new Set(paths.map((path) => dirname(path)))
  const names = new Set(paths.map((path) => basename(path)))
  const unwatch = [...folders].flatMap((folder) => {
    try {
      // The folder, not the file: a new file is often moved over the old one.
      return [
        files.watch(folder, (name) => {
          if (name === null || names.has(name) || name === '..data') wake()
        }),
      ]
    } catch {
      // The system has no more watches to give, or the folder is away: the regular look is all there is, too.
      return []
    }
  })
  return () => {
    for (const end of unwatch) end()
  }
}

const areSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.every((text, at) => text === other[at])

/** Also resolves when the signal aborts, which the caller looks at. */
const untilSlept = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  upkeepOf(clock)
    .sleep(ms, signal)
    .catch(() => {})

/** Reads the files; rejects when one cannot be read. */
export async function openFollowedFiles(
  paths: readonly string[],
  files = diskFiles,
): Promise<FollowedFiles> {
  const read = () => Promise.all(paths.map((path) => files.read(path)))
  const initialTexts = await read()
  let fault: string | undefined
  return {
    initialTexts,
    get fault() {
      return fault
    },
    async follow({ clock, log, signal, onReload, take }) {
      const path = paths.join()
      let seen = initialTexts
      let used = initialTexts
      const look = async (): Promise<void> => {
        try {
          const texts = await read()
          // What is in use again, or can be read again, has nothing wrong with it.
          if (areSame(texts, used)) fault = undefined
          if (areSame(texts, used) || areSame(texts, seen)) {
            seen = texts
            return
          }
          seen = texts
          await take(texts)
          used = texts
          fault = undefined
          onReload?.('success')
          log.info('configuration reloaded', { path })
        } catch (error) {
          // The caller that aborted this may have removed the files meanwhile.
          if (signal.aborted) return
          const why = (error as Error).message
          if (why !== fault) {
            log.error('configuration cannot be reloaded; the last one stays in use', { path, why })
            onReload?.('failure')
          }
          fault = why
        }
      }
      let changed = Promise.withResolvers<void>()
      const unwatch = watchFiles(files, paths, () => changed.resolve())
      try {
        while (!signal.aborted) {
          const waiting = new AbortController()
          const ended = AbortSignal.any([signal, waiting.signal])
          const slept = untilSlept(clock, lookEveryMs - settleMs, ended)
          await Promise.race([changed.promise, slept])
          waiting.abort()
          if (signal.aborted) return
          // A change from here on may come too late for this look.
          changed = Promise.withResolvers()
          await untilSlept(clock, settleMs, signal)
          if (!signal.aborted) await look()
        }
      } finally {
        unwatch()
      }
    },
  }
}

/** Reads the file; rejects when it cannot be read. */
export async function openFollowedFile(path: string): Promise<FollowedFile> {
  const files = await openFollowedFiles([path])
  return {
    path,
    initialText: files.initialTexts[0] ?? '',
    get fault() {
      return files.fault
    },
    follow: ({ take, ...options }) =>
      files.follow({ ...options, take: ([content = '']) => take(content) }),
  }
}
