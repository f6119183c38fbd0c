/** Files that a component reads and keeps: on disk, or for an embedded cluster in memory. */
import { readFileSync, watch } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { dirname, resolve, sep } from 'node:path'
import { replaceFile } from './replace-file.ts'

/** Faults are Node's: an error with the `code` ENOENT for a missing file. */
export interface Files {
  read(path: string): Promise<string>
  readNow(path: string): string
  /** Whole or not at all, mode 0600. The folder must be there. */
  write(path: string, content: string): Promise<void>
  /** With the folders above it, mode 0700. */
  makeFolder(path: string): Promise<void>
  /** Calls `onChange` with the name of a file in the folder that has changed, as far as the system says; null: any. Throws when it cannot. */
  watch(folder: string, onChange: (name: string | null) => void): () => void
  /** The folder of the disk that a path counts against. */
  diskOf(path: string): string
}

export const diskFiles: Files = {
  read: (path) => readFile(path, 'utf8'),
  readNow: (path) => readFileSync(path, 'utf8'),
  write: async (path, content) => {
    const draft = `${path}.${randomUUID()}`
    try {
      await writeFile(draft, content, { mode: 0o600, flush: true })
      await replaceFile(draft, path)
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  },
  makeFolder: async (path) => {
    await mkdir(path, { recursive: true, mode: 0o700 })
  },
  watch: (folder, onChange) => {
    const watcher = watch(folder, { persistent: false }, (_, name) => onChange(name))
    watcher.on('error', () => {
      // Then whoever asked looks from time to time, as without a watch.
    })
    return () => watcher.close()
  },
  diskOf: (path) => path,
}

/** Files in memory below `root`; any other path is on disk. */
export interface MemoryFiles extends Files {
  /** Absolute; no folder of this name is on disk. */
  readonly root: string
  /** Path below the root, with `/` -> content. A copy: it does not change later. */
  all(): ReadonlyMap<string, string>
}

function missing(path: string): NodeJS.ErrnoException {
  const error: NodeJS.ErrnoException = new Error(
    `ENOENT: no such file or directory, open '${path}'`,
  )
  error.code = 'ENOENT'
  return error
}

/** Empty, or with the files of another. `disk`: the folder for what has to be on a disk. */
export function createMemoryFiles(
  initial?: ReadonlyMap<string, string>,
  disk: string = resolve(sep),
): MemoryFiles {
  const root = resolve(sep, 'skiff-memory')
  const held = new Map(initial)
  const watchers = new Map<string, Set<(name: string) => void>>()
  /** The path below the root; undefined for one on disk. */
  const keyOf = (path: string): string | undefined => {
    const whole = resolve(path)
    if (whole !== root && !whole.startsWith(`${root}${sep}`)) return undefined
    return whole.slice(root.length + 1).replaceAll(sep, '/')
  }
  const readNow = (path: string): string => {
    const key = keyOf(path)
    if (key === undefined) return diskFiles.readNow(path)
    const content = held.get(key)
    if (content === undefined) throw missing(path)
    return content
  }
  return {
    root,
    all: () => new Map(held),
    readNow,
    read: async (path) => (keyOf(path) === undefined ? diskFiles.read(path) : readNow(path)),
    write: async (path, content) => {
      const key = keyOf(path)
      if (key === undefined) return diskFiles.write(path, content)
      held.set(key, content)
      const name = key.slice(key.lastIndexOf('/') + 1)
      for (const onChange of watchers.get(dirname(resolve(path))) ?? []) onChange(name)
    },
    makeFolder: async (path) => {
      if (keyOf(path) === undefined) await diskFiles.makeFolder(path)
    },
    watch: (folder, onChange) => {
      if (keyOf(folder) === undefined) return diskFiles.watch(folder, onChange)
      const at = resolve(folder)
      const known = watchers.get(at) ?? new Set()
      watchers.set(at, known.add(onChange))
      return () => known.delete(onChange)
    },
    diskOf: (path) => (keyOf(path) === undefined ? path : disk),
  }
}
