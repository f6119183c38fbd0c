/**
 * Random values of a schema, a thousand in a few milliseconds: fields in any order, nulls, fields that the kind does not have,
 * now and then a value of another type.
 */
import { durationText } from '../../../components/machinery/values/go-duration.ts'
import { setOwn } from '../../../components/machinery/values/json-copy.ts'
import type { Schema, StructSchema } from '../../../components/machinery/schema/schema.ts'
import type { Random } from '../../fuzz/random.ts'

const texts = ['a', 'b-c', 'x.y/z', '', '0', 'é', '😀', '"', '\\', '<', '\u2028', '\n']
const keys = ['a', 'b', 'B', 'z.y/x', '', '0', '10', '2', 'ä', '"', 'constructor', '__proto__']
const times = ['2025-01-01T00:00:00Z', '2024-02-29T23:59:59Z', '2025-01-01T02:00:00+02:00']
const quantities = ['1', '500m', '1Gi', '1e3', '1024Ki', '0.5', '0', '1000m']
const numbers = [0, 1, -1, 2, 7, 80, 443, 2 ** 31 - 1]

/** Structs below this depth have no struct in them: kinds such as schemas nest without end. */
const deepest = 7

export interface Oddness {
  /** How likely a value is of another type than its field's. */
  readonly wrong: number
}

/** An object of the kind; of a large kind most is left out. */
export function randomObject(random: Random, schema: StructSchema, oddness: Oddness): object {
  return structOf(random, schema, 0, oddness) as object
}

function structOf(random: Random, schema: StructSchema, depth: number, oddness: Oddness): unknown {
  if (schema.union !== undefined) {
    const isBoolean = schema.union === 'schema-or-bool'
    return isBoolean ? random.chance(0.5) : { type: 'string', ...(random.chance(0.3) && { x: 1 }) }
  }
  const names: (readonly [string, Schema | undefined])[] = []
  const likelihood = Math.min(0.6, 5 / schema.fields.size)
  for (const [name, field] of schema.fields) {
    if (!random.chance(likelihood)) continue
    if (depth < deepest || !isNested(field.schema)) names.push([name, field.schema])
  }
  if (random.chance(0.05))
    names.push([random.pick(['unknown', 'a"b', '__proto__', 'x.y']), undefined])
  if (random.chance(0.3)) shuffle(random, names)
  const object: Record<string, unknown> = {}
  for (const [name, inner] of names)
    setOwn(object, name, valueOf(random, inner, depth + 1, oddness))
  return object
}

function valueOf(
  random: Random,
  schema: Schema | undefined,
  depth: number,
  oddness: Oddness,
): unknown {
  if (random.chance(0.03)) return null
  if (schema === undefined || random.chance(oddness.wrong)) return anything(random)
  switch (schema.kind) {
    case 'struct':
      return structOf(random, schema, depth, oddness)
    case 'list':
      return random.many(2, () => valueOf(random, schema.items, depth, oddness))
    case 'map':
      return mapOf(random, () => valueOf(random, schema.values, depth, oddness))
    case 'string':
      return schema.values === undefined ? random.pick(texts) : random.pick(schema.values.known)
    case 'bool':
      return random.chance(0.5)
    case 'int32':
    case 'int64':
      return random.pick(numbers)
    case 'double':
      return random.pick(numbers) / 4
    case 'IntOrString':
      return random.chance(0.5) ? random.pick(numbers) : random.pick(['a', '50%'])
    case 'bytes':
      return random.pick(['', 'YQ==', 'AAAA', 'YW\nI='])
    case 'Time':
    case 'MicroTime':
      return random.pick(times)
    case 'Duration':
      return durationText(random.int(1e6) * 1e6)
    case 'Quantity':
      return random.pick(quantities)
    case 'RawExtension':
    case 'FieldsV1':
      return mapOf(random, () => random.pick<unknown>([1, 'a', true, null, [1], {}]))
    case 'JSON':
    case 'any':
      return anything(random)
  }
}

function anything(random: Random): unknown {
  return random.pick<() => unknown>([
    () => random.pick(texts),
    () => random.pick(numbers),
    () => 1.5,
    () => random.chance(0.5),
    () => random.many(2, () => random.pick(texts)),
    () => mapOf(random, () => random.pick(numbers)),
  ])()
}

function mapOf(random: Random, value: () => unknown): Record<string, unknown> {
  const map: Record<string, unknown> = {}
  for (const key of random.many(3, () => random.pick(keys))) setOwn(map, key, value())
  return map
}

function isNested(schema: Schema): boolean {
  if (schema.kind === 'list') return isNested(schema.items)
  if (schema.kind === 'map') return isNested(schema.values)
  return schema.kind === 'struct'
}

function shuffle(random: Random, list: unknown[]): void {
  for (let at = list.length - 1; at > 0; at -= 1) {
    const other = random.int(at + 1)
    ;[list[at], list[other]] = [list[other], list[at]]
  }
}
