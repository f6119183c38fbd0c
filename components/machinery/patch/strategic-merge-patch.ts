/** Strategic merge patch: a merge patch that knows from the schema which lists merge, by which key, and obeys `$` directives. */
import { copyJson, setOwn } from '../values/json-copy.ts'
import type { Json } from '../objects/object.ts'
import type { FieldSchema, Schema, StructSchema } from '../schema/schema.ts'
import { badRequest, StatusError } from '../objects/status-error.ts'
import {
  byKey,
  enforceOrder,
  isObject,
  isScalar,
  type JsonObject,
  keyValue,
  positions,
} from './strategic-merge-order.ts'

const PATCH = '$patch'
const RETAIN_KEYS = '$retainKeys'
const ORDER_PREFIX = '$setElementOrder/'
const DELETE_PREFIX = '$deleteFromPrimitiveList/'

/**
 * The patched object, fresh and mutable; inputs are not changed. Throws StatusError: 400 for malformed directives, 422 or
 * 500 where upstream does (lists of lists; elements without their merge key).
 */
export function applyStrategicMergePatch(
  object: unknown,
  patch: unknown,
  schema: StructSchema,
): Json {
  if (!isObject(patch) || !isObject(object)) throw badRequest('invalid JSON document')
  return mergeObject(copyJson(object), copyJson(patch), schema) as Json
}

/** Both objects are ours to change. Without a schema, lists are replaced. */
function mergeObject(
  original: JsonObject,
  patch: JsonObject,
  schema: Schema | undefined,
): JsonObject {
  const directive = patch[PATCH]
  if (directive !== undefined) return replaced(directive, patch)
  retainKeys(original, patch)
  mergeOrderedLists(original, patch, schema)
  for (const key of Object.keys(patch)) {
    const value = patch[key]
    if (key.startsWith(DELETE_PREFIX)) {
      deleteFromList(original, key.slice(DELETE_PREFIX.length), value)
    } else if (value === null) delete original[key]
    else {
      const merged = mergeField(ownValue(original, key), value, lookup(schema, key))
      if (merged === undefined) delete original[key]
      else setOwn(original, key, merged)
    }
  }
  return original
}

interface Found {
  readonly schema: Schema
  readonly field: FieldSchema | undefined
}

/** How a key of an object merges; undefined where the schema says nothing. */
function lookup(schema: Schema | undefined, key: string): Found | undefined {
  if (schema?.kind === 'struct') {
    const field = schema.fields.get(key)
    return field === undefined ? undefined : { schema: field.schema, field }
  }
  return schema?.kind === 'map' ? { schema: schema.values, field: undefined } : undefined
}

function mergeField(original: unknown, patch: unknown, found: Found | undefined): unknown {
  if (isObject(original) && isObject(patch)) {
    if (found?.field?.patchStrategy.includes('replace')) return withoutDirectives(patch)
    return mergeObject(original, patch, found?.schema)
  }
  if (Array.isArray(original) && Array.isArray(patch)) {
    if (!found?.field?.patchStrategy.includes('merge')) return patch
    return mergeList(original, patch, found.field)
  }
  return withoutDirectives(patch)
}

function mergeList(
  original: unknown[],
  patch: unknown[],
  field: FieldSchema,
  merged = mergeElements(original, patch, field),
): unknown[] {
  // A list that the patch replaced as a whole has no order of its own to keep.
  const order = patch.filter((item) => !isObject(item) || item[PATCH] === undefined)
  return enforceOrder({ merged, order, original, mergeKey: field.patchMergeKey })
}

/** The elements of both lists, before the order is settled. */
function mergeElements(original: unknown[], patch: unknown[], field: FieldSchema): unknown[] {
  const all = [...original, ...patch]
  if (all.some(Array.isArray)) throw rejected('lists of lists are not supported')
  if (all.every(isScalar)) return [...new Set(all)]
  if (!all.every(isObject)) {
    throw failed(`list element types are not identical: ${shown([original, patch])}`)
  }
  const mergeKey = field.patchMergeKey
  if (mergeKey === undefined) {
    throw failed(`cannot merge lists without merge key for ${field.schema.goType}`)
  }
  const items = field.schema.kind === 'list' ? field.schema.items : undefined
  return mergeByKey(original as JsonObject[], patch as JsonObject[], { mergeKey, items })
}

function mergeByKey(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  by: { mergeKey: string; items: Schema | undefined },
): JsonObject[] {
  const { mergeKey, items } = by
  const deleted = new Set<unknown>()
  const plain: JsonObject[] = []
  let isReplaced = false
  for (const element of patch) {
    const directive = element[PATCH]
    if (directive === undefined) plain.push(element)
    else if (directive === 'delete') deleted.add(requiredKey(element, mergeKey))
    else if (directive === 'replace') isReplaced = true
    else if (directive === 'merge') {
      throw failed('merging lists cannot yet be specified in the patch')
    } else throw badDirective(directive, element)
  }
  if (isReplaced) return withoutMarks(plain) as JsonObject[]
  const merged = original.filter((item) => !deleted.has(keyValue(item, mergeKey)))
  const indexOf = positions(merged, mergeKey)
  for (const element of plain) {
    const value = requiredKey(element, mergeKey)
    const index = indexOf.get(value) ?? merged.length
    const found = merged[index]
    indexOf.set(value, index)
    merged[index] =
      found === undefined
        ? (withoutMarks(element) as JsonObject)
        : mergeObject(found, element, items)
  }
  return merged
}

function requiredKey(element: JsonObject, mergeKey: string): unknown {
  const value = keyValue(element, mergeKey)
  if (value !== undefined) return value
  throw failed(`map: ${shown(element)} does not contain declared merge key: ${mergeKey}`)
}

/** `$patch` in an object: the patch instead of the original, or nothing at all. */
function replaced(directive: unknown, patch: JsonObject): JsonObject {
  if (directive === 'delete') return {}
  if (directive !== 'replace') throw badDirective(directive, patch)
  const { [PATCH]: _, ...rest } = patch
  return rest
}

/** `$retainKeys`: fields of the original that it does not name go. */
function retainKeys(original: JsonObject, patch: JsonObject): void {
  const list = patch[RETAIN_KEYS]
  if (list === undefined) return
  const keep = new Set(Array.isArray(list) ? list : [])
  delete patch[RETAIN_KEYS]
  const isNamed = (key: string) =>
    keep.has(key) ||
    patch[key] === null ||
    key.startsWith(ORDER_PREFIX) ||
    key.startsWith(DELETE_PREFIX)
  if (!Array.isArray(list) || !Object.keys(patch).every(isNamed)) {
    throw badRequest('invalid patch format of retainKeys')
  }
  for (const key of Object.keys(original)) if (!keep.has(key)) delete original[key]
}

/** `$setElementOrder/x`: merges list x, then gives the elements it names that order. Takes both out of the patch. */
function mergeOrderedLists(
  original: JsonObject,
  patch: JsonObject,
  schema: Schema | undefined,
): void {
  for (const directive of Object.keys(patch)) {
    if (!directive.startsWith(ORDER_PREFIX)) continue
    const key = directive.slice(ORDER_PREFIX.length)
    const order = listOf(patch[directive])
    const current = Object.hasOwn(original, key) ? listOf(original[key]) : undefined
    const changes = Object.hasOwn(patch, key) ? listOf(patch[key]) : undefined
    delete patch[directive]
    if (current === undefined && changes === undefined) continue
    delete patch[key]
    const field = lookup(schema, key)?.field
    checkOrder(changes ?? [], order, field?.patchMergeKey)
    setOwn(original, key, orderedElements({ current, changes, field, order }))
  }
}

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  throw failed(`expected a []interface {}, but received a ${goTypeOf(value)}`)
}

function orderedElements(from: {
  current: unknown[] | undefined
  changes: unknown[] | undefined
  field: FieldSchema | undefined
  order: unknown[]
}): unknown[] {
  const { current, changes, field, order } = from
  const mergeKey = field?.patchMergeKey
  if (current === undefined) {
    const merged = withoutDirectives(changes) as unknown[]
    return enforceOrder({ merged, order, original: [], mergeKey })
  }
  if (changes === undefined) {
    return enforceOrder({ merged: current, order, original: current, mergeKey })
  }
  if (field === undefined || !field.patchStrategy.includes('merge')) {
    return enforceOrder({ merged: changes, order, original: current, mergeKey })
  }
  const elements = mergeElements(current, changes, field)
  const merged = mergeList(current, changes, field, elements)
  // As upstream, where the merge has by now written over the list: deleted elements made room for added ones.
  const original = mergeKey === undefined ? current : elements.slice(0, current.length)
  return enforceOrder({ merged, order, original, mergeKey })
}

/** The patch's own elements must come in the order that its directive states. */
function checkOrder(
  changes: readonly unknown[],
  order: readonly unknown[],
  mergeKey: string | undefined,
): void {
  let next = 0
  for (const item of changes) {
    if (isObject(item) && item[PATCH] === 'delete') continue
    const value = byKey(item, mergeKey)
    while (next < order.length && byKey(order[next], mergeKey) !== value) next += 1
    if (next === order.length) {
      throw failed(
        `The order in patch list:\n${shown(changes)}\n doesn't match $setElementOrder list:\n${shown(order)}\n`,
      )
    }
    next += 1
  }
}

function deleteFromList(original: JsonObject, key: string, values: unknown): void {
  const list = ownValue(original, key)
  if (!Array.isArray(list) || !Array.isArray(values)) return
  const gone = new Set(values.map(shown))
  setOwn(
    original,
    key,
    list.filter((item) => !gone.has(shown(item))),
  )
}

/** A new field as upstream stores it: an object with a directive of its own leaves nothing (undefined). */
function withoutDirectives(value: unknown): unknown {
  return isObject(value) && value[PATCH] !== undefined
    ? undefined
    : stripped(value, withoutDirectives)
}

/** A new list element as upstream stores it: directives inside are only taken out. */
function withoutMarks(value: unknown): unknown {
  return stripped(value, withoutMarks)
}

/** Directives and nulls go, and with them list elements that are directives. */
function stripped(value: unknown, strip: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) {
    return value.filter((item) => !isObject(item) || item[PATCH] === undefined).map(strip)
  }
  if (!isObject(value)) return value
  const clean: JsonObject = {}
  for (const key of Object.keys(value)) {
    const isDirective =
      key === PATCH ||
      key === RETAIN_KEYS ||
      key.startsWith(ORDER_PREFIX) ||
      key.startsWith(DELETE_PREFIX)
    const inner = isDirective || value[key] === null ? undefined : strip(value[key])
    if (inner !== undefined) setOwn(clean, key, inner)
  }
  return clean
}

function ownValue(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

function badDirective(directive: unknown, patch: JsonObject): StatusError {
  return failed(`unknown patch type: ${shown(directive)} in map: ${shown(patch)}`)
}

function rejected(why: string): StatusError {
  return new StatusError(
    'Invalid',
    'the server rejected our request due to an error in our request',
    {
      details: {},
      cause: new Error(why),
    },
  )
}

function failed(message: string): StatusError {
  return new StatusError('', message, { code: 500 })
}

/** As Go prints a value: `map[a:1 b:<nil>]`, `[x y]`. */
function shown(value: unknown): string {
  if (value === null) return '<nil>'
  if (Array.isArray(value)) return `[${value.map(shown).join(' ')}]`
  if (!isObject(value)) return `${value as string | number | boolean}`
  const entries = Object.keys(value).toSorted()
  return `map[${entries.map((key) => `${key}:${shown(value[key])}`).join(' ')}]`
}

function goTypeOf(value: unknown): string {
  if (value === null) return '<nil>'
  return typeof value === 'object' ? 'map' : typeof value === 'boolean' ? 'bool' : typeof value
}
