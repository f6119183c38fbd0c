/** The parts of a schema: the schemas of a value's items and fields. */
import type { JSONSchemaProps } from '../../api/generated/types.ts'

/** The schema of items, where it is one and not a list. */
export function itemsOf(schema: JSONSchemaProps): JSONSchemaProps | undefined {
  return schema.items && !Array.isArray(schema.items) ? schema.items : undefined
}

export function additionalOf(schema: JSONSchemaProps): JSONSchemaProps | undefined {
  const { additionalProperties: additional } = schema
  return typeof additional === 'object' && additional !== null ? additional : undefined
}

/** Whether any part has rules in CEL. */
export function hasRules(schema: JSONSchemaProps): boolean {
  if ((schema['x-kubernetes-validations'] ?? []).length > 0) return true
  const [items, additional] = [itemsOf(schema), additionalOf(schema)]
  return (
    (items !== undefined && hasRules(items)) ||
    (additional !== undefined && hasRules(additional)) ||
    Object.values(schema.properties ?? {}).some(hasRules)
  )
}
