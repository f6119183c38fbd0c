/**
 * Forms: how entries become bytes on the wire, alone, in a list and in a watch. The plain form of the stored version is
 * the stored bytes themselves; every other form is made from the decoded object.
 */
import { printerOf } from '../api/printers.ts'
import type { Dialect } from '../api/dialect.ts'
import type { Column, TablePrinter } from '../api/columns.ts'
import type { KubeObject } from '../machinery/object.ts'
import { apiVersionOf, type Resource } from '../machinery/resource.ts'
import type { Representation } from './negotiate.ts'
import { convertTo } from './registry/conversions.ts'
import type { Entry } from './watch-cache/entry.ts'
import type { WatchEventType } from './watch-cache/watcher.ts'

export interface ListMeta {
  readonly resourceVersion: string
  readonly continue?: string
  readonly remainingItemCount?: number
}

export interface Form {
  /** Forms of the same name encode alike, so watchers share their frames. */
  readonly name: string
  /** A whole answer body, newline included. */
  one(entry: Entry): Buffer
  /** What stands before the first item. */
  listHead(meta: ListMeta): Buffer
  /** An item without the separator; may be several pieces. */
  item(entry: Entry): readonly Buffer[]
  readonly listTail: Buffer
  frame(type: WatchEventType, entry: Entry): Buffer
  /** The first frame of a watch, where it differs (Tables show their columns once). */
  firstFrame?(type: WatchEventType, entry: Entry): Buffer
  /** The object of a bookmark event. */
  bookmark(resourceVersion: string, annotations?: Record<string, string>): Buffer
}

const openBrace = Buffer.from('{')
const frameEnd = Buffer.from('}\n')
const listTail = Buffer.from(']}\n')
const frameHeads: Record<WatchEventType, Buffer> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
}

function jsonLine(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`)
}

function withoutNewline(bytes: Buffer): Buffer {
  return bytes.subarray(0, bytes.length - 1)
}

function frameOf(type: WatchEventType, body: Buffer): Buffer {
  return Buffer.concat([frameHeads[type], withoutNewline(body), frameEnd])
}

function bookmarkOf(
  kind: string,
  apiVersion: string,
  at: { resourceVersion: string; annotations?: Record<string, string> | undefined },
): Buffer {
  const { resourceVersion, annotations } = at
  const metadata = { resourceVersion, ...(annotations === undefined ? {} : { annotations }) }
  return jsonLine({ type: 'BOOKMARK', object: { kind, apiVersion, metadata } })
}

/** `{"kind":"PodList","apiVersion":"v1","metadata":{...},"items":[` */
function headOf(kind: string, apiVersion: string, meta: ListMeta, items = 'items'): Buffer {
  const { resourceVersion, continue: token, remainingItemCount } = meta
  const metadata = {
    resourceVersion,
    ...(token === undefined ? {} : { continue: token }),
    ...(remainingItemCount === undefined ? {} : { remainingItemCount }),
  }
  const head = JSON.stringify({ kind, apiVersion, metadata })
  return Buffer.from(`${head.slice(0, -1)},"${items}":[`)
}

/** Lists leave out their items' kind and apiVersion, as upstream's typed lists do; both stand first in the bytes. */
function typePrefixLength(resource: Resource): number {
  return Buffer.byteLength(
    `{"kind":"${resource.kind}","apiVersion":"${resource.storageVersion.apiVersion}",`,
  )
}

function storedForm(resource: Resource): Form {
  const skip = typePrefixLength(resource)
  const apiVersion = apiVersionOf(resource)
  return {
    name: 'stored',
    one: (entry) => entry.bytes,
    listHead: (meta) => headOf(resource.listKind, apiVersion, meta),
    item: (entry) => [openBrace, entry.bytes.subarray(skip, entry.bytes.length - 1)],
    listTail,
    frame: (type, entry) => frameOf(type, entry.bytes),
    bookmark: (resourceVersion, annotations) =>
      bookmarkOf(resource.kind, apiVersion, { resourceVersion, annotations }),
  }
}

/** An entry's object in the version that was asked for. */
export function objectIn(resource: Resource, entry: Entry): KubeObject {
  const object = entry.object()
  if (resource.package === resource.storageVersion.package) return object
  const { package: packageName, kind } = resource
  return convertTo(object, resource.storageVersion.package, {
    package: packageName,
    kind,
    apiVersion: apiVersionOf(resource),
  })
}

function convertedForm(resource: Resource): Form {
  const apiVersion = apiVersionOf(resource)
  const one = (entry: Entry): Buffer => jsonLine(objectIn(resource, entry))
  return {
    name: apiVersion,
    one,
    listHead: (meta) => headOf(resource.listKind, apiVersion, meta),
    item: (entry) => {
      const { kind: _, apiVersion: __, ...rest } = objectIn(resource, entry)
      return [Buffer.from(JSON.stringify(rest))]
    },
    listTail,
    frame: (type, entry) => frameOf(type, one(entry)),
    bookmark: (resourceVersion, annotations) =>
      bookmarkOf(resource.kind, apiVersion, { resourceVersion, annotations }),
  }
}

function partialForm(apiVersion: string): Form {
  const one = (entry: Entry): Buffer =>
    jsonLine({ kind: 'PartialObjectMetadata', apiVersion, metadata: entry.object().metadata })
  return {
    name: `metadata ${apiVersion}`,
    one,
    listHead: (meta) => headOf('PartialObjectMetadataList', apiVersion, meta),
    item: (entry) => [Buffer.from(JSON.stringify({ metadata: entry.object().metadata }))],
    listTail,
    frame: (type, entry) => frameOf(type, one(entry)),
    bookmark: (resourceVersion, annotations) =>
      bookmarkOf('PartialObjectMetadata', apiVersion, { resourceVersion, annotations }),
  }
}

/** Which object a Table's rows carry beside their cells. */
export type IncludeObject = 'None' | 'Metadata' | 'Object'

function tableForm(
  resource: Resource,
  printer: TablePrinter,
  options: { apiVersion: string; include: IncludeObject; now: () => number },
): Form {
  const { apiVersion, include, now } = options
  const columns: readonly Column[] = printer.columns
  const rowOf = (entry: Entry): unknown => {
    const object = objectIn(resource, entry)
    const cells = printer.cells(object, now())
    if (include === 'None') return { cells, object: null }
    return {
      cells,
      object:
        include === 'Object'
          ? object
          : { kind: 'PartialObjectMetadata', apiVersion, metadata: object.metadata },
    }
  }
  const tableOf = (entry: Entry, columnDefinitions: readonly Column[]): unknown => ({
    kind: 'Table',
    apiVersion,
    metadata: { resourceVersion: String(entry.revision) },
    columnDefinitions,
    rows: [rowOf(entry)],
  })
  const head = (meta: ListMeta): Buffer => {
    const start = headOf('Table', apiVersion, meta, 'rows').toString()
    const definitions = `"columnDefinitions":${JSON.stringify(columns)},"rows":[`
    return Buffer.from(start.replace(/"rows":\[$/, () => definitions))
  }
  return {
    name: `table ${apiVersion} ${include}`,
    one: (entry) => jsonLine(tableOf(entry, columns)),
    listHead: head,
    item: (entry) => [Buffer.from(JSON.stringify(rowOf(entry)))],
    listTail,
    frame: (type, entry) => frameOf(type, jsonLine(tableOf(entry, []))),
    firstFrame: (type, entry) => frameOf(type, jsonLine(tableOf(entry, columns))),
    bookmark: (resourceVersion) =>
      jsonLine({
        type: 'BOOKMARK',
        object: {
          kind: 'Table',
          apiVersion,
          metadata: { resourceVersion },
          columnDefinitions: [],
          rows: [],
        },
      }),
  }
}

/** The form in which a resource was asked for. */
export function formFor(
  resource: Resource,
  representation: Representation,
  options: { dialect: Dialect; include: IncludeObject; now: () => number },
): Form {
  const { view, viewVersion } = representation
  const metaVersion = `meta.${options.dialect.apiDomain}/${viewVersion}`
  if (view === 'Table') {
    return tableForm(resource, printerOf(resource), {
      apiVersion: metaVersion,
      include: options.include,
      now: options.now,
    })
  }
  if (view !== 'object') return partialForm(metaVersion)
  return resource.package === resource.storageVersion.package
    ? storedForm(resource)
    : convertedForm(resource)
}
