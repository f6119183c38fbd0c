/**
 * Created fields: the `fieldsV1` text of a new object in one pass, by writers that are compiled once per struct. The result
 * equals comparing the object with an empty one of its kind. This is the hottest part of field ownership.
 */
import {
  applyShapeOf,
  isRecord,
  type ApplyShape,
  type ListShape,
  type StructShape,
} from './apply-shape.ts'
import {
  compareValues,
  elementText,
  itemElement,
  setElement,
  type ElementKey,
} from './field-elements.ts'
import { decode } from '../schema/decode.ts'
import { deepEqual } from '../objects/object.ts'
import type { StructSchema } from '../schema/schema.ts'

/** The text of a value's node: `{}` for a leaf, `''` if no part of it is owned. */
type Write = (value: unknown) => string

const leafText = '{}'

interface FieldWriter {
  readonly name: string
  /** Its index among the sorted names of its struct. */
  readonly rank: number
  /** `,"f:name":` */
  readonly prefix: string
  readonly write: Write
}

interface FieldWriters {
  readonly byName: ReadonlyMap<string, FieldWriter>
  /** The step before the first field. */
  readonly start: Step
  /** The number of other steps. */
  steps: number
}

/**
 * A step of reading a value: the fields seen so far, in the value's order. Values of one kind have few different sets of fields,
 * so the text for each set is built once.
 */
interface Step {
  /** In order. */
  readonly fields: readonly FieldWriter[]
  /** The step after one more field; the same step for a field without an owner. */
  readonly next: Map<string, Step>
  parts: readonly Part[] | undefined
}

/** Constant text for this set of fields, and the field whose text follows; the last part has no field. */
interface Part {
  readonly text: string
  readonly field: FieldWriter | undefined
}

/** The most sets to cache. Usual clients send fewer; others are computed each time. */
const mostSteps = 2000

/** Metadata without an owner: only the server sets it, or it names the object. */
export const unownedMetadata: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
])

const unowned: ReadonlySet<string> = new Set(['kind', 'apiVersion'])

const writers = new WeakMap<StructSchema, WeakMap<readonly string[], Write>>()

/**
 * The fields that the creator of `object` owns, as canonical JSON text; undefined if it owns no fields. Omits the top-level
 * fields that a create resets (`status`); pass the same array of them each time.
 */
export function createdFields(
  schema: StructSchema,
  object: unknown,
  resetFields: readonly string[],
): string | undefined {
  let known = writers.get(schema)
  if (known === undefined) writers.set(schema, (known = new WeakMap()))
  let write = known.get(resetFields)
  if (write === undefined) known.set(resetFields, (write = compileRoot(schema, resetFields)))
  const text = write(object)
  return text === '' ? undefined : text
}

function compileRoot(schema: StructSchema, resetFields: readonly string[]): Write {
  const shape = applyShapeOf(schema)
  const empty = decode<Record<string, unknown>>({}, schema, { mode: 'ignore' }).object
  const skipped = new Set([...unowned, ...resetFields])
  const fields = writersOf(shape, skipped, (name, field) =>
    name === 'metadata' && field.kind === 'struct'
      ? writeStruct(changedWriters(field, empty['metadata'], unownedMetadata))
      : changed(field, empty[name]),
  )
  return writeStruct(fields)
}

function writersOf(
  shape: StructShape,
  skipped: ReadonlySet<string>,
  compile: (name: string, field: ApplyShape) => Write,
): FieldWriters {
  const byName = new Map<string, FieldWriter>()
  for (const [rank, name] of shape.names.entries()) {
    if (skipped.has(name)) continue
    const write = compile(name, shape.field(name) as ApplyShape)
    byName.set(name, { name, rank, prefix: `,${elementText(`f:${name}`)}:`, write })
  }
  return { byName, start: { fields: [], next: new Map(), parts: undefined }, steps: 0 }
}

const noneSkipped: ReadonlySet<string> = new Set()

const writeLeaf: Write = () => leafText

/** Writes the fields of an object that the empty object lacks. */
function changed(shape: ApplyShape, empty: unknown): Write {
  if (empty === undefined) return (value) => (value === undefined ? '' : added(shape)(value))
  switch (shape.kind) {
    case 'struct':
      return writeStruct(changedWriters(shape, empty, noneSkipped))
    case 'map': {
      const write = added(shape.values)
      return (value) => (isRecord(value) ? braced(mapText(value, write)) : '')
    }
    case 'list':
    case 'set': {
      const write = itemsText(shape)
      return (value) => (Array.isArray(value) ? braced(write(value)) : '')
    }
    case 'free':
      return (value) => {
        const inner = isRecord(value) ? braced(mapText(value, writeFree)) : ''
        return inner !== '' ? inner : deepEqual(value, empty) ? '' : leafText
      }
    case 'leaf':
      return (value) => (deepEqual(value, empty) ? '' : leafText)
  }
}

function changedWriters(
  shape: StructShape,
  empty: unknown,
  skipped: ReadonlySet<string>,
): FieldWriters {
  const zero = isRecord(empty) ? empty : {}
  return writersOf(shape, skipped, (name, field) =>
    zero[name] === undefined ? added(field) : changed(field, zero[name]),
  )
}

/** Writes the fields' texts, or nothing if all are empty. */
function writeStruct(fields: FieldWriters): Write {
  return (value) => {
    if (!isRecord(value)) return ''
    let text = ''
    for (const field of stepOf(fields, value).fields) {
      const inner = field.write(value[field.name])
      if (inner === '') continue
      text += text === '' ? `{${field.prefix.slice(1)}${inner}` : field.prefix + inner
    }
    return text === '' ? '' : `${text}}`
  }
}

/** Texts begin with a comma. */
function braced(text: string): string {
  return text === '' ? '' : `{${text.slice(1)}}`
}

/** Iterates over the value's own fields instead of the declared ones, most of which are absent. */
function stepOf(fields: FieldWriters, value: Record<string, unknown>): Step {
  let step = fields.start
  for (const name in value) {
    if (value[name] !== undefined) step = step.next.get(name) ?? stepAfter(fields, step, name)
  }
  return step
}

function stepAfter(fields: FieldWriters, step: Step, name: string): Step {
  const field = fields.byName.get(name)
  const after =
    field === undefined
      ? step
      : {
          fields: [...step.fields, field].sort((a, b) => a.rank - b.rank),
          next: new Map<string, Step>(),
          parts: undefined,
        }
  if (fields.steps < mostSteps) {
    fields.steps += 1
    step.next.set(name, after)
  }
  return after
}

/** The text of an object with these fields, none of which is empty. */
function partsOf(fields: readonly FieldWriter[]): Part[] {
  const parts: Part[] = []
  let text = fields.length === 0 ? '{' : '{".":{}'
  for (const field of fields) {
    text += field.prefix
    if (field.write === writeLeaf) text += leafText
    else {
      parts.push({ text, field })
      text = ''
    }
  }
  return [...parts, { text: `${text}}`, field: undefined }]
}

const structs = new WeakMap<StructShape, Write>()

/** Writes a value that the empty object lacks, with all of its members. */
function added(shape: ApplyShape): Write {
  switch (shape.kind) {
    case 'leaf':
      return writeLeaf
    case 'free':
      return writeFree
    case 'struct':
      return addedStruct(shape)
    case 'map': {
      const write = added(shape.values)
      return (value) => (isRecord(value) ? owned(mapText(value, write)) : leafText)
    }
    case 'list':
    case 'set': {
      const write = itemsText(shape)
      return (value) => (Array.isArray(value) ? owned(write(value)) : leafText)
    }
  }
}

function addedStruct(shape: StructShape): Write {
  const known = structs.get(shape)
  if (known !== undefined) return known
  // Compiled on first use, since schemas can be recursive.
  let fields: FieldWriters | undefined
  const write: Write = (value) => {
    if (!isRecord(value)) return leafText
    fields ??= writersOf(shape, noneSkipped, (_, field) => added(field))
    const step = stepOf(fields, value)
    step.parts ??= partsOf(step.fields)
    let text = ''
    for (const part of step.parts) {
      text += part.text
      if (part.field !== undefined) text += part.field.write(value[part.field.name])
    }
    return text
  }
  structs.set(shape, write)
  return write
}

const writeFree: Write = (value) => (isRecord(value) ? owned(mapText(value, writeFree)) : leafText)

function owned(text: string): string {
  return text === '' ? leafText : `{".":{}${text}}`
}

// Keys that JSON does not escape.
const plain = /^[\w\-./:]*$/

function mapText(value: Record<string, unknown>, write: Write): string {
  const keys = Object.keys(value)
  for (let index = 1; index < keys.length; index += 1) {
    if ((keys[index - 1] as string) > (keys[index] as string)) {
      keys.sort()
      break
    }
  }
  let text = ''
  for (const key of keys) {
    const name = plain.test(key) ? `"f:${key}"` : elementText(`f:${key}`)
    text += `,${name}:${write(value[key])}`
  }
  return text
}

type Items = Extract<ApplyShape, { kind: 'list' | 'set' }>

function itemsText(shape: Items): (items: readonly unknown[]) => string {
  if (shape.kind === 'set') return setText
  const { keys } = shape
  let write: Write | undefined
  return (items) => {
    write ??= added(shape.items)
    const sorted = inKeyOrder(items, keys)
    let before = ''
    let text = ''
    let last = ''
    for (let index = 0; index < sorted.length; index += 1) {
      const item = sorted[index] as Record<string, unknown>
      const element = itemText(item, keys)
      // Repeated items are owned as one.
      if (element === last) text = before + element + leafText
      else {
        before = text
        text += element + write(item)
        last = element
      }
    }
    return text
  }
}

/** `,"k:{\"name\":\"c\"}":` */
function itemText(item: Record<string, unknown>, keys: ListShape['keys']): string {
  let text = ''
  for (let index = 0; index < keys.length; index += 1) {
    const key = keys[index] as ElementKey
    const value = item[key.name] ?? key.default
    const start = index === 0 ? `\\"${key.name}\\":` : `,\\"${key.name}\\":`
    if (typeof value === 'number') text += start + value
    else if (typeof value === 'string' && plain.test(value)) text += `${start}\\"${value}\\"`
    else return `,${elementText(itemElement(item, keys))}:`
  }
  return `,"k:{${text}}":`
}

function inKeyOrder(items: readonly unknown[], keys: ListShape['keys']): readonly unknown[] {
  if (items.length < 2) return items
  const compare = (a: unknown, b: unknown): number => {
    for (const { name, default: fallback } of keys) {
      const left = (a as Record<string, unknown>)[name] ?? fallback
      const right = (b as Record<string, unknown>)[name] ?? fallback
      const order = compareValues(left, right)
      if (order !== 0) return order
    }
    return 0
  }
  for (let index = 1; index < items.length; index += 1) {
    if (compare(items[index - 1], items[index]) > 0) return items.toSorted(compare)
  }
  return items
}

function setText(items: readonly unknown[]): string {
  const elements = [...new Set(items)].toSorted(compareValues)
  return elements.map((value) => `,${elementText(setElement(value))}:${leafText}`).join('')
}
