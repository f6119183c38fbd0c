/** Defaulting: fills in, in place, what a structural schema has defaults for (upstream: schema/defaulting/algorithm.go). */
import type { JSONSchemaProps } from '../../api/generated/types.ts'
import { isRecord } from '../../machinery/apply/apply-shape.ts'
import { copyJson, getOwn, setOwn } from '../../machinery/values/json-copy.ts'
import { additionalOf, itemsOf } from './schema-parts.ts'

function isForbiddenNull(value: unknown, schema: JSONSchemaProps): boolean {
  return value === null && schema.nullable !== true
}

/** Defaults of absent fields, and of nulls where none may be; those of what is inside of defaults too. */
export function fillDefaults(value: unknown, schema: JSONSchemaProps | undefined): void {
  if (schema === undefined) return
  if (Array.isArray(value)) {
    const items = itemsOf(schema)
    if (items === undefined) return
    for (const [index, item] of value.entries()) {
      if (isForbiddenNull(item, items) && items.default !== undefined) {
        value[index] = copyJson(items.default)
      }
      fillDefaults(value[index], items)
    }
    return
  }
  if (!isRecord(value)) return
  const { properties = {} } = schema
  for (const [name, property] of Object.entries(properties)) {
    if (property.default === undefined) continue
    const held = getOwn(value, name)
    if (held === undefined || isForbiddenNull(held, property)) {
      setOwn(value, name, copyJson(property.default))
    }
  }
  const additional = additionalOf(schema)
  for (const name of Object.keys(value)) {
    const property = getOwn(properties, name)
    if (property !== undefined) fillDefaults(value[name], property)
    else if (additional !== undefined) {
      if (isForbiddenNull(value[name], additional) && additional.default !== undefined) {
        value[name] = copyJson(additional.default)
      }
      fillDefaults(value[name], additional)
    }
  }
}
