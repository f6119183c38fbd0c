/** open-storage: opens the store of the flags --store or --etcd-servers. */
import type { Clock } from '../../component-base/clock.ts'
import { StartError } from '../../component-base/component.ts'
import type { Log } from '../../component-base/log.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import { openStore } from '../../store/open-store.ts'
import { StoreError, type Store } from '../../store/store.ts'
import type { ApiServerOptions } from '../configuration/options.ts'
import type { EncryptionFile } from '../encryption/encryption-file.ts'
import type { StorageTransformers } from '../encryption/transformer.ts'
import { createStoredForms } from '../registry/stored-forms.ts'
import { earlierPrefixes, keysBelow, storeRoot } from '../watch-cache/store-keys.ts'
import { openEtcdCertificates, type EtcdCertificates } from './etcd-certificates.ts'
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
}

export interface Storage {
  readonly store: Store
  /** The files of the client certificate for etcd. */
  readonly storeCertificates: EtcdCertificates
}

/** Rejects with a StartError of one line for the operator. */
export async function openStorage(settings: StorageSettings): Promise<Storage> {
  const { options, clock, log, metrics } = settings
  const quota = options['quota-backend-bytes']
  const quotaBytes = quota < 0 ? undefined : quota || defaultQuotaBytes
  if (options['etcd-servers-overrides'].length > 0) {
    throw new StartError(
      '--etcd-servers-overrides is not supported: one revision counts the changes of all resources, so that they share one etcd: remove the flag',
    )
  }
  const storeCertificates = await openEtcdCertificates(options)
  const etcd = {
    prefix: options['etcd-prefix'],
    root: storeRoot,
    tls: () => storeCertificates.tls(),
    compactionIntervalMs: options['etcd-compaction-interval'],
    leaseReuseMs: options['lease-reuse-duration-seconds'] * 1000,
    clock,
    log,
    metrics,
  }
  try {
    const isSynced = !options['unsafe-no-fsync']
    const store = await openStore(storeOf(options), {
      quotaBytes,
      isSynced,
      renames: earlierPrefixes,
      etcd,
    })
    return { store, storeCertificates }
  } catch (error) {
    if (error instanceof StoreError) throw new StartError(error.message, error)
    throw error
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
