/** state: the stores, the watch caches over them, and the expiry of Events. */
import { StartError } from '../../component-base/component.ts'
import { Expiry, expiringStore } from '../../store/expiry.ts'
import { measuredStore, storeMetrics } from '../../store/measured-store.ts'
import { savedLimits } from '../../store/saved-cluster.ts'
import type { Store } from '../../store/store.ts'
import { expireEvents } from '../controllers/expire-events.ts'
import { faultyStore } from '../faults/faulty-store.ts'
import type { EncryptionFile } from '../encryption/encryption-file.ts'
import type { StorageTransformers } from '../encryption/transformer.ts'
import type { ObjectStore } from '../registry/stored-objects.ts'
import { createStoredUpgrade } from '../registry/stored-upgrade.ts'
import type { Caches } from '../watch-cache/caches.ts'
import { SplitCache } from '../watch-cache/split-cache.ts'
import { splitStoreKey } from '../watch-cache/store-keys.ts'
import { WatchCache } from '../watch-cache/watch-cache.ts'
import type { EtcdFiles } from './etcd-files.ts'
import { refuseOverridesWith } from './etcd-overrides.ts'
import { encryptionOf } from './flag-files.ts'
import { openStorage, storedFormsOf, type OverrideStore } from './open-storage.ts'
import { declareCacheMetrics, storedTypes } from './server-metrics.ts'
import type { Settings } from './settings.ts'

export interface State {
  /** What is no object lies here, and every object whose resource has no etcd of its own. */
  readonly store: Store
  /** The stores of --etcd-servers-overrides. */
  readonly overrides: readonly OverrideStore[]
  /** Every object, wherever it lies. */
  readonly objects: ObjectStore
  /** Of the store on etcd; undefined for a store that was given. */
  readonly storeFiles: EtcdFiles | undefined
  readonly cache: Caches
  readonly expiry: Expiry
  /** Undefined without --encryption-provider-config. */
  readonly encrypted: EncryptionFile | undefined
  /** The form of everything in the store. */
  readonly transformers: StorageTransformers
  /** Ends with the watch caches. Rejects when one can no longer follow its store. */
  readonly following: Promise<void>
}

/** What takes the place of --store. */
export interface GivenStore {
  readonly store: Store
  /** All that is in it was written by this process, as objects: nothing looks whether it can be read. */
  readonly isProven: boolean
}

/** What the image holds is as these flags would have it, and not encrypted. */
function checkBaseImage({ options, dialect }: Settings): void {
  if (dialect.name !== 'kubernetes')
    throw new StartError(`--base-image is of the dialect kubernetes, not of ${dialect.name}`)
  for (const needed of ['client-ca-file', 'requestheader-client-ca-file'] as const)
    if ((options[needed] ?? '') === '') throw new StartError(`--base-image needs --${needed}`)
  for (const other of ['encryption-provider-config', 'initial-state'] as const)
    if ((options[other] ?? '') !== '')
      throw new StartError(`--base-image and --${other} do not go together`)
}

async function fillWithBase(store: Store, path: string, settings: Settings): Promise<void> {
  const { options, clock, files } = settings
  const { fillFromBase } = await import('../saving/base-image.ts')
  try {
    checkBaseImage(settings)
    const paths = [path, options['client-ca-file'], options['requestheader-client-ca-file']]
    const [text = '', authority = '', frontProxyAuthority = ''] = await Promise.all(
      paths.map((one) => files.read(one ?? '')),
    )
    await fillFromBase(store, text, { clock, authority, frontProxyAuthority })
  } catch (error) {
    await store.close()
    const isTold =
      error instanceof TypeError || (error as NodeJS.ErrnoException).syscall !== undefined
    if (!isTold) throw error
    throw new StartError(`--base-image: ${path} cannot be used: ${(error as Error).message}`, error)
  }
}

async function fillInitially(
  store: Store,
  settings: Settings,
  transformers: StorageTransformers,
): Promise<void> {
  const { options, dialect } = settings
  const base = options['base-image'] ?? ''
  if (base !== '') await fillWithBase(store, base, settings)
  const initial = options['initial-state'] ?? ''
  if (initial === '') return
  const { fillStore } = await import('../saving/initial-state.ts')
  await fillStore(store, initial, {
    dialect,
    transformers,
    // What a store was backed up from may be as large as its quota allows.
    ...(options['initial-state-only'] && { limits: { ...savedLimits, totalBytes: Infinity } }),
  })
}

/** Opens the store, fills it with --initial-state and closes it (--initial-state-only): for `skiff restore`. */
export async function storeInitialState(settings: Settings): Promise<void> {
  if ((settings.options['initial-state'] ?? '') === '')
    throw new StartError('--initial-state-only needs --initial-state')
  refuseOverridesWith(settings.options, 'initial-state')
  const encrypted = await encryptionOf(settings)
  try {
    const { store } = await openStorage(settings)
    await fillInitially(store, settings, storedFormsOf(settings, encrypted))
    await store.close()
  } finally {
    encrypted?.encryption.close()
  }
}

/** Reads and writes each object in the store that holds its resource. */
function objectsOf(store: Store, overrides: readonly OverrideStore[]): ObjectStore {
  if (overrides.length === 0) return store
  const byPrefix = new Map(
    overrides.flatMap((own) => Array.from(own.storagePrefixes, (prefix) => [prefix, own.store])),
  )
  const storeOf = (key: string): Store => byPrefix.get(splitStoreKey(key)?.prefix ?? '') ?? store
  return {
    get: (key) => storeOf(key).get(key),
    txn: (txn) => storeOf(txn.key).txn(txn),
  }
}

type NewCache = (store: Store, takes?: (storagePrefix: string) => boolean) => WatchCache

/** Starts a cache on each store. */
async function startCaches(
  { store, overrides }: Pick<State, 'store' | 'overrides'>,
  { create, signal }: { create: NewCache; signal: AbortSignal },
): Promise<Pick<State, 'cache' | 'following'>> {
  if (overrides.length === 0) {
    const cache = create(store)
    const { run: following } = await cache.start(signal)
    return { cache, following }
  }
  const isElsewhere = (prefix: string): boolean =>
    overrides.some(({ storagePrefixes }) => storagePrefixes.has(prefix))
  const rest = create(store, (prefix) => !isElsewhere(prefix))
  const own = overrides.map(({ store: one, storagePrefixes }) => ({
    cache: create(one, (prefix) => storagePrefixes.has(prefix)),
    storagePrefixes,
  }))
  const all = [rest, ...own.map(({ cache }) => cache)]
  const started = await Promise.all(all.map((cache) => cache.start(signal)))
  const following = Promise.all(started.map(({ run }) => run)).then(() => {})
  return { cache: new SplitCache(rest, own), following }
}

/** Opens the stores and fills the watch caches, which follow them until `signal` aborts. */
export async function openState(
  settings: Settings,
  signal: AbortSignal,
  given?: GivenStore,
): Promise<State> {
  const { options, clock, log, dialect, resources, metrics, faults } = settings
  refuseOverridesWith(options, 'initial-state')
  const encrypted = await encryptionOf(settings)
  const { storeFiles, ...opened } =
    given === undefined
      ? await openStorage(settings)
      : { store: given.store, overrides: [], storeFiles: undefined }
  const transformers = storedFormsOf(settings, encrypted)
  const how = { metrics: storeMetrics(metrics), clock, typeOf: storedTypes(resources.all) }
  const measured = measuredStore(faultyStore(opened.store, faults, clock), how)
  const overrides = opened.overrides.map(({ store: own, storagePrefixes }) => ({
    store: measuredStore(faultyStore(own, faults, clock), how),
    storagePrefixes,
  }))
  const expiry = new Expiry({ store: objectsOf(measured, overrides), clock, log })
  const store = measured.isShared ? measured : expiringStore(measured, expiry, clock)
  await fillInitially(store, settings, transformers)
  const more = {
    clock,
    log,
    historyBytes: options['watch-history-bytes'],
    transformers,
    upgrade: createStoredUpgrade(resources, dialect),
    isProven: given?.isProven ?? false,
  }
  const stores = { store, overrides }
  const create: NewCache = (one, takes) => new WatchCache({ ...more, store: one, takes })
  const { cache, following } = await startCaches(stores, { create, signal })
  expireEvents({ expiry, cache, events: resources.events, ttlMs: options['event-ttl'], clock })
  if (options['etcd-count-metric-poll-period'] > 0)
    declareCacheMetrics(metrics, cache, resources.all)
  const objects = objectsOf(store, overrides)
  const made = { ...stores, objects, cache, following, expiry, encrypted, transformers }
  return { ...made, storeFiles }
}

/** Closes every store. */
export async function closeStores({ store, overrides }: State): Promise<void> {
  await Promise.all([store, ...overrides.map(({ store: own }) => own)].map((one) => one.close()))
}
