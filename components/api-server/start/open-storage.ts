/** open-storage: opens the store of the flag --store. */
import { StartError } from '../../component-base/component.ts'
import { openStore } from '../../store/open-store.ts'
import { StoreError, type Store } from '../../store/store.ts'
import type { ApiServerOptions } from '../configuration/options.ts'

/** etcd's own default (server/storage/quota.go). */
const defaultQuotaBytes = 2 * 1024 ** 3

/** Rejects with a StartError of one line for the operator. */
export async function openStorage(
  options: Pick<ApiServerOptions, 'store' | 'quota-backend-bytes' | 'unsafe-no-fsync'>,
): Promise<Store> {
  const quota = options['quota-backend-bytes']
  const quotaBytes = quota < 0 ? undefined : quota || defaultQuotaBytes
  try {
    return await openStore(options.store, { quotaBytes, isSynced: !options['unsafe-no-fsync'] })
  } catch (error) {
    if (error instanceof StoreError) throw new StartError(error.message, error)
    throw error
  }
}
