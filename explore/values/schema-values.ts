/** schema-values: values of a custom resource's spec, made from its schema: bounds, enums, defaults, what is removed, maps and lists that grow and shrink. */

/** As far as this file needs it: an OpenAPI v3 schema of a CustomResourceDefinition. */
export interface ValueSchema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, ValueSchema>>
  readonly required?: readonly string[]
  readonly items?: ValueSchema
  readonly additionalProperties?: ValueSchema | boolean
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: boolean
  readonly exclusiveMaximum?: boolean
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly pattern?: string
  readonly format?: string
}

/** One change of a spec: the value at the path, or that it is removed. */
export interface ValueChange {
  /** Fields from the spec on. */
  readonly path: readonly string[]
  /** Undefined: the field is removed. */
  readonly value: unknown
  /** Why: `maximum`, `removed`. */
  readonly why: string
}

/** Without a maximum, numbers stay this small: a controller that makes an object for each would take all day. */
const mostByDefault = 3

function numbers(schema: ValueSchema): { value: number; why: string }[] {
  const step = schema.multipleOf ?? 1
  const low = (schema.minimum ?? 0) + (schema.exclusiveMinimum === true ? step : 0)
  const high = schema.maximum ?? low + mostByDefault * step
  const top = high - (schema.exclusiveMaximum === true ? step : 0)
  return [
    { value: low, why: 'minimum' },
    { value: Math.min(low + step, top), why: 'above the minimum' },
    { value: top, why: schema.maximum === undefined ? 'larger' : 'maximum' },
  ]
}

function strings(schema: ValueSchema, present: unknown): { value: unknown; why: string }[] {
  // What fits a pattern or a format only its author knows.
  if (schema.pattern !== undefined || schema.format !== undefined) return []
  const { minLength = 0, maxLength } = schema
  const short = 'a'.repeat(Math.max(1, minLength))
  const long = 'b'.repeat(Math.min(maxLength ?? minLength + 8, 63))
  const texts = [
    { value: short, why: 'short' },
    { value: long, why: 'long' },
  ]
  return texts.filter(({ value }) => value !== present)
}

/** A value that fits the schema; undefined where none is known. */
function sample(schema: ValueSchema): unknown {
  if (schema.default !== undefined) return schema.default
  if (schema.enum !== undefined) return schema.enum[0]
  switch (schema.type) {
    case 'integer':
    case 'number':
      return numbers(schema)[1]?.value
    case 'boolean':
      return true
    case 'string':
      return strings(schema, undefined)[0]?.value
    case 'array':
      return schema.minItems === undefined || schema.minItems === 0 ? [] : undefined
    case 'object':
      return (schema.required ?? []).length === 0 ? {} : undefined
    default:
      return undefined
  }
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function lists(schema: ValueSchema, present: unknown): { value: unknown; why: string }[] {
  const { items = {}, minItems = 0, maxItems = Infinity } = schema
  const there: readonly unknown[] = Array.isArray(present) ? present : []
  const more = sample(items) ?? there.at(-1)
  return [
    ...(more !== undefined && there.length < maxItems
      ? [{ value: [...there, more], why: 'one item more' }]
      : []),
    ...(there.length > minItems ? [{ value: there.slice(0, -1), why: 'one item less' }] : []),
  ]
}

function maps(item: ValueSchema, present: unknown): { value: unknown; why: string }[] {
  const there = isMapping(present) ? present : {}
  const more = sample(item)
  const [, ...rest] = Object.entries(there)
  return [
    ...(more === undefined ? [] : [{ value: { ...there, added: more }, why: 'one key more' }]),
    ...(Object.keys(there).length === 0
      ? []
      : [{ value: Object.fromEntries(rest), why: 'one key less' }]),
  ]
}

function valuesOf(schema: ValueSchema, present: unknown): { value: unknown; why: string }[] {
  if (schema.enum !== undefined)
    return schema.enum.map((value) => ({ value, why: `enum ${String(value)}` }))
  switch (schema.type) {
    case 'integer':
    case 'number':
      return numbers(schema)
    case 'boolean':
      return [
        { value: true, why: 'true' },
        { value: false, why: 'false' },
      ]
    case 'string':
      return strings(schema, present)
    case 'array':
      return lists(schema, present)
    case 'object':
      return isMapping(schema.additionalProperties)
        ? maps(schema.additionalProperties, present)
        : []
    default:
      return []
  }
}

/** Every change of one field that makes a difference to this spec. */
export function changesOf(
  schema: ValueSchema,
  spec: unknown,
  path: readonly string[] = [],
): ValueChange[] {
  const fields = isMapping(spec) ? spec : {}
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const present = fields[name]
    const at = [...path, name]
    const own = valuesOf(field, present)
      .filter(({ value }) => JSON.stringify(value) !== JSON.stringify(present))
      .map((one): ValueChange => ({ path: at, ...one }))
    const isRemovable = present !== undefined && schema.required?.includes(name) !== true
    const removed: ValueChange[] = isRemovable
      ? [{ path: at, value: undefined, why: 'removed' }]
      : []
    const inner = field.properties === undefined ? [] : changesOf(field, present, at)
    return [...own, ...inner, ...removed]
  })
}

/** The spec with the change. */
export function changed(spec: unknown, { path, value }: ValueChange): Record<string, unknown> {
  const [first = '', ...rest] = path
  const { [first]: present, ...others } = isMapping(spec) ? spec : {}
  if (rest.length > 0)
    return { ...others, [first]: changed(present, { path: rest, value, why: '' }) }
  return value === undefined ? others : { ...others, [first]: value }
}
