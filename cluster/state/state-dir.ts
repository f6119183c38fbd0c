/** State directory: all files of one cluster, readable by its owner only. The holder of its lock owns the cluster. */
import { randomUUID } from 'node:crypto'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { replaceFileNow } from '../../components/component-base/replace-file.ts'
import { ClusterError } from '../cluster-error.ts'

export const defaultClusterName = 'default'
const clustersFolder = 'clusters'

/** The paths inside one state directory. */
export interface StatePaths {
  readonly dir: string
  readonly lock: string
  /** Held by the command that is starting the cluster, until every node is Ready. */
  readonly startLock: string
  /** ClusterConfig, as JSON. */
  readonly config: string
  /** RecordedProcess[], as JSON: what to end when the supervisor cannot. */
  readonly processes: string
  readonly socket: string
  readonly pki: string
  readonly logs: string
  readonly nodes: string
  readonly store: string
  readonly adminKubeconfig: string
  /** Signs links to the cluster's console. */
  readonly consoleSecret: string
  /** There while a cluster starts from a saved one: its store may not hold that yet. Holds the path of the saved cluster. */
  readonly startsFrom: string
  /** There while another store takes the place of this one. Holds the command that finishes it. */
  readonly replacing: string
}

/** Where clusters are kept: `$XDG_STATE_HOME/skiff`, else `~/.local/state/skiff`. A relative XDG path counts as unset, as its specification says. */
export function stateRoot(environment: Readonly<Record<string, string | undefined>>): string {
  const xdg = environment['XDG_STATE_HOME']
  const base =
    xdg !== undefined && isAbsolute(xdg)
      ? xdg
      : join(environment['HOME'] ?? homedir(), '.local', 'state')
  return join(base, 'skiff')
}

/** The name becomes a folder and a kubeconfig context, so it is a DNS label. */
const clusterName = /^[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?$/

/** The paths of the cluster of that name, whether it exists or not. Throws a ClusterError for an invalid name. */
export function statePaths(root: string, name: string): StatePaths {
  if (!clusterName.test(name)) {
    throw new ClusterError('usage', `invalid cluster name "${name}"`, {
      hint: 'use at most 50 lower case letters, digits and dashes, with a letter or digit at both ends',
    })
  }
  return pathsIn(join(root, clustersFolder, name))
}

/** The state root of a cluster's state directory: the inverse of `statePaths`. */
export function stateRootOf(dir: string): string {
  return dirname(dirname(dir))
}

export function pathsIn(dir: string): StatePaths {
  return {
    dir,
    lock: join(dir, 'lock'),
    startLock: join(dir, 'start.lock'),
    config: join(dir, 'cluster.json'),
    processes: join(dir, 'processes.json'),
    socket: join(dir, 'control.sock'),
    pki: join(dir, 'pki'),
    logs: join(dir, 'logs'),
    nodes: join(dir, 'nodes'),
    store: join(dir, 'state.db'),
    adminKubeconfig: join(dir, 'kubeconfig'),
    consoleSecret: join(dir, 'console.secret'),
    startsFrom: join(dir, 'starts-from'),
    replacing: join(dir, 'replacing'),
  }
}

/** Where a component, or the supervisor, logs. */
export function logOf({ logs }: Pick<StatePaths, 'logs'>, component: string): string {
  return join(logs, `${component}.log`)
}

/** Runs a file operation; a permission error, a full disk and the like become a ClusterError that names the path. */
export function withClearErrors<T>(path: string, operation: () => T): T {
  try {
    return operation()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
      throw new ClusterError(
        'permission',
        `permission denied for the state directory ${path} (${code})`,
        {
          hint: 'give your user access to it, or set XDG_STATE_HOME to a directory of yours',
          cause: error,
        },
      )
    }
    if (code === 'ENOSPC' || code === 'EDQUOT') {
      throw new ClusterError('failed', `no space left for the state directory ${path}`, {
        hint: 'free some space, or set XDG_STATE_HOME to another disk',
        cause: error,
      })
    }
    if (code === 'ENOTDIR' || code === 'EEXIST') {
      throw new ClusterError('failed', `a part of the path ${path} is not a directory`, {
        hint: 'remove that file, or set XDG_STATE_HOME to a directory of yours',
        cause: error,
      })
    }
    throw error
  }
}

/** Returns false if it existed. */
function makeFolder(path: string): boolean {
  try {
    return mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined
  } catch (error) {
    // Of a read-only disk Node says that the folder does not exist.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new ClusterError('permission', `cannot create the state directory ${path}`, {
      hint: 'set XDG_STATE_HOME to a directory of yours on a disk that can be written',
      cause: error,
    })
  }
}

/** Creates the directory and its folders (0700); returns false if it existed. */
export function createStateDir(paths: StatePaths): boolean {
  return withClearErrors(paths.dir, () => {
    const created = makeFolder(paths.dir)
    for (const folder of [paths.pki, paths.logs, paths.nodes]) makeFolder(folder)
    return created
  })
}

/** Writes a file atomically, readable by its owner only. */
export function writePrivateFile(path: string, content: string): void {
  withClearErrors(path, () => {
    const temporary = `${path}.${process.pid}.tmp`
    try {
      writeFileSync(temporary, content, { mode: 0o600 })
      replaceFileNow(temporary, path)
    } finally {
      rmSync(temporary, { force: true })
    }
  })
}

/** The --name flag for command lines in messages; empty for the default cluster. */
export function nameFlagOf(name: string): string {
  return name === defaultClusterName ? '' : ` --name ${name}`
}

/** The hint for a cluster that cannot be repaired. */
export function removeHint({ dir }: Pick<StatePaths, 'dir'>): string {
  return `remove the cluster with: skiff down --name ${basename(dir)}`
}

/** The parsed file, or undefined if it does not exist. Throws a ClusterError for a file that is not JSON. */
export function readJsonFile<T>(path: string): T | undefined {
  let text: string
  try {
    text = withClearErrors(path, () => readFileSync(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    return JSON.parse(text) as T
  } catch (error) {
    throw new ClusterError('failed', `${path} is damaged: it is not JSON`, {
      hint: removeHint({ dir: dirname(path) }),
      cause: error,
    })
  }
}

/** Prefix of directories that are being removed; no cluster name begins with it. */
const removedPrefix = '.removed-'

/** Renames the directory in one step, so that a concurrent start does not find half of it. */
function moveAway(dir: string): string {
  const aside = join(dirname(dir), `${removedPrefix}${randomUUID()}`)
  try {
    renameSync(dir, aside)
    return aside
  } catch {
    return dir // already removed, or a mount point: it is removed file by file
  }
}

/** Removes the directory, and the folders of skiff above it if they are empty then. The caller holds the lock, and no process of the cluster is left. */
export function removeStateDir(paths: StatePaths): void {
  const remove = (path: string): void =>
    // With retries: a process that checks the lock meanwhile creates a file.
    rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 10 })
  withClearErrors(paths.dir, () => remove(moveAway(paths.dir)))
  const clusters = dirname(paths.dir)
  if (basename(clusters) !== clustersFolder) return
  try {
    // Also directories whose removal was interrupted.
    for (const entry of readdirSync(clusters))
      if (entry.startsWith(removedPrefix)) remove(join(clusters, entry))
    rmdirSync(clusters)
    rmdirSync(dirname(clusters))
  } catch {
    // Not empty: other clusters exist.
  }
}

/** Removes the files of an unfinished start, but not the locks. The caller holds both, and no process of the cluster is left. */
export function clearStateDir(paths: StatePaths): void {
  withClearErrors(paths.dir, () => {
    for (const entry of readdirSync(paths.dir)) {
      const path = join(paths.dir, entry)
      if (path !== paths.lock && path !== paths.startLock) rmSync(path, { recursive: true })
    }
  })
  createStateDir(paths)
}

/** Names of the clusters that have a state directory, sorted. */
export function listClusters(root: string): string[] {
  try {
    const folders = readdirSync(join(root, clustersFolder))
    return folders.filter((name) => clusterName.test(name)).toSorted()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    return withClearErrors(root, () => {
      throw error
    })
  }
}

export function noSuchCluster(name: string): ClusterError {
  return new ClusterError('not-found', `there is no cluster "${name}"`, {
    hint: `start it with: skiff up${nameFlagOf(name)}`,
  })
}

export function stateDirExists(paths: StatePaths): boolean {
  return withClearErrors(
    paths.dir,
    () => statSync(paths.dir, { throwIfNoEntry: false }) !== undefined,
  )
}

/** The entries of a file with a JSON list; none if it is missing or damaged: such a list only helps. */
export function readList(path: string): readonly unknown[] {
  try {
    const list = readJsonFile<unknown>(path)
    return Array.isArray(list) ? list : []
  } catch {
    return []
  }
}
