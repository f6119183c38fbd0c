/** Objects that have the shape of their kind and contents that nobody would write. */
import type { ScalarKind, Schema, StructSchema } from '../../components/machinery/schema/schema.ts'
import { oddJson, oddNumber, oddText } from './odd-values.ts'
import type { Random } from './random.ts'

/** A value for the schema; now and then one of quite another type. */
export function oddOf(random: Random, schema: Schema, depth: number): unknown {
  if (random.chance(0.005)) return oddJson(random, 2)
  switch (schema.kind) {
    case 'struct':
      return depth <= 0 ? {} : oddStruct(random, schema, depth)
    case 'list':
      return random.many(depth <= 0 ? 0 : 3, () => oddOf(random, schema.items, depth - 1))
    case 'map':
      return Object.fromEntries(
        random.many(depth <= 0 ? 0 : 3, () => [
          oddText(random),
          oddOf(random, schema.values, depth - 1),
        ]),
      )
    case 'bool':
      return random.chance(0.5)
    case 'int32':
    case 'int64':
      return Math.trunc(random.chance(0.5) ? random.int(10) : oddNumber(random))
    case 'double':
      return oddNumber(random)
    case 'IntOrString':
      return random.chance(0.5) ? oddText(random) : Math.trunc(oddNumber(random))
    case 'string': {
      const { values } = schema
      return values !== undefined && random.chance(0.7)
        ? random.pick(values.known)
        : oddText(random)
    }
    case 'RawExtension':
    case 'JSON':
    case 'FieldsV1':
    case 'any':
      return oddJson(random)
    default:
      return random.chance(0.9) ? soundScalar(random, schema.kind) : oddText(random)
  }
}

/** Texts that most kinds of scalars take: a wrong one ends the request before anything looks at the rest. */
function soundScalar(random: Random, kind: ScalarKind): string {
  if (kind === 'bytes') return random.pick(['', 'YQ==', 'AAAA'])
  if (kind === 'Time' || kind === 'MicroTime') {
    return random.pick(['2025-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z'])
  }
  return random.pick(['0', '1', '-1', '1Gi', '500m', '1e3', '0.5', '9223372036854775807', '1n'])
}

function oddStruct(random: Random, schema: StructSchema, depth: number): unknown {
  const result: Record<string, unknown> = {}
  const fields = [...schema.fields.values()]
  for (const field of fields) {
    const likelihood = field.required ? 0.7 : Math.min(0.5, 4 / fields.length)
    if (random.chance(likelihood)) result[field.name] = oddOf(random, field.schema, depth - 1)
  }
  return result
}

/** A copy with something odd in one or a few places that exist, or a field more that the kind has. */
export function mutated(random: Random, object: object, schema: StructSchema): unknown {
  const copy = structuredClone(object) as Record<string, unknown>
  const changes = 1 + random.int(3)
  for (let count = 0; count < changes; count += 1) mutateOnce(random, copy, schema)
  return copy
}

function mutateOnce(random: Random, root: Record<string, unknown>, rootSchema: Schema): void {
  let at: unknown = root
  let schema: Schema | undefined = rootSchema
  for (;;) {
    const container = at as Record<string, unknown>
    const keys: string[] = Object.keys(container)
    const known: string[] = schema?.kind === 'struct' ? [...schema.fields.keys()] : []
    const key: string = random.pick([...keys, ...(random.chance(0.5) ? known : keys), 'spec'])
    const inner = innerOf(schema, key)
    const child = Object.hasOwn(container, key) ? container[key] : undefined
    if (typeof child === 'object' && child !== null && random.chance(0.8)) {
      at = child
      schema = inner
      continue
    }
    if (random.chance(0.1)) delete container[key]
    else container[key] = inner === undefined ? oddJson(random) : oddOf(random, inner, 4)
    return
  }
}

function innerOf(schema: Schema | undefined, key: string): Schema | undefined {
  if (schema?.kind === 'struct') return schema.fields.get(key)?.schema
  if (schema?.kind === 'list') return schema.items
  return schema?.kind === 'map' ? schema.values : undefined
}
