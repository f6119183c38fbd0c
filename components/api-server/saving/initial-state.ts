/** initial-state: fills an empty store with the saved cluster of --initial-state, in the form that this server stores. */
import type { Dialect } from '../../api/dialect.ts'
import { StartError } from '../../component-base/component.ts'
import { renameKey } from '../../store/rename-key.ts'
import { openSavedFile } from '../../store/saved-cluster-file.ts'
import { StatusError } from '../../machinery/objects/status-error.ts'
import { SavedClusterError, type SavedLimits } from '../../store/saved-cluster.ts'
import { StoreError, type KeyValue, type Store } from '../../store/store.ts'
import type { StorageTransformers } from '../encryption/transformer.ts'
import { earlierPrefixes, splitStoreKey } from '../watch-cache/store-keys.ts'

interface FillOptions {
  readonly dialect: Dialect
  readonly transformers: StorageTransformers | undefined
  readonly limits?: SavedLimits
}

async function* inStoredForm(
  kvs: AsyncIterable<KeyValue>,
  transformers: StorageTransformers | undefined,
): AsyncGenerator<KeyValue> {
  for await (const kv of kvs) {
    const key = renameKey(kv.key, earlierPrefixes)
    const transformer = transformers?.of(splitStoreKey(key)?.prefix ?? '')
    yield { ...kv, key, value: transformer?.toStorage(kv.value, key) ?? kv.value }
  }
}

/** What the operator reads after the name of the file. Bugs stay as they are. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof SavedClusterError) return error.message
  if (error instanceof StoreError) {
    return error.code === 'not-empty'
      ? `needs an empty store, but ${error.message}`
      : `cannot be stored: ${error.message}`
  }
  if (error instanceof StatusError) return `cannot be encrypted: ${error.message}`
  // The checksum holds, so these are not the keys of any store.
  if (error instanceof TypeError) return `is damaged: ${error.message}`
  return (error as NodeJS.ErrnoException).syscall === undefined
    ? undefined
    : `cannot be read: ${(error as Error).message}`
}

/** All or nothing. Closes the store and rejects with a StartError of one line when it cannot be filled. */
export async function fillStore(
  store: Store,
  path: string,
  { dialect, transformers, limits }: FillOptions,
): Promise<void> {
  try {
    const saved = await openSavedFile(path, limits)
    try {
      const { header, kvs } = saved
      if (header.dialect !== dialect.name)
        throw new SavedClusterError(`is of the dialect ${header.dialect}, not of ${dialect.name}`)
      await store.load(inStoredForm(kvs, transformers), header.revision)
    } finally {
      await saved[Symbol.asyncDispose]()
    }
  } catch (error) {
    await store.close()
    const reason = reasonOf(error)
    if (reason === undefined) throw error
    throw new StartError(`--initial-state: ${path} ${reason}`, error)
  }
}
