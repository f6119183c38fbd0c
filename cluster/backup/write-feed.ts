/** Feed: what a store is filled with, as a saved cluster in the state directory, for the API server's program to read. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { keyValueOf, type SavedHeader } from '../../components/store/saved-cluster.ts'
import { writeSavedFile } from '../../components/store/saved-cluster-file.ts'
import type { KeyValue } from '../../components/store/store.ts'
import { ClusterError } from '../cluster-error.ts'
import { ownVersion } from '../own-version.ts'
import type { StatePaths } from '../state/state-dir.ts'
import { explained } from '../system-error.ts'
import { BackupError } from './backup-error.ts'
import { backupLines, type BackupFile, type CheckedBackup } from './open-backup.ts'
import { stateFileOf, type StateFile } from './state-files.ts'
import { filesPart, keyPart } from './take-backup.ts'

export interface Feed {
  readonly path: string
  readonly revision: number
  readonly objects: number
  remove(): void
}

/** Writes it, readable by the owner alone; remove it as soon as the store is filled. Rejects with a ClusterError. */
export async function writeFeed(
  paths: StatePaths,
  header: Omit<SavedHeader, 'writtenBy'>,
  kvs: AsyncIterable<KeyValue>,
): Promise<Feed> {
  const path = join(paths.dir, 'to-store.skiff')
  let objects = 0
  const counted = async function* (): AsyncGenerator<KeyValue> {
    for await (const kv of kvs) {
      objects += 1
      yield kv
    }
  }
  const whole = { ...header, writtenBy: `skiff ${ownVersion()}` }
  await explained(path, () => writeSavedFile(path, whole, counted()))
  const { revision } = header
  return { path, revision, objects, remove: () => rmSync(path, { force: true }) }
}

export interface Source {
  readonly backup: BackupFile
  readonly checked: CheckedBackup
}

/** The objects of a backup, numbered one after the other from `after` on; its files go to `files`. Throws a ClusterError. */
export async function* renumbered(
  { backup, checked }: Source,
  to: { readonly after: number; readonly files: StateFile[]; onObject(count: number): void },
): AsyncGenerator<KeyValue> {
  const { after, files, onObject } = to
  const { summary } = checked
  let count = 0
  try {
    for await (const { part, line } of backupLines(backup)) {
      if (part.startsWith(filesPart)) files.push(stateFileOf(line))
      if (!part.startsWith(keyPart)) continue
      const kv = keyValueOf(line)
      if (kv === undefined) throw new BackupError(`is damaged in ${part}: a line is no key`)
      count += 1
      onObject(count)
      yield { ...kv, createRevision: after + count, modRevision: after + count }
    }
    if (count !== summary.objects || files.length !== summary.files)
      throw new BackupError(`is damaged: it counts ${summary.objects} objects and holds ${count}`)
  } catch (error) {
    if (!(error instanceof BackupError)) throw error
    throw new ClusterError('failed', `${backup.path} ${error.message}`, { cause: error })
  }
}
