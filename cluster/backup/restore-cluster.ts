/** Restoring a cluster from a backup: as a new one with the keys of the former one, or in place of a lost or damaged store. */
import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Clock } from '../../components/component-base/clock.ts'
import { environment } from '../../components/component-base/environment.ts'
import { ClusterError } from '../cluster-error.ts'
import {
  parseClusterConfig,
  readClusterConfig,
  urlHost,
  writeClusterConfig,
} from '../plan/cluster-config.ts'
import type { ClusterConfig, ExtraFlags } from '../plan/cluster-config.ts'
import { findEtcd } from '../plan/find-etcd.ts'
import { writeAdminKubeconfig } from '../plan/prepare.ts'
import type { Programs } from '../plan/programs.ts'
import { describeStore, storePlaceOf, targetPlace, type StoreTarget } from '../plan/store-place.ts'
import { startOwnEtcd } from '../saved/own-etcd.ts'
import { checkPki, readAuthorityPem, readCheckedCredential } from '../state/check-pki.ts'
import { createStateDir, nameFlagOf, removeStateDir } from '../state/state-dir.ts'
import { stateDirExists, statePaths, writePrivateFile } from '../state/state-dir.ts'
import type { StatePaths } from '../state/state-dir.ts'
import { fillBeside, stampedLabel } from './fill-beside.ts'
import { holdStopped } from './hold-stopped.ts'
import { numbersAfter } from './new-numbers.ts'
import { checkBackup } from './open-backup.ts'
import type { SealKeys } from './seal.ts'
import { writeStateFile, type StateFile } from './state-files.ts'
import { renumbered, writeFeed, type Feed, type Source } from './write-feed.ts'

export interface RestoreOptions {
  readonly name: string
  readonly stateRoot: string
  readonly file: string
  readonly keys: SealKeys
  /** Puts the backup in place of what a stopped cluster holds. */
  readonly force: boolean
  /** Default: the store that the cluster had. */
  readonly target: StoreTarget | undefined
  /** Of the API server: how it reaches the store. */
  readonly extraFlags: ExtraFlags
  readonly programs: Programs
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called now and then with the number of objects so far. */
  readonly onProgress: (objects: number) => void
}

export interface RestoredCluster {
  readonly file: string
  readonly objects: number
  readonly takenAt: string
  /** The revision in the backup, and the one that the restored cluster begins with. */
  readonly from: number
  readonly revision: number
  /** Whether nothing was there before. */
  readonly isNew: boolean
  /** Where the former store is kept. */
  readonly former?: string | undefined
}

const reportEvery = 500

interface Target {
  readonly config: ClusterConfig
  readonly paths: StatePaths
}

/** Reads the backup once more: the objects into a feed, under their new numbers, and the files into memory. */
async function readContents(
  source: Source,
  paths: StatePaths,
  { clock, signal, onProgress }: RestoreOptions,
): Promise<{ feed: Feed; files: readonly StateFile[] }> {
  const { manifest, summary } = source.checked
  const after = numbersAfter({ revision: manifest.revision, nowMs: clock.now() })
  const files: StateFile[] = []
  const onObject = (count: number): void => {
    signal.throwIfAborted()
    if (count % reportEvery === 0) onProgress(count)
  }
  const { dialect, takenAt: savedAt } = manifest
  const header = { dialect, revision: after + summary.objects, savedAt }
  const feed = await writeFeed(paths, header, renumbered(source, { after, files, onObject }))
  return { feed, files }
}

/** Stores what the feed holds, and makes the cluster's configuration name the store. */
async function restoreStore(
  feed: Feed,
  { config, paths }: Target,
  options: RestoreOptions,
): Promise<string | undefined> {
  const { clock, target } = options
  const place = target === undefined ? storePlaceOf(config, paths) : targetPlace(target, paths)
  const label = stampedLabel('restore', clock)
  const isOwn = describeStore(place) === describeStore(storePlaceOf(config, paths))
  const etcd = isOwn ? await startOwnEtcd({ ...options, config, paths }) : undefined
  try {
    const filled = await fillBeside({ ...options, config, paths, target: place, feed, label })
    writePrivateFile(paths.replacing, 'skiff restore')
    const former = filled.takePlace()
    writeClusterConfig(paths, filled.config)
    rmSync(paths.replacing)
    return former
  } finally {
    await etcd?.[Symbol.asyncDispose]()
  }
}

/** Writes what a cluster with these keys starts with; its configuration comes last of all, with its store. */
async function restoreFiles(
  files: readonly StateFile[],
  { paths, formerDir }: { readonly paths: StatePaths; readonly formerDir: string },
  { name, file, clock, extraFlags, target }: RestoreOptions,
): Promise<ClusterConfig> {
  const stored = files.find(({ path }) => path === 'cluster.json')
  const found = stored && parseClusterConfig(stored.text)
  if (found === undefined)
    throw new ClusterError('failed', `${file} holds no configuration of a cluster`)
  for (const one of files) if (one !== stored) writeStateFile(one, { paths, formerDir })
  // Its processes are told from those of the former cluster, which may still run.
  const own = { ...found, name, id: clock.uuid() }
  const config = withFlags(target === undefined ? await onThisMachine(own) : own, extraFlags)
  const authorityPem = readAuthorityPem(paths)
  const credential = readCheckedCredential(paths, 'admin')
  await writeAdminKubeconfig({ config, paths }, { authorityPem, credential })
  await checkPki(paths, clock.now())
  return config
}

/** With the etcd that is installed here, where the cluster runs members of its own. */
async function onThisMachine(config: ClusterConfig): Promise<ClusterConfig> {
  const { etcd } = config
  if (etcd?.own === undefined) return config
  const binary = await findEtcd(undefined, environment)
  const { members } = etcd.own
  // Other machines are of the former cluster, which may still run.
  const peers = config.peers === undefined ? {} : { peers: [] }
  const servers = members.map(
    ({ clientPort }) => `https://${urlHost(config.address)}:${clientPort}`,
  )
  return { ...config, ...peers, etcd: { servers, own: { binary, members } } }
}

/** The configuration with these flags of the API server. */
export function withFlags(
  config: ClusterConfig,
  { 'api-server': more }: ExtraFlags,
): ClusterConfig {
  const server = { ...config.extraFlags['api-server'], ...more }
  return { ...config, extraFlags: { ...config.extraFlags, 'api-server': server } }
}

type Restored = Pick<RestoredCluster, 'former' | 'revision' | 'objects'>

async function restoreNew(
  source: Source,
  paths: StatePaths,
  options: RestoreOptions,
): Promise<Restored> {
  const wasMade = createStateDir(paths)
  const held = await holdStopped(paths, options)
  if (!wasMade) {
    held.release()
    throw new ClusterError('already-exists', `cluster "${options.name}" came into being meanwhile`)
  }
  try {
    // Until the end nothing may start here.
    writePrivateFile(paths.replacing, 'skiff restore')
    const { feed, files } = await readContents(source, paths, options)
    const formerDir = source.checked.manifest.stateDir
    const config = await restoreFiles(files, { paths, formerDir }, options)
    const former = await restoreStore(feed, { config, paths }, options)
    feed.remove()
    held.release()
    return { former, revision: feed.revision, objects: feed.objects }
  } catch (error) {
    removeStateDir(paths)
    throw error
  }
}

/** Throws a ClusterError unless the backup may take the place of what the cluster holds. */
function checkPlace(
  { backup, checked }: Source,
  config: ClusterConfig,
  { name, force }: RestoreOptions,
): void {
  if (checked.manifest.caHash !== config.caHash) {
    throw new ClusterError(
      'failed',
      `${backup.path} is a backup of another cluster: its CA is not that of "${name}"`,
      {
        hint: `restore it under another --name, or delete this cluster first: skiff down${nameFlagOf(name)}`,
      },
    )
  }
  if (!force) {
    throw new ClusterError('already-exists', `cluster "${name}" exists`, {
      hint: 'put the backup in place of its store with --force; the store is kept',
    })
  }
}

async function restoreInPlace(
  source: Source,
  { config, paths }: Target,
  options: RestoreOptions,
): Promise<Restored> {
  const held = await holdStopped(paths, options)
  try {
    checkPlace(source, config, options)
    const { feed } = await readContents(source, paths, options)
    try {
      const wanted = withFlags(config, options.extraFlags)
      const former = await restoreStore(feed, { config: wanted, paths }, options)
      return { former, revision: feed.revision, objects: feed.objects }
    } finally {
      feed.remove()
    }
  } finally {
    held.release()
  }
}

/** Rejects with a ClusterError; then a new cluster is not there, and an existing one has what it had. */
export async function restoreCluster(options: RestoreOptions): Promise<RestoredCluster> {
  const { name, stateRoot, keys } = options
  const paths = statePaths(stateRoot, name)
  const backup = { path: resolve(options.file), keys }
  const checked = await checkBackup(backup)
  const isThere = stateDirExists(paths)
  const config = isThere ? readClusterConfig(paths) : undefined
  if (isThere && config === undefined) {
    throw new ClusterError('already-exists', `${paths.dir} exists, and holds no cluster`, {
      hint: `remove it with: skiff down${nameFlagOf(name)}`,
    })
  }
  const source = { backup, checked }
  const restored =
    config === undefined
      ? await restoreNew(source, paths, options)
      : await restoreInPlace(source, { config, paths }, options)
  const { revision: from, takenAt } = checked.manifest
  return { file: backup.path, ...restored, from, takenAt, isNew: config === undefined }
}
