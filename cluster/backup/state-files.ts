/** State files: what a backup holds of a state directory beside the store: configuration, certificates and keys. */
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { writePrivateFile } from '../state/state-dir.ts'
import type { StatePaths } from '../state/state-dir.ts'
import { BackupError } from './backup-error.ts'

export interface StateFile {
  /** Below the state directory, with slashes: `pki/ca.key`. */
  readonly path: string
  readonly text: string
}

/** A node's credential lies in its pki; its kubeconfig names it. Checkpoints and logs are no part of a backup. */
const kept =
  /^(?:cluster\.json|pki\/(?:etcd\/)?[^/]+|nodes\/(?:[^/]+\/)+pki\/.+|nodes\/(?:[^/]+\/)+kubeconfig)$/

function isKept(path: string): boolean {
  const parts = path.split('/')
  return kept.test(path) && !parts.includes('..') && !parts.includes('.') && !path.includes('\0')
}

/** In the order of their paths. Files that are being written are left out. */
export function readStateFiles(paths: StatePaths): StateFile[] {
  const found = [paths.config]
  for (const folder of [paths.pki, paths.nodes]) {
    for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
      found.push(join(folder, entry))
  }
  return found
    .map((file) => ({ file, path: relative(paths.dir, file).split(sep).join('/') }))
    .filter(({ file, path }) => {
      const isDraft = basename(path).startsWith('.') || path.endsWith('.tmp')
      if (!isKept(path) || isDraft) return false
      return statSync(file, { throwIfNoEntry: false })?.isFile() === true
    })
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
    .map(({ file, path }) => ({ path, text: readFileSync(file, 'utf8') }))
}

/** The file of a parsed line. Throws a BackupError: the path becomes one of this machine. */
export function stateFileOf(line: Readonly<Record<string, unknown>>): StateFile {
  const { path, text } = line
  if (typeof path === 'string' && typeof text === 'string' && isKept(path)) return { path, text }
  throw new BackupError(`names a file that no cluster has: ${JSON.stringify(path)}`)
}

/** Writes one below a state directory; what names its former place names this one then. */
export function writeStateFile(
  { path, text }: StateFile,
  { paths, formerDir }: { readonly paths: StatePaths; readonly formerDir: string },
): void {
  const file = join(paths.dir, ...path.split('/'))
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const isKubeconfig = basename(path) === 'kubeconfig'
  const inJson = (dir: string): string => JSON.stringify(dir).slice(1, -1)
  writePrivateFile(
    file,
    isKubeconfig ? text.replaceAll(inJson(formerDir), inJson(paths.dir)) : text,
  )
}
