/** collectionSizes: how many objects the collections have that a client listed, in one short request each. */
import { apiGroup } from '../../components/api/dialect.ts'
import type { RequestRecord } from '../../components/api/request-record.ts'
import type { Client } from '../../components/client/client.ts'
import type { KubeList } from '../../components/machinery/objects/object.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'

/** Further ones are not asked for. */
const mostCollections = 100

/** By path. A collection that is gone, or that this client may not list, has no size. */
export async function collectionSizes(
  client: Client,
  records: readonly RequestRecord[],
): Promise<(record: RequestRecord) => number | undefined> {
  const lists = records.filter(({ verb, resource }) => verb === 'list' && resource !== '')
  const paths = [...new Set(lists.map(({ path }) => path))].slice(0, mostCollections)
  const sizes = new Map<string, number>()
  const group = apiGroup(client.dialect, 'meta')
  for (const path of paths) {
    const headers = { accept: `application/json;as=PartialObjectMetadataList;g=${group};v=v1` }
    try {
      const list = await client.rest.json({ method: 'GET', path: `${path}?limit=1`, headers })
      const { items, metadata } = list as KubeList
      sizes.set(path, items.length + (metadata.remainingItemCount ?? 0))
    } catch (error) {
      if (!isStatusError(error)) throw error
    }
  }
  return ({ path }) => sizes.get(path)
}
