/** Taking a backup: everything that a cluster's store holds at one revision, and the files that its processes start with. */
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { readSaved, SavedClusterError, savedLimits } from '../../components/store/saved-cluster.ts'
import { keyLine, type SavedHeader, type SavedKey } from '../../components/store/saved-cluster.ts'
import { writeWholeFile } from '../../components/store/whole-file.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { ClusterError } from '../cluster-error.ts'
import { readClusterConfig, type ClusterConfig } from '../plan/cluster-config.ts'
import type { Programs } from '../plan/programs.ts'
import { openStoredState, type StoredState } from '../saved/stored-state.ts'
import { nameFlagOf, noSuchCluster, stateDirExists, statePaths } from '../state/state-dir.ts'
import type { StatePaths } from '../state/state-dir.ts'
import { explained } from '../system-error.ts'
import type { Member } from './archive.ts'
import { manifestPart, summaryPart } from './manifest.ts'
import { backupBytes, lineParts, type NamedLine } from './parts.ts'
import { sealed, type SealTo } from './seal.ts'
import { readStateFiles } from './state-files.ts'

export interface TakeBackupOptions {
  readonly name: string
  readonly stateRoot: string
  readonly file: string
  /** Replaces a file that is there. */
  readonly force: boolean
  readonly sealTo: SealTo | undefined
  readonly programs: Programs
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called now and then with the number of objects so far. */
  readonly onProgress: (objects: number) => void
}

export interface TakenBackup {
  readonly file: string
  readonly revision: number
  readonly takenAt: string
  readonly objects: number
  readonly files: number
  readonly bytes: number
  readonly encrypted: boolean
  /** Where it was read: from the API server, or from the store of a stopped cluster. */
  readonly from: StoredState['from']
}

const reportEvery = 500
export const keyPart = 'objects/'
export const filesPart = 'files'

/** What belongs to no resource is the API server's own. */
const ofServer = 'server'

class Counts {
  readonly resources: Record<string, number> = {}
  objects = 0
  files = 0

  add(resource: string): void {
    this.resources[resource] = (this.resources[resource] ?? 0) + 1
    this.objects += 1
  }
}

interface Content {
  readonly header: SavedHeader
  readonly kvs: AsyncIterable<SavedKey>
  readonly config: ClusterConfig
  readonly paths: StatePaths
  readonly onProgress: TakeBackupOptions['onProgress']
}

async function* contentLines(content: Content, counts: Counts): AsyncGenerator<NamedLine> {
  for await (const kv of content.kvs) {
    const { resource = ofServer } = kv
    counts.add(resource)
    if (counts.objects % reportEvery === 0) content.onProgress(counts.objects)
    yield { part: `${keyPart}${resource.replaceAll('/', '.')}`, line: keyLine(kv) }
  }
  // After the objects: a node that joined meanwhile has a credential that is valid, and registers again.
  for (const line of readStateFiles(content.paths)) {
    counts.files += 1
    yield { part: filesPart, line }
  }
}

async function* partsOf(content: Content, counts: Counts): AsyncGenerator<Member> {
  const { header, config, paths } = content
  yield manifestPart({
    cluster: config.name,
    caHash: config.caHash,
    stateDir: paths.dir,
    dialect: config.dialect,
    revision: header.revision,
    takenAt: header.savedAt,
  })
  yield* lineParts(contentLines(content, counts))
  const { resources, objects, files } = counts
  yield summaryPart({ resources, objects, files })
}

function checkTarget(file: string, force: boolean): void {
  if (!existsSync(file)) return
  if (!statSync(file).isFile())
    throw new ClusterError('failed', `${file} is not a file: choose another path`)
  if (!force) {
    throw new ClusterError('already-exists', `${file} exists`, {
      hint: 'choose another file, or replace it with --force',
    })
  }
}

async function write(
  state: StoredState,
  from: Omit<Content, 'header' | 'kvs'>,
  { file, force, sealTo }: Pick<TakeBackupOptions, 'file' | 'force' | 'sealTo'>,
): Promise<Omit<TakenBackup, 'file' | 'from'>> {
  const { header, kvs } = await readSaved(state.chunks, { ...savedLimits, totalBytes: Infinity })
  if (header.form !== 'backup') {
    throw new ClusterError('failed', 'the API server is of a release that cannot be backed up', {
      hint: `restart it with this release: skiff restart api-server${nameFlagOf(from.config.name)}`,
    })
  }
  const counts = new Counts()
  const plain = backupBytes(partsOf({ ...from, header, kvs }, counts))
  const chunks = sealTo === undefined ? plain : sealed(plain, sealTo)
  const { bytes } = await explained(file, async () => {
    checkTarget(file, force)
    return await writeWholeFile(file, chunks)
  })
  const { objects, files } = counts
  const { revision, savedAt: takenAt } = header
  return { revision, takenAt, objects, files, bytes, encrypted: sealTo !== undefined }
}

/** Rejects with a ClusterError; then there is no file, or the one from before. */
export async function takeBackup(options: TakeBackupOptions): Promise<TakenBackup> {
  const { name, onProgress } = options
  const paths = statePaths(options.stateRoot, name)
  const config = stateDirExists(paths) ? readClusterConfig(paths) : undefined
  if (config === undefined) throw noSuchCluster(name)
  const file = resolve(options.file)
  checkTarget(file, options.force)
  const state = await openStoredState({ ...options, config, paths, form: 'backup' })
  try {
    const written = await write(state, { config, paths, onProgress }, { ...options, file })
    return { file, ...written, from: state.from }
  } catch (error) {
    if (!(error instanceof SavedClusterError)) throw error
    throw new ClusterError('failed', `cannot back up the cluster: ${error.message}`, {
      cause: error,
    })
  } finally {
    await state[Symbol.asyncDispose]()
  }
}
