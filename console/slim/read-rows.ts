/** readRows: a whole list as rows, page by page, so that only one page of objects is in memory. Bounded. */
import type { ListOptions, ResourceClient } from '../../components/client/resource-client.ts'
import type { KubeList, KubeObject } from '../../components/machinery/objects/object.ts'

const pageSize = 500
/** 100,000 objects. */
const mostPages = 200

export interface Rows<R> {
  readonly rows: R[]
  readonly resourceVersion: string
  /** There are more than the limit. */
  readonly isCut: boolean
}

/** Rejects as `list` does: also with 410 `Expired` when it takes longer than the server keeps the pages. */
export async function readRows<T extends KubeObject, R>(
  client: Pick<ResourceClient<T>, 'list'>,
  toRow: (object: T) => R,
  options: { readonly selection?: ListOptions; readonly signal?: AbortSignal } = {},
): Promise<Rows<R>> {
  const rows: R[] = []
  let next = ''
  for (let page = 0; page < mostPages; page += 1) {
    const list: KubeList<T> = await client.list(
      { ...options.selection, limit: pageSize, ...(next === '' ? {} : { continue: next }) },
      options.signal,
    )
    for (const object of list.items) rows.push(toRow(object))
    next = list.metadata.continue ?? ''
    const { resourceVersion = '' } = list.metadata
    if (next === '') return { rows, resourceVersion, isCut: false }
    if (page === mostPages - 1) return { rows, resourceVersion, isCut: true }
  }
  throw new Error('a list has at least one page')
}
