/** Earlier values: what stood at the same place before an update (upstream: pkg/apiserver/schema/cel/model, correlatable paths). */
import type { JSONSchemaProps } from '../../api/generated/types.ts'
import { isRecord } from '../../machinery/apply/apply-shape.ts'
import { getOwn } from '../../machinery/values/json-copy.ts'
import { deepEqual } from '../../machinery/objects/object.ts'

/**
 * The way from an element to the one that was there before under the same keys; elements of other lists have no past. The list
 * before is looked through once, however many are asked for.
 */
export function elementsBefore(
  before: unknown,
  schema: JSONSchemaProps,
): (item: unknown) => unknown {
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(before)) return () => undefined
  const keyOf = (item: Record<string, unknown>): string =>
    JSON.stringify(keys.map((key) => (Object.hasOwn(item, key) ? [item[key]] : [])))
  const byKey = new Map<string, unknown>()
  for (const item of before) {
    if (!isRecord(item)) continue
    const key = keyOf(item)
    if (!byKey.has(key)) byKey.set(key, item)
  }
  return (item) => (isRecord(item) ? byKey.get(keyOf(item)) : undefined)
}

/** The field's value before; those of maps that count as one value have no past. */
export function fieldBefore(name: string, before: unknown, schema: JSONSchemaProps): unknown {
  if (schema['x-kubernetes-map-type'] === 'atomic') return undefined
  return isRecord(before) ? getOwn(before, name) : undefined
}

/** True when an update leaves the value unchanged: an old validation error does not reject the update then. */
export function isAsBefore(value: unknown, before: unknown): boolean {
  return before !== undefined && deepEqual(value, before)
}
