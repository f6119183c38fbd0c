/** Follows one list of the API server as a Table, of any kind: columns and cells as kubectl shows them. */
import { apiGroup } from '../../../components/api/dialect.ts'
import type { Client } from '../../../components/client/client.ts'
import { runReflector } from '../../../components/client/reflector.ts'
import type {
  ListOptions,
  WatchEvent,
  WatchOptions,
} from '../../../components/client/resource-client.ts'
import { watchEvents } from '../../../components/client/watch-stream.ts'
import type {
  KubeList,
  KubeObject,
  ObjectMeta,
} from '../../../components/machinery/objects/object.ts'
import {
  isStatusError,
  type StatusError,
} from '../../../components/machinery/objects/status-error.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import type { TableColumn, TableRow, TableSubscription } from '../../protocol/live.ts'
import { tableRow } from '../../slim/table-row.ts'
import type { LiveTable } from './table.ts'

const pageSize = 500

interface WireTable {
  readonly metadata: KubeList['metadata']
  readonly columnDefinitions?: readonly TableColumn[]
  readonly rows?: readonly { readonly cells: readonly unknown[]; readonly object: KubeObject }[]
}

/** What the reflector sees of a row: enough to go on from. */
interface SlimRow extends KubeObject {
  readonly row: TableRow | undefined
}

function versionOf({ resourceVersion }: { readonly resourceVersion?: string }): ObjectMeta {
  return resourceVersion === undefined ? {} : { resourceVersion }
}

function slimRows({ rows = [] }: Pick<WireTable, 'rows'>): SlimRow[] {
  return rows.map(({ cells, object }) => ({
    metadata: versionOf(object.metadata),
    row: tableRow(cells, object.metadata),
  }))
}

/** Paths of the list, with the selection and the given query. */
function pathOf(wanted: TableSubscription) {
  return (query: Readonly<Record<string, string | number | boolean | undefined>>): string => {
    const search = new URLSearchParams({ includeObject: 'Metadata' })
    const { labelSelector, fieldSelector } = wanted
    for (const [name, value] of Object.entries({ labelSelector, fieldSelector, ...query })) {
      if (value !== undefined && value !== '') search.set(name, String(value))
    }
    return `${wanted.path}?${search.toString()}`
  }
}

interface ReaderOptions {
  readonly client: Client
  readonly onColumns: (columns: readonly TableColumn[]) => void
  /** The viewer may not list it, or it does not exist. */
  readonly onDenied: (error: StatusError) => void
}

/** The list as the reflector reads it; pages are joined. */
function createReader(wanted: TableSubscription, options: ReaderOptions) {
  const { client, onColumns, onDenied } = options
  const pathWith = pathOf(wanted)
  const accept = `application/json;as=Table;g=${apiGroup(client.dialect, 'meta')};v=v1`
  const read = async (
    query: Readonly<Record<string, string | number>>,
    signal: AbortSignal | undefined,
  ): Promise<WireTable> => {
    const request = { method: 'GET', path: pathWith(query), headers: { accept } }
    try {
      const answer = await client.rest.json(signal === undefined ? request : { ...request, signal })
      return answer as WireTable
    } catch (error) {
      if (isStatusError(error) && error.code < 500 && ![410, 429].includes(error.code))
        onDenied(error)
      throw error
    }
  }
  const list = async (
    asked: ListOptions = {},
    signal?: AbortSignal,
  ): Promise<KubeList<SlimRow>> => {
    // At "0" the server serves everything at once, whatever the limit.
    const first = asked.resourceVersion === '0' ? '' : (asked.resourceVersion ?? '')
    let page = await read({ limit: pageSize, resourceVersion: first }, signal)
    onColumns(page.columnDefinitions ?? [])
    const items = slimRows(page)
    while (page.metadata.continue) {
      page = await read({ limit: pageSize, continue: page.metadata.continue }, signal)
      items.push(...slimRows(page))
    }
    return { metadata: page.metadata, items }
  }
  async function* watch(
    asked: WatchOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<SlimRow>> {
    const { resourceVersion, allowWatchBookmarks, timeoutSeconds } = asked
    const path = pathWith({ watch: true, resourceVersion, allowWatchBookmarks, timeoutSeconds })
    const answer = await client.rest.stream({ method: 'GET', path, headers: { accept }, signal })
    for await (const { type, object } of watchEvents<WireTable & KubeObject>(answer.chunks)) {
      const [slim] = slimRows(object)
      yield { type, object: slim ?? { metadata: versionOf(object.metadata), row: undefined } }
    }
  }
  // The reflector names what it follows in its log alone.
  return { resource: { plural: wanted.path } as Resource, list, watch }
}

/** Rejects when the viewer may not list it or it does not exist. `onColumns` is called before the first rows. */
export async function followTable(
  wanted: TableSubscription,
  options: {
    readonly client: Client
    readonly table: LiveTable<TableRow>
    readonly onColumns: (columns: readonly TableColumn[]) => void
  },
  signal: AbortSignal,
): Promise<void> {
  const { client, table, onColumns } = options
  const denied = Promise.withResolvers<never>()
  const sink = {
    replace: (items: readonly SlimRow[]): void =>
      table.replace(items.flatMap(({ row }) => (row === undefined ? [] : [row]))),
    apply: (type: string, { row }: SlimRow): void => {
      if (row === undefined) return
      if (type === 'DELETED') table.delete(row.key)
      else table.set(row)
    },
  }
  const reader = createReader(wanted, { client, onColumns, onDenied: denied.reject })
  const { clock, log } = client
  const reflector = runReflector<SlimRow>(
    { client: reader, selection: {}, sink, clock, log },
    signal,
  )
  await Promise.race([reflector, denied.promise])
}
