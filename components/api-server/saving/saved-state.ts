/** saved-state: everything that the store holds at one revision, decrypted, as a saved cluster. */
import type { Dialect } from '../../api/dialect.ts'
import { timestamp, type Clock } from '../../component-base/clock.ts'
import { SavedClusterError } from '../../store/saved-cluster.ts'
import type { SavedForm, SavedHeader, SavedKey } from '../../store/saved-cluster.ts'
import { StoreError, type KeyValue, type Store } from '../../store/store.ts'
import { isEncrypted, readsPlainOnly, type StorageTransformers } from '../encryption/transformer.ts'
import { splitStoreKey, storeRoot } from '../watch-cache/store-keys.ts'
import { createSavedForm } from './saved-form.ts'

const pageSize = 1000

export interface SavedStateOptions {
  readonly store: Pick<Store, 'range' | 'revision'>
  readonly transformers: StorageTransformers | undefined
  readonly dialect: Dialect
  readonly clock: Clock
  readonly serviceRange: string
  readonly writtenBy: string
  readonly form: SavedForm
}

type Reading = Pick<SavedStateOptions, 'store' | 'transformers'>

/** The bytes of an object. Throws when this server cannot decrypt them: a reader of the file could not either. */
async function decrypted(
  { key, value }: KeyValue,
  transformers: StorageTransformers | undefined,
): Promise<Buffer> {
  const transformer = transformers?.of(splitStoreKey(key)?.prefix ?? '')
  if (transformer === undefined) {
    if (isEncrypted(value)) throw new SavedClusterError(`cannot decrypt ${key}: ${readsPlainOnly}`)
    return value
  }
  await transformer.prepare?.(value)
  const result = transformer.fromStorage(value, key)
  if (!result.ok) throw new SavedClusterError(`cannot decrypt ${key}: ${result.why}`)
  return result.bytes
}

async function* pagesAt(
  store: SavedStateOptions['store'],
  atRevision: number,
): AsyncGenerator<readonly KeyValue[]> {
  let from: string | undefined
  for (;;) {
    const page = await store.range({
      prefix: storeRoot,
      atRevision,
      limit: pageSize,
      ...(from === undefined ? {} : { from }),
    })
    yield page.kvs
    const last = page.kvs.at(-1)
    if (!page.more || last === undefined) return
    from = `${last.key}\0`
  }
}

async function* savedKeys(
  { store, transformers }: Reading,
  at: { revision: number; form: SavedForm; formOf: ReturnType<typeof createSavedForm> },
): AsyncGenerator<SavedKey> {
  try {
    for await (const kvs of pagesAt(store, at.revision)) {
      for (const kv of kvs) {
        // Keys of another shape are not objects: the server's own, and those of others in etcd.
        if (splitStoreKey(kv.key) === undefined) continue
        const value = at.formOf(kv.key, await decrypted(kv, transformers))
        if (value === undefined) continue
        const resource = at.form === 'backup' ? splitStoreKey(kv.key)?.prefix : undefined
        yield { ...kv, value, resource }
      }
    }
  } catch (error) {
    const isTooOld = error instanceof StoreError && error.code === 'compacted'
    if (!isTooOld) throw error
    throw new SavedClusterError('the history was compacted during the save: try again', error)
  }
}

/** The keys are read as they are asked for. Reading them throws a SavedClusterError for what cannot be saved. */
export async function savedState(
  options: SavedStateOptions,
): Promise<{ readonly header: SavedHeader; readonly kvs: AsyncIterable<SavedKey> }> {
  const { store, dialect, clock, serviceRange, writtenBy, form } = options
  const revision = await store.revision()
  return {
    header: {
      writtenBy,
      dialect: dialect.name,
      revision,
      savedAt: timestamp(clock.now()),
      serviceRange,
      form,
    },
    kvs: savedKeys(options, { revision, form, formOf: createSavedForm(options) }),
  }
}
