/** tableRow: a row of the server's Table as the page keeps it. */
import type { ObjectMeta } from '../../components/machinery/objects/object.ts'
import type { TableRow } from '../protocol/live.ts'

export function tableRow(cells: readonly unknown[], metadata: ObjectMeta): TableRow {
  const { uid = '', name = '', namespace, labels, creationTimestamp, deletionTimestamp } = metadata
  const { ownerReferences = [] } = metadata
  return {
    key: uid === '' ? `${namespace ?? ''}/${name}` : uid,
    name,
    cells,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels === undefined ? {} : { labels }),
    ...(ownerReferences.length === 0 ? {} : { owners: ownerReferences.map(({ uid: of }) => of) }),
    ...(creationTimestamp ? { created: creationTimestamp } : {}),
    ...(deletionTimestamp === undefined ? {} : { deleted: deletionTimestamp }),
  }
}
