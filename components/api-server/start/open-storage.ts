/** open-storage: opens the store of --store or --etcd-servers, and those of --etcd-servers-overrides. */
import { realOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import { StartError } from '../../component-base/component.ts'
import type { Log } from '../../component-base/log.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { etcdMetrics } from '../../store/etcd/etcd-metrics.ts'
import { openStore, type StoreOptions } from '../../store/open-store.ts'
import { StoreError, type Store } from '../../store/store.ts'
import type { ApiServerOptions } from '../configuration/options.ts'
import type { EncryptionFile } from '../encryption/encryption-file.ts'
import type { StorageTransformers } from '../encryption/transformer.ts'
import { createStoredForms } from '../registry/stored-forms.ts'
import { earlierPrefixes, keysBelow, storeRoot } from '../watch-cache/store-keys.ts'
import { openEtcdFiles, type EtcdFiles } from './etcd-files.ts'
import { etcdOverridesOf } from './etcd-overrides.ts'
import type { Settings } from './settings.ts'

/** etcd's own default (server/storage/quota.go). */
const defaultQuotaBytes = 2 * 1024 ** 3

export interface StorageSettings {
  readonly options: Pick<
    ApiServerOptions,
    | 'store'
    | 'quota-backend-bytes'
    | 'unsafe-no-fsync'
    | 'etcd-servers'
    | 'etcd-servers-file'
    | 'etcd-prefix'
    | 'etcd-cafile'
    | 'etcd-certfile'
    | 'etcd-keyfile'
    | 'etcd-servers-overrides'
    | 'etcd-compaction-interval'
    | 'lease-reuse-duration-seconds'
    | 'storage-media-type'
  >
  readonly clock: Clock
  readonly log: Log
  readonly metrics?: Metrics
  readonly resources: { readonly all: readonly Resource[] }
}

/** What lies in an etcd of its own. */
export interface OverrideStore {
  readonly store: Store
  readonly storagePrefixes: ReadonlySet<string>
}

export interface Storage {
  readonly store: Store
  /** One for each etcd of --etcd-servers-overrides. */
  readonly overrides: readonly OverrideStore[]
  /** The files of the client certificate for etcd. */
  readonly storeFiles: EtcdFiles
}

/** Rejects with a StartError of one line for the operator. */
export async function openStorage(settings: StorageSettings): Promise<Storage> {
  const { options, clock, log, metrics } = settings
  const quota = options['quota-backend-bytes']
  const quotaBytes = quota < 0 ? undefined : quota || defaultQuotaBytes
  const overrides = etcdOverridesOf(options['etcd-servers-overrides'], {
    resources: settings.resources.all,
    log,
  })
  const spec = storeOf(options)
  if (overrides.length > 0 && !spec.startsWith('etcd:'))
    throw new StartError('--etcd-servers-overrides needs --etcd-servers: pass both')
  if (options['etcd-servers-file'] !== undefined && !spec.startsWith('etcd:'))
    throw new StartError('--etcd-servers-file needs --etcd-servers: pass both')
  const storeFiles = await openEtcdFiles(options)
  const etcd = {
    prefix: options['etcd-prefix'],
    root: storeRoot,
    tls: () => storeFiles.tls(),
    compactionIntervalMs: options['etcd-compaction-interval'],
    leaseReuseMs: options['lease-reuse-duration-seconds'] * 1000,
    // Files and the network have real time.
    clock: realOf(clock),
    log,
    metrics: metrics && spec.startsWith('etcd:') ? etcdMetrics(metrics) : undefined,
  }
  const more = { quotaBytes, isSynced: !options['unsafe-no-fsync'], renames: earlierPrefixes, etcd }
  const opened: Store[] = []
  try {
    const newEndpoints = (): readonly string[] | undefined => storeFiles.servers()
    const store = await openStore(spec, { ...more, etcd: { ...etcd, newEndpoints } })
    opened.push(store)
    const stores: OverrideStore[] = []
    for (const { servers, storagePrefixes } of overrides) {
      const own = await openOverride(servers, more)
      opened.push(own)
      stores.push({ store: own, storagePrefixes })
    }
    return { store, overrides: stores, storeFiles }
  } catch (error) {
    await Promise.all(opened.map((store) => store.close()))
    if (error instanceof StoreError) throw new StartError(error.message, error)
    throw error
  }
}

async function openOverride(servers: readonly string[], more: StoreOptions): Promise<Store> {
  try {
    return await openStore(`etcd:${servers.join(',')}`, more)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    throw new StartError(`--etcd-servers-overrides: ${error.message}`, error)
  }
}

/** The text for `openStore`: upstream's flag is another way to write `etcd:`. */
function storeOf(options: StorageSettings['options']): string {
  const { store, 'etcd-servers': servers } = options
  if (servers.length === 0) return store ?? 'memory:'
  if (store !== undefined) {
    throw new StartError(`--store=${store} and --etcd-servers cannot be combined: pass one of them`)
  }
  return `etcd:${servers.join(',')}`
}

/** Throws a StartError for a media type that is not known. */
export function storedFormsOf(
  { options, dialect, resources, gates }: Settings,
  encrypted: EncryptionFile | undefined,
): StorageTransformers {
  const isEtcd = storeOf(options).startsWith('etcd:')
  const known = ['application/json', dialect.protobufMediaType]
  const given = options['storage-media-type'] ?? known[isEtcd ? 1 : 0] ?? ''
  if (!known.includes(given)) {
    const invalid = `--storage-media-type "${given}" invalid, allowed values: ${known.join(', ')}`
    throw new StartError(invalid)
  }
  return createStoredForms({
    resources,
    dialect,
    gates,
    writesProtobuf: given === dialect.protobufMediaType,
    encryption: encrypted?.encryption,
    pathOf: isEtcd ? keysBelow(options['etcd-prefix']) : (key) => key,
  })
}
