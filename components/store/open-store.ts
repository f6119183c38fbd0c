/** open-store: the text of `--store` to a store. The one list of backends. */
import type { EtcdStoreOptions } from './etcd/etcd-store.ts'
import { createMemoryStore } from './memory-store.ts'
import { openSqliteStore } from './sqlite-store.ts'
import { StoreError, type Store } from './store.ts'

export interface StoreOptions {
  /** The most that a file may take; a store in memory has no limit. */
  readonly quotaBytes?: number | undefined
  /** False: commits to a file do not wait for the disk. */
  readonly isSynced?: boolean | undefined
  /** Prefixes of keys that a file of an earlier release has -> today's; such a file is converted. */
  readonly renames?: ReadonlyMap<string, string> | undefined
  /** What the store on etcd needs beside its addresses. */
  readonly etcd?: Omit<EtcdStoreOptions, 'endpoints'> | undefined
}

/** Scheme -> what opens the rest of the text. */
const backends: Readonly<Record<string, (rest: string, options: StoreOptions) => Promise<Store>>> =
  {
    memory: async () => createMemoryStore(),
    sqlite: async (path, { quotaBytes, isSynced, renames }) => {
      if (path === '')
        throw new StoreError('cannot-open', 'the store "sqlite:" needs the path of a file')
      return openSqliteStore({ path, quotaBytes, isSynced, renames })
    },
    etcd: async (addresses, { etcd }) => {
      if (etcd === undefined)
        throw new StoreError('cannot-open', 'a store on etcd cannot be opened here')
      const { openEtcdStore } = await import('./etcd/etcd-store.ts')
      const endpoints = addresses.split(',').filter((address) => address !== '')
      return openEtcdStore({ ...etcd, endpoints })
    },
  }

/** Opens `memory:`, `sqlite:<path>` or `etcd:<address>,<address>`. Rejects with StoreError `cannot-open`, whose message is one line for the user. */
export async function openStore(spec: string, options: StoreOptions = {}): Promise<Store> {
  const end = spec.indexOf(':')
  const scheme = end < 0 ? spec : spec.slice(0, end)
  const open = Object.hasOwn(backends, scheme) ? backends[scheme] : undefined
  if (open === undefined || end < 0) {
    const known = Object.keys(backends).map((name) => `${name}:`)
    throw new StoreError(
      'cannot-open',
      `unknown store "${spec}": it starts with ${known.slice(0, -1).join(', ')} or ${known.at(-1)}`,
    )
  }
  return open(spec.slice(end + 1), options)
}
