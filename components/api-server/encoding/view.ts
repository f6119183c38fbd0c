/** View: which value of an entry is shown, before it is encoded: the object in its version, its metadata, or rows of a table. */
import { objectKindOf } from '../../api/object-kind.ts'
import { findSchema, schemaOf } from '../../api/schemas.ts'
import type { Column, TablePrinter } from '../../machinery/objects/table-printer.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { apiVersionOf, type Resource } from '../../machinery/objects/resource.ts'
import type { StructSchema } from '../../machinery/schema/schema.ts'
import { glanceIn, type ListMeta, type Shown } from './form.ts'

export interface View {
  readonly name: string
  readonly kind: string
  readonly listKind: string
  readonly apiVersion: string
  /** The struct of one object; undefined where there is no typed form (Tables, custom kinds). */
  readonly schema: StructSchema | undefined
  /** The field of a list that holds the items. */
  readonly itemsName: 'items' | 'rows'
  /** Fields of a list beside the metadata and the items. */
  readonly listFields: Readonly<Record<string, unknown>>
  /** The whole object, kind and apiVersion first. */
  object(shown: Shown): object
  /** As an item of a list. */
  item(shown: Shown): object
  /** In a watch, where it differs from `object`. */
  watched?(shown: Shown): object
  bookmark(resourceVersion: string, annotations?: Record<string, string>): object
}

/** A list's metadata as its fields are written. */
export function listMetaOf(meta: ListMeta): object {
  const { resourceVersion, continue: token, remainingItemCount } = meta
  return {
    ...(resourceVersion === '' ? {} : { resourceVersion }),
    ...(token === undefined ? {} : { continue: token }),
    ...(remainingItemCount === undefined ? {} : { remainingItemCount }),
  }
}

function bookmarkOf(kind: string, apiVersion: string): View['bookmark'] {
  return (resourceVersion, annotations) => ({
    kind,
    apiVersion,
    metadata: {
      ...(resourceVersion === '' ? {} : { resourceVersion }),
      ...(annotations === undefined ? {} : { annotations }),
    },
  })
}

/** The object in the resource's version. Items of lists without a struct, custom resources, keep their kind and apiVersion. */
export function objectView(resource: Resource): View {
  const apiVersion = apiVersionOf(resource)
  const kind = objectKindOf(resource)
  const schema = findSchema(`${resource.package}.${resource.kind}`)
  return {
    name: kind.formName,
    kind: resource.kind,
    listKind: resource.listKind,
    apiVersion,
    schema,
    itemsName: 'items',
    listFields: {},
    object: (shown) => glanceIn(kind, shown),
    item: (shown) => {
      const object = glanceIn(kind, shown)
      if (schema === undefined) return object
      const { kind: _, apiVersion: __, ...rest } = object
      return rest
    },
    bookmark: bookmarkOf(resource.kind, apiVersion),
  }
}

/** PartialObjectMetadata in a version of the meta group. */
export function partialView(apiVersion: string, resource: Resource): View {
  const kind = objectKindOf(resource)
  const { isConverted } = kind
  const metadataOf = (shown: Shown): KubeObject['metadata'] =>
    isConverted ? glanceIn(kind, shown).metadata : (shown.glance?.() ?? shown.object()).metadata
  return {
    name: `metadata ${apiVersion}${isConverted ? ` ${kind.formName}` : ''}`,
    kind: 'PartialObjectMetadata',
    listKind: 'PartialObjectMetadataList',
    apiVersion,
    schema: schemaOf('meta/v1.PartialObjectMetadata'),
    itemsName: 'items',
    listFields: {},
    object: (shown) => ({
      kind: 'PartialObjectMetadata',
      apiVersion,
      metadata: metadataOf(shown),
    }),
    item: (shown) => ({ metadata: metadataOf(shown) }),
    bookmark: bookmarkOf('PartialObjectMetadata', apiVersion),
  }
}

/** Which object a Table's rows carry beside their cells. */
export type IncludeObject = 'None' | 'Metadata' | 'Object'

export function tableView(
  resource: Resource,
  printer: TablePrinter,
  options: { apiVersion: string; include: IncludeObject; now: () => number },
): View {
  const { apiVersion, include, now } = options
  const { columns } = printer
  const kind = objectKindOf(resource)
  const carried = (object: KubeObject): unknown => {
    if (include === 'None') return null
    if (include === 'Object') return object
    return { kind: 'PartialObjectMetadata', apiVersion, metadata: object.metadata }
  }
  const rowOf = (shown: Shown): object => {
    const object = glanceIn(kind, shown)
    return { cells: printer.cells(object, now()), object: carried(object) }
  }
  const tableOf = (shown: Shown, columnDefinitions: readonly Column[]): object => {
    const { resourceVersion } = shown.object().metadata
    return {
      kind: 'Table',
      apiVersion,
      metadata: resourceVersion ? { resourceVersion } : {},
      columnDefinitions,
      rows: [rowOf(shown)],
    }
  }
  return {
    name: `table ${apiVersion} ${include} ${kind.formName}`,
    kind: 'Table',
    listKind: 'Table',
    apiVersion,
    schema: undefined,
    itemsName: 'rows',
    listFields: { columnDefinitions: columns },
    object: (shown) => tableOf(shown, columns),
    item: rowOf,
    watched: (shown) => tableOf(shown, []),
    bookmark: (resourceVersion) => ({
      kind: 'Table',
      apiVersion,
      metadata: { resourceVersion },
      columnDefinitions: [],
      rows: [],
    }),
  }
}
