/** open-storage: opens the store of the flags --store or --etcd-servers. */
import type { Clock } from '../../component-base/clock.ts'
import { StartError } from '../../component-base/component.ts'
import { readFlagFile } from '../../component-base/flag-file.ts'
import type { Log } from '../../component-base/log.ts'
import { openStore } from '../../store/open-store.ts'
import { StoreError, type Store } from '../../store/store.ts'
import type { ApiServerOptions } from '../configuration/options.ts'

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
  >
  readonly clock: Clock
  readonly log: Log
}

/** Rejects with a StartError of one line for the operator. */
export async function openStorage(settings: StorageSettings): Promise<Store> {
  const { options, clock, log } = settings
  const quota = options['quota-backend-bytes']
  const quotaBytes = quota < 0 ? undefined : quota || defaultQuotaBytes
  const etcd = { prefix: options['etcd-prefix'], tls: etcdFiles(options), clock, log }
  try {
    const isSynced = !options['unsafe-no-fsync']
    return await openStore(storeOf(options), { quotaBytes, isSynced, etcd })
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

/** PEM texts of upstream's flags (apiserver: pkg/server/options/etcd.go). */
function etcdFiles(options: StorageSettings['options']) {
  const read = (name: 'etcd-cafile' | 'etcd-certfile' | 'etcd-keyfile'): string | undefined => {
    const path = options[name]
    return path === undefined ? undefined : readFlagFile(name, path)
  }
  const [ca, cert, key] = [read('etcd-cafile'), read('etcd-certfile'), read('etcd-keyfile')]
  if ((cert === undefined) !== (key === undefined)) {
    throw new StartError('--etcd-certfile and --etcd-keyfile go together')
  }
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  }
}
