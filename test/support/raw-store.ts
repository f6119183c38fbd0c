/** What really lies in a store file: for tests of encryption and of damage, while no server has the file. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openSqliteStore } from '../../components/store/sqlite-store.ts'
import type { Store } from '../../components/store/store.ts'
import { startApiServer, type ApiServerSetup, type TestApiServer } from './api-server.ts'
import { temporaryFolder } from './temporary-folder.ts'

export interface StoredServer extends AsyncDisposable {
  readonly server: TestApiServer
  /** Path of a file in the server's folder, written with `text`. */
  file(name: string, text: string): string
  /** Stops the server, hands out its store, and starts it again (with other flags, if given). */
  between<T>(work: (store: Store) => Promise<T>, flags?: readonly string[]): Promise<T>
  /** The bytes under a key, as text in Latin 1; the server is restarted for it. */
  stored(key: string): Promise<string>
}

/** A server on a store file; `flags` are made when the folder is there. */
export async function startStoredServer(
  setup: Omit<ApiServerSetup, 'store' | 'flags'> & {
    files?: Readonly<Record<string, string>>
    flags?: (path: (name: string) => string) => readonly string[]
  } = {},
): Promise<StoredServer> {
  const folder = temporaryFolder('stored-server')
  const path = (name: string): string => join(folder, name)
  const file = (name: string, text: string): string => {
    writeFileSync(path(name), text, { mode: 0o600 })
    return path(name)
  }
  for (const [name, text] of Object.entries(setup.files ?? {})) file(name, text)
  const storeFlag = `--store=sqlite:${path('data.db')}`
  let flags = [storeFlag, ...(setup.flags?.(path) ?? [])]
  const server = await startApiServer({ ...setup, flags })
  const between: StoredServer['between'] = async (work, changed) => {
    await server.stop()
    const store = await openSqliteStore({ path: path('data.db') })
    let result
    try {
      result = await work(store)
    } finally {
      await store.close()
    }
    if (changed !== undefined) flags = [storeFlag, ...changed]
    await server.restart({ flags })
    return result
  }
  return {
    server,
    file,
    between,
    stored: async (key) =>
      await between(async (store) => {
        const kv = await store.get(key)
        if (kv === undefined) throw new Error(`nothing is stored under ${key}`)
        return kv.value.toString('latin1')
      }),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
    },
  }
}

/** An EncryptionConfiguration as a file's text. */
export function encryptionConfig(
  apiDomain: string,
  ...rules: { resources: string[]; providers: unknown[] }[]
): string {
  return JSON.stringify({
    kind: 'EncryptionConfiguration',
    apiVersion: `apiserver.config.${apiDomain}/v1`,
    resources: rules,
  })
}

/** A provider with one key or more: `provider('aesgcm', { k1: 'a' })`. Each secret is its letter, 32 times. */
export function provider(kind: string, keys: Readonly<Record<string, string>>): unknown {
  return {
    [kind]: {
      keys: Object.entries(keys).map(([name, letter]) => ({
        name,
        secret: Buffer.alloc(32, letter).toString('base64'),
      })),
    },
  }
}
