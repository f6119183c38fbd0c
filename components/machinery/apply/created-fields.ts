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

/** Writes the text of a value's node: `{}` for a leaf, nothing if no part of it is owned. */
type Write = (value: unknown, to: Pieces) => void

const leafText = '{}'

/** A text of more pieces is not kept for the next object, nor is its memory. */
const mostKept = 4096

/**
 * Pieces of text, joined once: most are constants, and a text that grows piece by piece takes several times its length. `list`
 * keeps its memory from object to object.
 */
class Pieces {
  readonly list: string[] = []
  size = 0

  add(piece: string): void {
    this.list[this.size] = piece
    this.size += 1
  }

  taken(): string[] {
    const taken = this.list.slice(0, this.size)
    if (this.size > mostKept) this.list.length = 0
    return taken
  }

  /** Whether these pieces are the same. */
  equals(others: readonly string[]): boolean {
    if (others.length !== this.size) return false
    for (let index = 0; index < this.size; index += 1) {
      if (others[index] !== this.list[index]) return false
    }
    return true
  }
}

/** The text of the last object of a kind. Clients create many objects that set the same fields. */
interface LastText {
  pieces: readonly string[]
  text: string
}

/** No object is written while another one is. */
const pieces = new Pieces()

interface FieldWriter {
  readonly name: string
  /** Its index among the sorted names of its struct. */
  readonly rank: number
  /** `,"f:name":` */
  readonly prefix: string
  /** The same without the comma. */
  readonly first: string
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

interface Root {
  readonly write: Write
  readonly last: LastText
}

const roots = new WeakMap<StructSchema, WeakMap<readonly string[], Root>>()

/**
 * The fields that the creator of `object` owns, as canonical JSON text; undefined if it owns no fields. Omits the top-level
 * fields that a create resets (`status`); pass the same array of them each time.
 */
export function createdFields(
  schema: StructSchema,
  object: unknown,
  resetFields: readonly string[],
): string | undefined {
  let known = roots.get(schema)
  if (known === undefined) roots.set(schema, (known = new WeakMap()))
  let root = known.get(resetFields)
  if (root === undefined) {
    root = { write: compileRoot(schema, resetFields), last: { pieces: [], text: '' } }
    known.set(resetFields, root)
  }
  const { write, last } = root
  pieces.size = 0
  write(object, pieces)
  if (pieces.size === 0) return undefined
  if (pieces.equals(last.pieces)) return last.text
  const taken = pieces.taken()
  const text = taken.join('')
  if (taken.length <= mostKept) {
    last.pieces = taken
    last.text = text
  }
  return text
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
    const first = `${elementText(`f:${name}`)}:`
    byName.set(name, { name, rank, prefix: `,${first}`, first, write })
  }
  return { byName, start: { fields: [], next: new Map(), parts: undefined }, steps: 0 }
}

const noneSkipped: ReadonlySet<string> = new Set()

const writeLeaf: Write = (_, to) => to.add(leafText)

/** Writes the fields of an object that the empty object lacks. */
function changed(shape: ApplyShape, empty: unknown): Write {
  if (empty === undefined) {
    const write = added(shape)
    return (value, to) => (value === undefined ? undefined : write(value, to))
  }
  switch (shape.kind) {
    case 'struct':
      return writeStruct(changedWriters(shape, empty, noneSkipped))
    case 'map': {
      const write = added(shape.values)
      return (value, to) => {
        if (isRecord(value)) braced(to, () => writeMap(value, write, to))
      }
    }
    case 'list':
    case 'set': {
      const write = itemsWriter(shape)
      return (value, to) => {
        if (Array.isArray(value)) braced(to, () => write(value, to))
      }
    }
    case 'free':
      return (value, to) => {
        const before = to.size
        if (isRecord(value)) braced(to, () => writeMap(value, writeFree, to))
        if (to.size === before && !deepEqual(value, empty)) to.add(leafText)
      }
    case 'leaf':
      return (value, to) => (deepEqual(value, empty) ? undefined : to.add(leafText))
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
  return (value, to) => {
    if (!isRecord(value)) return
    const start = to.size
    to.add('{')
    for (const field of stepOf(fields, value).fields) {
      const before = to.size
      to.add(before === start + 1 ? field.first : field.prefix)
      field.write(value[field.name], to)
      if (to.size === before + 1) to.size = before
    }
    if (to.size === start + 1) to.size = start
    else to.add('}')
  }
}

/** Puts braces around what `write` writes, which begins with a comma; nothing around nothing. */
function braced(to: Pieces, write: () => void): void {
  const start = to.size
  write()
  if (to.size === start) return
  to.list[start] = `{${(to.list[start] ?? '').slice(1)}`
  to.add('}')
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
      return (value, to) => {
        const start = beginOwned(to)
        if (isRecord(value)) writeMap(value, write, to)
        endOwned(to, start)
      }
    }
    case 'list':
    case 'set': {
      const write = itemsWriter(shape)
      return (value, to) => {
        const start = beginOwned(to)
        if (Array.isArray(value)) write(value, to)
        endOwned(to, start)
      }
    }
  }
}

function addedStruct(shape: StructShape): Write {
  const known = structs.get(shape)
  if (known !== undefined) return known
  // Compiled on first use, since schemas can be recursive.
  let fields: FieldWriters | undefined
  const write: Write = (value, to) => {
    if (!isRecord(value)) {
      to.add(leafText)
      return
    }
    fields ??= writersOf(shape, noneSkipped, (_, field) => added(field))
    const step = stepOf(fields, value)
    const parts = (step.parts ??= partsOf(step.fields))
    for (let index = 0; index < parts.length; index += 1) {
      const { text, field } = parts[index] as Part
      to.add(text)
      if (field !== undefined) field.write(value[field.name], to)
    }
  }
  structs.set(shape, write)
  return write
}

const writeFree: Write = (value, to) => {
  const start = beginOwned(to)
  if (isRecord(value)) writeMap(value, writeFree, to)
  endOwned(to, start)
}

/** The start of a value that is owned itself, with or without members. */
function beginOwned(to: Pieces): number {
  to.add('{".":{}')
  return to.size
}

function endOwned(to: Pieces, start: number): void {
  if (to.size > start) to.add('}')
  else to.list[start - 1] = leafText
}

// Keys that JSON does not escape.
const plain = /^[\w\-./:]*$/

function writeMap(value: Record<string, unknown>, write: Write, to: Pieces): void {
  const keys = Object.keys(value)
  for (let index = 1; index < keys.length; index += 1) {
    if ((keys[index - 1] as string) > (keys[index] as string)) {
      keys.sort()
      break
    }
  }
  for (const key of keys) {
    if (plain.test(key)) {
      to.add(',"f:')
      to.add(key)
      to.add('":')
    } else to.add(`,${elementText(`f:${key}`)}:`)
    write(value[key], to)
  }
}

type Items = Extract<ApplyShape, { kind: 'list' | 'set' }>

/** Each member's text begins with a comma. */
function itemsWriter(shape: Items): (items: readonly unknown[], to: Pieces) => void {
  if (shape.kind === 'set') return writeSet
  const { keys } = shape
  const addElement = elementAdder(keys)
  let write: Write | undefined
  return (items, to) => {
    write ??= added(shape.items)
    const sorted = inKeyOrder(items, keys)
    let start = to.size
    for (let index = 0; index < sorted.length; index += 1) {
      const item = sorted[index] as Record<string, unknown>
      // Repeated items are owned as one.
      const isRepeated = index > 0 && compareItems(sorted[index - 1], item, keys) === 0
      if (isRepeated) to.size = start
      else start = to.size
      addElement(item, to)
      if (isRepeated) to.add(leafText)
      else write(item, to)
    }
  }
}

/** Adds `,"k:{\"name\":\"c\"}":` */
function elementAdder(
  keys: ListShape['keys'],
): (item: Record<string, unknown>, to: Pieces) => void {
  const starts = keys.map(({ name }, index) => `${index === 0 ? ',"k:{' : ','}\\"${name}\\":`)
  const quotedStarts = starts.map((start) => `${start}\\"`)
  return (item, to) => {
    const before = to.size
    for (let index = 0; index < keys.length; index += 1) {
      const key = keys[index] as ElementKey
      const value = item[key.name] ?? key.default
      if (typeof value === 'number') {
        to.add(starts[index] as string)
        to.add(String(value))
      } else if (typeof value === 'string' && plain.test(value)) {
        to.add(quotedStarts[index] as string)
        to.add(value)
        to.add('\\"')
      } else {
        to.size = before
        to.add(`,${elementText(itemElement(item, keys))}:`)
        return
      }
    }
    to.add('}":')
  }
}

function inKeyOrder(items: readonly unknown[], keys: ListShape['keys']): readonly unknown[] {
  for (let index = 1; index < items.length; index += 1) {
    if (compareItems(items[index - 1], items[index], keys) > 0) {
      return items.toSorted((a, b) => compareItems(a, b, keys))
    }
  }
  return items
}

function compareItems(a: unknown, b: unknown, keys: ListShape['keys']): number {
  for (let index = 0; index < keys.length; index += 1) {
    const { name, default: fallback } = keys[index] as ElementKey
    const left = (a as Record<string, unknown>)[name] ?? fallback
    const right = (b as Record<string, unknown>)[name] ?? fallback
    const order = left === right ? 0 : compareValues(left, right)
    if (order !== 0) return order
  }
  return 0
}

function writeSet(items: readonly unknown[], to: Pieces): void {
  const elements = [...new Set(items)].toSorted(compareValues)
  for (const value of elements) to.add(`,${elementText(setElement(value))}:${leafText}`)
}
