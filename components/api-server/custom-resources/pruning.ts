/**
 * Pruning: what a structural schema does not know goes (upstream: apiextensions-apiserver pkg/apiserver/schema/pruning), and
 * nulls where none may be (defaulting/prune.go).
 */
import type { JSONSchemaProps } from '../../api/generated/types.ts'
import { isRecord } from '../../machinery/apply/apply-shape.ts'
import { getOwn } from '../../machinery/values/json-copy.ts'
import { additionalOf, itemsOf } from './schema-parts.ts'

const metaFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

/** Takes the path of everything that is dropped. */
type Dropped = (path: string) => void

interface Place {
  readonly path: string
  readonly isRoot: boolean
  readonly dropped: Dropped | undefined
}

/** Drops from a whole object, in place, what the schema does not know; the object's own type and metadata stay. */
export function pruneUnknown(
  object: Record<string, unknown>,
  schema: JSONSchemaProps,
  dropped?: Dropped,
): void {
  prune(object, schema, { path: '', isRoot: true, dropped })
}

/** The same for a value anywhere in an object. */
export function pruneValue(value: unknown, schema: JSONSchemaProps): void {
  prune(value, schema, { path: '', isRoot: false, dropped: undefined })
}

function at(place: Place, step: string): Place {
  return {
    path: place.path === '' ? step : `${place.path}.${step}`,
    isRoot: false,
    dropped: place.dropped,
  }
}

function atIndex(place: Place, index: number): Place {
  return { path: `${place.path}[${index}]`, isRoot: false, dropped: place.dropped }
}

function prune(value: unknown, schema: JSONSchemaProps | undefined, place: Place): void {
  const keepsUnknown = schema?.['x-kubernetes-preserve-unknown-fields'] === true
  if (Array.isArray(value)) {
    const items = schema === undefined ? undefined : itemsOf(schema)
    if (keepsUnknown && items === undefined) return
    for (const [index, item] of value.entries()) prune(item, items, atIndex(place, index))
    return
  }
  if (!isRecord(value)) return
  const hasMeta = place.isRoot || schema?.['x-kubernetes-embedded-resource'] === true
  const additional = schema && additionalOf(schema)
  const takesOthers =
    schema?.additionalProperties !== undefined && schema.additionalProperties !== false
  for (const name of Object.keys(value)) {
    if (hasMeta && metaFields.has(name)) continue
    const property = getOwn(schema?.properties, name)
    if (property !== undefined) prune(value[name], property, at(place, name))
    else if (additional !== undefined) prune(value[name], additional, at(place, name))
    else if (keepsUnknown) continue
    else if (takesOthers) prune(value[name], undefined, at(place, name))
    else {
      place.dropped?.(at(place, name).path)
      delete value[name]
    }
  }
}

/** Drops, in place, nulls of fields that may not be null and have no default to take their place. */
export function pruneNulls(value: unknown, schema: JSONSchemaProps | undefined): void {
  if (schema === undefined) return
  if (Array.isArray(value)) {
    for (const item of value) pruneNulls(item, itemsOf(schema))
    return
  }
  if (!isRecord(value)) return
  const additional = additionalOf(schema)
  for (const name of Object.keys(value)) {
    const property = getOwn(schema.properties, name) ?? additional
    if (property === undefined) continue
    if (value[name] === null && property.nullable !== true && property.default === undefined) {
      delete value[name]
    } else pruneNulls(value[name], property)
  }
}
