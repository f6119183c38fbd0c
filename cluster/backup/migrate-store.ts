/** Migrating a cluster to another store: everything that a stopped cluster's store holds, put into a file or into etcd. */
import { existsSync, rmSync } from 'node:fs'
import { readSaved, SavedClusterError, savedLimits } from '../../components/store/saved-cluster.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { ClusterError } from '../cluster-error.ts'
import { readClusterConfig, writeClusterConfig } from '../plan/cluster-config.ts'
import type { ExtraFlags } from '../plan/cluster-config.ts'
import type { Programs } from '../plan/programs.ts'
import { describeStore, mayExist, storePlaceOf, targetPlace } from '../plan/store-place.ts'
import type { StorePlace, StoreTarget } from '../plan/store-place.ts'
import { startOwnEtcd } from '../saved/own-etcd.ts'
import { printedState } from '../saved/stored-state.ts'
import { noSuchCluster, stateDirExists, statePaths, writePrivateFile } from '../state/state-dir.ts'
import { fillBeside, moveStoreFiles, stampedLabel, type Where } from './fill-beside.ts'
import { holdStopped } from './hold-stopped.ts'
import { withFlags } from './restore-cluster.ts'
import { writeFeed, type Feed } from './write-feed.ts'

export interface MigrateOptions {
  readonly name: string
  readonly stateRoot: string
  readonly target: StoreTarget
  /** Of the API server: how it reaches the store. */
  readonly extraFlags: ExtraFlags
  readonly programs: Programs
  readonly clock: Clock
  readonly signal: AbortSignal
}

export interface MigratedStore {
  /** The store that the cluster has now. */
  readonly store: string
  readonly objects: number
  /** Where the former store is kept. */
  readonly former: string
}

async function feedOf(where: Where): Promise<Feed> {
  try {
    const limits = { ...savedLimits, totalBytes: Infinity }
    const { header, kvs } = await readSaved(printedState({ ...where, form: 'backup' }), limits)
    const { dialect, revision, savedAt } = header
    return await writeFeed(where.paths, { dialect, revision, savedAt }, kvs)
  } catch (error) {
    if (!(error instanceof SavedClusterError)) throw error
    throw new ClusterError('failed', `the store cannot be read: ${error.message}`, { cause: error })
  }
}

/** Fills the other store and makes the configuration name it; the former one is kept. */
async function switchStore(
  { config, paths, ...run }: Where,
  feed: Feed,
  { source, place, options }: { source: StorePlace; place: StorePlace; options: MigrateOptions },
): Promise<MigratedStore> {
  const label = stampedLabel('migration', options.clock)
  const wanted = withFlags(config, options.extraFlags)
  const filled = await fillBeside({ ...run, paths, config: wanted, target: place, feed, label })
  writePrivateFile(paths.replacing, 'skiff migrate-store')
  filled.takePlace()
  writeClusterConfig(paths, filled.config)
  rmSync(paths.replacing)
  let former = describeStore(source)
  if (source.kind === 'sqlite' && existsSync(source.path)) {
    former = `${source.path}.before-${label}`
    moveStoreFiles(source.path, former)
  }
  const store = describeStore(storePlaceOf(filled.config, paths))
  return { store, objects: feed.objects, former }
}

async function migrate(where: Where, options: MigrateOptions): Promise<MigratedStore> {
  const { config, paths } = where
  const { target } = options
  const source = storePlaceOf(config, paths)
  if (!mayExist(source)) {
    throw new ClusterError('failed', `there is no store: ${describeStore(source)}`, {
      hint: 'restore a backup: skiff restore',
    })
  }
  const place = targetPlace(target, paths)
  if (describeStore(place) === describeStore(source))
    throw new ClusterError(
      'usage',
      `cluster "${config.name}" has this store: ${describeStore(source)}`,
    )
  const feed = await feedOf(where)
  try {
    return await switchStore(where, feed, { source, place, options })
  } finally {
    feed.remove()
  }
}

/** Rejects with a ClusterError; then the cluster has the store that it had. */
export async function migrateStore(options: MigrateOptions): Promise<MigratedStore> {
  const { name, stateRoot, programs, signal } = options
  const paths = statePaths(stateRoot, name)
  const config = stateDirExists(paths) ? readClusterConfig(paths) : undefined
  if (config === undefined) throw noSuchCluster(name)
  const held = await holdStopped(paths, options)
  try {
    const etcd = await startOwnEtcd({ ...options, config, paths })
    try {
      return await migrate({ config, paths, programs, signal }, options)
    } finally {
      await etcd[Symbol.asyncDispose]()
    }
  } finally {
    held.release()
  }
}
