/** How large values of a schema can become: what the cost of rules is estimated by (upstream: apiserver/pkg/cel/common schemas.go). */
import type { JSONSchemaProps } from '../../api/generated/types.ts'
import type { Sized } from '../../cel/cel-estimate.ts'
import { additionalOf, itemsOf } from './schema-parts.ts'
import { escapedName } from './escaped-name.ts'

/** Bytes of the largest request. */
const mostBytes = 3 * 1024 * 1024
/** Without the quotes or brackets around it. */
const mostInside = mostBytes - 2

const texts: Readonly<Record<string, { least: number; most: number }>> = {
  duration: { least: 3, most: 32 },
  date: { least: 12, most: 12 },
  'date-time': { least: 21, most: 37 },
}

/** How often values of the schema can stand in an object at most. */
export function mostTimes(sized: Sized): number {
  return Math.floor(mostBytes / (sized.leastBytes + 1))
}

function sizedText(schema: JSONSchemaProps): Sized {
  const { format = '', maxLength, enum: values } = schema
  const fixed = Object.hasOwn(texts, format) ? texts[format] : undefined
  if (fixed !== undefined) return { most: fixed.most, leastBytes: fixed.least }
  const leastBytes = 2
  if (maxLength !== undefined) {
    // A character takes up to four bytes; bytes are counted as they are.
    return { most: Math.max(0, maxLength) * (format === 'byte' ? 1 : 4), leastBytes }
  }
  if (format !== 'byte' && values !== undefined && values.length > 0) {
    const lengths = values.map((value) =>
      typeof value === 'string' ? Buffer.byteLength(value) : 0,
    )
    return { most: Math.max(...lengths), leastBytes }
  }
  return { most: mostInside, leastBytes }
}

/** Undefined for what rules do not see. `isWhole`: of objects with a type and metadata. */
export function sizedOf(schema: JSONSchemaProps, isWhole: boolean): Sized | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) {
    const { maxLength } = schema
    const most = maxLength === undefined ? mostInside : Math.max(0, maxLength) * 4
    return { most, leastBytes: 1 }
  }
  switch (schema.type) {
    case 'array':
      return sizedList(schema)
    case 'object':
      return sizedObject(schema, isWhole)
    case 'string':
      return sizedText(schema)
    case 'boolean':
      return { most: 0, leastBytes: 4 }
    case 'integer':
    case 'number':
      return { most: 0, leastBytes: 1 }
    default:
      return undefined
  }
}

function isEmbedded(schema: JSONSchemaProps): boolean {
  return schema['x-kubernetes-embedded-resource'] === true
}

function sizedList(schema: JSONSchemaProps): Sized | undefined {
  const inner = itemsOf(schema)
  const items = inner && sizedOf(inner, isEmbedded(inner))
  if (items === undefined) return undefined
  const most =
    schema.maxItems === undefined
      ? Math.floor(mostInside / (items.leastBytes + 1))
      : Math.max(0, schema.maxItems)
  return { most, leastBytes: 2, items }
}

/** Of names that no schema restricts. */
const keys: Sized = { most: 0, leastBytes: 2 }

function sizedObject(schema: JSONSchemaProps, isWhole: boolean): Sized | undefined {
  const additional = additionalOf(schema)
  if (additional !== undefined) {
    const items = sizedOf(additional, isEmbedded(additional))
    if (items === undefined) return undefined
    const most =
      schema.maxProperties === undefined
        ? Math.floor(mostInside / (items.leastBytes + 6))
        : Math.max(0, schema.maxProperties)
    return { most, leastBytes: 2, items, keys }
  }
  const text: JSONSchemaProps = { type: 'string' }
  const metadata: JSONSchemaProps = {
    type: 'object',
    properties: { name: text, generateName: text },
  }
  const properties = {
    ...schema.properties,
    ...(isWhole && { kind: text, apiVersion: text, metadata }),
  }
  const fields = new Map<string, Sized>()
  let leastBytes = 2
  for (const [name, property] of Object.entries(properties)) {
    const sized = sizedOf(property, isEmbedded(property))
    if (sized === undefined) continue
    const known = escapedName(name)
    if (known !== undefined) fields.set(known, sized)
    if (schema.required?.includes(name) === true && property.default === undefined) {
      leastBytes += name.length + sized.leastBytes + 4
    }
  }
  return { most: 0, leastBytes, fields }
}
