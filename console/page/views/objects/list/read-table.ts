/** readTable: a list as the server prints it, once: for the past, and for kinds that cannot be watched. */
import { read } from '../../../app/api.ts'
import { acceptAs } from '../../../app/groups.ts'
import type { TableColumn, TableRow, TableSubscription } from '../../../../protocol/live.ts'
import { tableRow } from '../../../../slim/table-row.ts'
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'

const pageSize = 500

export interface ReadTable {
  readonly columns: readonly TableColumn[]
  readonly rows: ReadonlyMap<string, TableRow>
}

interface WireTable {
  readonly metadata: { readonly continue?: string }
  readonly columnDefinitions?: readonly TableColumn[]
  readonly rows?: readonly { readonly cells: readonly unknown[]; readonly object: KubeObject }[]
}

/** `at`: the query of the moment (`atQuery`). Throws ApiErrors. */
export async function readTable(
  { path, labelSelector, fieldSelector }: TableSubscription,
  at: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ReadTable> {
  const rows = new Map<string, TableRow>()
  let columns: readonly TableColumn[] = []
  let next: string | undefined
  do {
    const selectors = { labelSelector, fieldSelector, includeObject: 'Metadata', limit: pageSize }
    // The token of the next page names its moment itself.
    const query = { ...selectors, ...(next === undefined ? at : { continue: next }) }
    const table = await read<WireTable>(path, { accept: acceptAs('Table'), query, signal })
    columns = table.columnDefinitions ?? columns
    for (const { cells, object } of table.rows ?? []) {
      const row = tableRow(cells, object.metadata)
      rows.set(row.key, row)
    }
    next = table.metadata.continue || undefined
  } while (next !== undefined)
  return { columns, rows }
}
