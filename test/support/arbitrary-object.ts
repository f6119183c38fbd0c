/** Random objects of any kind, made from its schema: right in their types, free in their values. */
import fc from 'fast-check'
import { schemaOf } from '../../components/api/schemas.ts'
import { decode } from '../../components/machinery/schema/decode.ts'
import { durationText } from '../../components/machinery/values/go-duration.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { Schema, StructSchema } from '../../components/machinery/schema/schema.ts'

const text = fc.oneof(
  fc.constantFrom('a', 'b-c', 'x.y/z', '0', ''),
  fc.string({ maxLength: 6, unit: 'grapheme' }),
)
const key = fc.stringMatching(/^[a-z][a-z0-9./-]{0,5}$/)
const date = fc.date({
  min: new Date('1970-01-02T00:00:00Z'),
  max: new Date('2200-01-01T00:00:00Z'),
  noInvalidDate: true,
})
const quantity = fc
  .tuple(fc.integer({ min: 1, max: 4000 }), fc.constantFrom('', 'm', 'k', 'Ki', 'Gi', 'G'))
  .map(([amount, suffix]) => `${amount}${suffix}`)
const rawObject = fc.dictionary(key, fc.oneof(text, fc.integer(), fc.boolean()), { maxKeys: 3 })

function scalar(schema: Exclude<Schema, StructSchema | { kind: 'list' | 'map' }>) {
  switch (schema.kind) {
    case 'string':
      return schema.values === undefined ? text : fc.constantFrom(...schema.values.known)
    case 'bool':
      return fc.boolean()
    case 'int32':
      return fc.integer()
    case 'int64':
      return fc.maxSafeInteger()
    case 'double':
      return fc.integer({ min: -1000, max: 1000 }).map((value) => value / 4)
    case 'bytes':
      return fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes).toString('base64'))
    case 'Time':
      return date.map((value) => value.toISOString().replace(/\.\d+Z$/, 'Z'))
    case 'MicroTime':
      return date.map((value) => value.toISOString().replace('Z', '042Z'))
    case 'Duration':
      return fc.nat(1e6).map((ms) => durationText(ms * 1e6))
    case 'Quantity':
      return quantity
    case 'IntOrString':
      return fc.oneof(fc.integer(), text)
    case 'RawExtension':
    case 'FieldsV1':
      return rawObject
    case 'JSON':
    case 'any':
      return fc.oneof(rawObject, text, fc.integer(), fc.boolean())
  }
}

/** Structs below this depth have no struct in them: kinds such as schemas nest without end. */
const deepest = 7

function arbitraryOf(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  if (schema.kind === 'list') {
    return fc.array(arbitraryOf(schema.items, depth), { maxLength: 2 })
  }
  if (schema.kind === 'map') {
    return fc.dictionary(key, arbitraryOf(schema.values, depth), { maxKeys: 2 })
  }
  if (schema.kind === 'struct') return structOf(schema, depth)
  return scalar(schema)
}

function isNested(schema: Schema): boolean {
  if (schema.kind === 'list') return isNested(schema.items)
  if (schema.kind === 'map') return isNested(schema.values)
  return schema.kind === 'struct'
}

function structOf(schema: StructSchema, depth: number): fc.Arbitrary<unknown> {
  if (schema.union !== undefined) {
    return schema.union === 'schema-or-bool' ? fc.boolean() : fc.constant({ type: 'string' })
  }
  const fields = [...schema.fields.values()].filter(
    (field) => depth < deepest || !isNested(field.schema),
  )
  return fc.record(
    Object.fromEntries(
      fields.map((field) => [
        field.name,
        fc.option(arbitraryOf(field.schema, depth + 1), {
          nil: undefined,
          // Most of a large kind is left out, so that objects stay small.
          freq: fields.length > 12 ? 1 : 3,
        }),
      ]),
    ),
  )
}

/** Objects as a decoder leaves them, with a name and a uid; `schemaName` as in `core/v1.Pod`. */
export function arbitraryObject(
  schemaName: string,
  type: { readonly kind: string; readonly apiVersion: string },
): fc.Arbitrary<KubeObject> {
  const schema = schemaOf(schemaName)
  return structOf(schema, 0).map((value) => {
    const sent = { ...(value as Record<string, unknown>) }
    sent['metadata'] = { ...(sent['metadata'] as object | undefined), name: 'n', uid: 'u' }
    const { object, problems } = decode(sent, schema)
    if (problems.fatal !== undefined) throw new Error(`${schemaName}: ${problems.fatal}`)
    const { kind: _, apiVersion: __, ...rest } = object
    return { ...type, ...rest }
  })
}
