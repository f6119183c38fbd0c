/** readAll: a whole list, page by page, as of a revision or now. */
import { read } from './api.ts'

interface List {
  readonly metadata: { readonly continue?: string }
  readonly items: readonly Readonly<Record<string, unknown>>[]
}

const pageSize = '500'

/** Throws an ApiError; 410 when history no longer holds the revision. */
export async function readAll(
  path: string,
  options: {
    readonly revision?: string | undefined
    readonly query?: Readonly<Record<string, string | undefined>>
    readonly signal: AbortSignal
  },
): Promise<List['items']> {
  const { revision, query, signal } = options
  const exact =
    revision === undefined ? {} : { resourceVersion: revision, resourceVersionMatch: 'Exact' }
  const items: List['items'][number][] = []
  let next: string | undefined
  do {
    const from = next === undefined ? exact : { continue: next }
    const list: List = await read(path, { query: { ...query, ...from, limit: pageSize }, signal })
    items.push(...list.items)
    next = list.metadata.continue
  } while (next)
  return items
}
