/** state: the store, the watch cache over it, and the expiry of Events. */
import { StartError } from '../../component-base/component.ts'
import { Expiry, expiringStore } from '../../store/expiry.ts'
import { measuredStore } from '../../store/measured-store.ts'
import { savedLimits } from '../../store/saved-cluster.ts'
import type { Store } from '../../store/store.ts'
import { expireEvents } from '../controllers/expire-events.ts'
import type { EncryptionFile } from '../encryption/encryption-file.ts'
import type { StorageTransformers } from '../encryption/transformer.ts'
import { createStoredUpgrade } from '../registry/stored-upgrade.ts'
import { WatchCache } from '../watch-cache/watch-cache.ts'
import type { EtcdCertificates } from './etcd-certificates.ts'
import { encryptionOf } from './flag-files.ts'
import { openStorage, storedFormsOf } from './open-storage.ts'
import { declareCacheMetrics, storedTypes } from './server-metrics.ts'
import type { Settings } from './settings.ts'

export interface State {
  readonly store: Store
  /** Of the store on etcd; undefined for a store that was given. */
  readonly storeCertificates: EtcdCertificates | undefined
  readonly cache: WatchCache
  readonly expiry: Expiry
  /** Undefined without --encryption-provider-config. */
  readonly encrypted: EncryptionFile | undefined
  /** The form of everything in the store. */
  readonly transformers: StorageTransformers
  /** Ends with the watch cache. Rejects when the cache can no longer follow the store. */
  readonly following: Promise<void>
}

/** What takes the place of --store. */
export interface GivenStore {
  readonly store: Store
  /** All that is in it was written by this process, as objects: nothing looks whether it can be read. */
  readonly isProven: boolean
}

async function fillInitially(
  store: Store,
  { options, dialect }: Settings,
  transformers: StorageTransformers,
): Promise<void> {
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
  const encrypted = await encryptionOf(settings)
  try {
    const { store } = await openStorage(settings)
    await fillInitially(store, settings, storedFormsOf(settings, encrypted))
    await store.close()
  } finally {
    encrypted?.encryption.close()
  }
}

/** Opens the store and fills the watch cache, which follows the store until `signal` aborts. */
export async function openState(
  settings: Settings,
  signal: AbortSignal,
  given?: GivenStore,
): Promise<State> {
  const { options, clock, log, dialect, resources, metrics } = settings
  const encrypted = await encryptionOf(settings)
  const { store: opened, storeCertificates } =
    given === undefined ? await openStorage(settings) : { store: given.store }
  const transformers = storedFormsOf(settings, encrypted)
  const typeOf = storedTypes(resources.all)
  const measured = measuredStore(opened, { metrics, clock, typeOf })
  const expiry = new Expiry({ store: measured, clock, log })
  const store = measured.isShared ? measured : expiringStore(measured, expiry, clock)
  await fillInitially(store, settings, transformers)
  const cache = new WatchCache({
    store,
    clock,
    log,
    historyBytes: options['watch-history-bytes'],
    transformers,
    upgrade: createStoredUpgrade(resources, dialect),
    isProven: given?.isProven ?? false,
  })
  const { run: following } = await cache.start(signal)
  expireEvents({ expiry, cache, events: resources.events, ttlMs: options['event-ttl'], clock })
  if (options['etcd-count-metric-poll-period'] > 0)
    declareCacheMetrics(metrics, cache, resources.all)
  return { store, storeCertificates, cache, expiry, encrypted, transformers, following }
}
