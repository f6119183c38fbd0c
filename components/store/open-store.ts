/** open-store: the text of `--store` to a store. The one list of backends. */
import { createMemoryStore } from './memory-store.ts'
import { openSqliteStore } from './sqlite-store.ts'
import { StoreError, type Store } from './store.ts'

/** Scheme -> what opens the rest of the text. */
const backends: Readonly<Record<string, (rest: string) => Promise<Store>>> = {
  memory: async () => createMemoryStore(),
  sqlite: async (rest) => openSqliteStore(sqliteOptions(rest)),
}

/**
 * Opens `memory:` or `sqlite:<path>[?maxBytes=<n>]`. Rejects with StoreError `cannot-open`, whose message is one line for
 * the user.
 */
export async function openStore(spec: string): Promise<Store> {
  const end = spec.indexOf(':')
  const scheme = end < 0 ? spec : spec.slice(0, end)
  const open = Object.hasOwn(backends, scheme) ? backends[scheme] : undefined
  if (open === undefined || end < 0) {
    const known = Object.keys(backends).map((name) => `${name}:`)
    throw new StoreError(
      'cannot-open',
      `unknown store "${spec}": it starts with ${known.join(' or ')}`,
    )
  }
  return open(spec.slice(end + 1))
}

function sqliteOptions(rest: string): { path: string; maxBytes?: number } {
  const [, path = '', query = ''] = /^(.*?)(?:\?([^?/]*))?$/s.exec(rest) ?? []
  if (path === '')
    throw new StoreError('cannot-open', 'the store "sqlite:" needs the path of a file')
  if (query === '') return { path }
  const maxBytes = /^maxBytes=(\d+)$/.exec(query)?.[1]
  if (maxBytes === undefined)
    throw new StoreError('cannot-open', `unknown option of the store "sqlite:": ${query}`)
  return { path, maxBytes: Number(maxBytes) }
}
