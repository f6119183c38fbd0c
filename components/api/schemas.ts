/** Schemas of all built-in kinds, by dialect-free name (`core/v1.Pod`); each struct is parsed when first looked into. */
import type {
  FieldSchema,
  ListSchema,
  MapSchema,
  ScalarKind,
  ScalarSchema,
  Schema,
  StructSchema,
  UnionForm,
} from '../machinery/schema/schema.ts'
import { schemaData } from './generated/schema-data.ts'

/** The struct of that name, or undefined; the same value each time. */
export function findSchema(name: string): StructSchema | undefined {
  const known = structs.get(name)
  if (known !== undefined) return known
  const { packageName, local } = split(name)
  const line = packageOf(packageName)?.structs.get(local)
  if (line === undefined) return undefined
  const schema = structOf(name, line)
  structs.set(name, schema)
  return schema
}

/** The struct of that name; a name that does not exist is a bug of the caller and throws. */
export function schemaOf(name: string): StructSchema {
  const schema = findSchema(name)
  if (schema === undefined) throw new Error(`no schema ${name}`)
  return schema
}

/** The names of all structs of a package, in upstream's order; empty for an unknown package. */
export function structNames(packageName: string): string[] {
  return [...(packageOf(packageName)?.structs.keys() ?? [])]
}

/** All packages, in order of name. */
export function schemaPackages(): string[] {
  return Object.keys(schemaData)
}

interface Package {
  readonly structs: ReadonlyMap<string, string>
  /** Name -> underlying type, and whether protobuf wraps it in a message. */
  readonly named: ReadonlyMap<string, { readonly type: string; readonly wrapped: boolean }>
  readonly values: ReadonlyMap<string, ScalarSchema['values'] & object>
}

interface Markers {
  readonly listType: ListSchema['listType']
  readonly mapKeys: readonly string[]
  readonly atomic: boolean
}

const plain: Markers = { listType: 'atomic', mapKeys: [], atomic: false }

const structs = new Map<string, StructSchema>()
const packages = new Map<string, Package>()

const scalarGoTypes: Record<ScalarKind, string> = {
  string: 'string',
  bool: 'bool',
  int32: 'int32',
  int64: 'int64',
  double: 'float64',
  bytes: '[]uint8',
  Time: 'v1.Time',
  MicroTime: 'v1.MicroTime',
  Duration: 'v1.Duration',
  Quantity: 'resource.Quantity',
  IntOrString: 'intstr.IntOrString',
  RawExtension: 'runtime.RawExtension',
  JSON: 'v1.JSON',
  FieldsV1: 'v1.FieldsV1',
  any: 'interface {}',
}

const unions: Record<string, UnionForm> = {
  JSONSchemaPropsOrArray: 'schema-or-list',
  JSONSchemaPropsOrBool: 'schema-or-bool',
  JSONSchemaPropsOrStringArray: 'schema-or-strings',
}

function split(name: string): { packageName: string; local: string } {
  const dot = name.lastIndexOf('.')
  return { packageName: name.slice(0, dot), local: name.slice(dot + 1) }
}

/** `core/v1.Pod` -> `v1.Pod`. */
function goNameOf(name: string): string {
  return name.slice(name.indexOf('/') + 1)
}

function packageOf(name: string): Package | undefined {
  const known = packages.get(name)
  if (known !== undefined) return known
  const text = Object.hasOwn(schemaData, name) ? schemaData[name] : undefined
  if (text === undefined) return undefined
  const found = {
    structs: new Map<string, string>(),
    named: new Map<string, { type: string; wrapped: boolean }>(),
    values: new Map<string, { known: string[]; closed: boolean }>(),
  }
  for (const line of text.split('\n')) {
    if (line.startsWith('=')) {
      const [local = '', type = '', form] = line.slice(1).split(' ')
      found.named.set(local, { type, wrapped: form === 'message' })
    } else if (line.startsWith('#')) {
      const [head = '', ...known] = line.slice(1).split('|')
      const closed = head.endsWith('!')
      found.values.set(closed ? head.slice(0, -1) : head, { known, closed })
    } else {
      const end = line.indexOf(' ')
      const local = end < 0 ? line : line.slice(0, end)
      found.structs.set(local.replace('@', ''), line)
    }
  }
  packages.set(name, found)
  return found
}

function structOf(name: string, line: string): StructSchema {
  const { packageName, local } = split(name)
  let parsed: Pick<StructSchema, 'fields' | 'own' | 'embedded'> | undefined
  const look = () => (parsed ??= parseStruct(packageName, line))
  return {
    kind: 'struct',
    name,
    goName: local,
    goType: goNameOf(name),
    atomic: line.startsWith(`${local}@`),
    union: unions[local],
    get fields() {
      return look().fields
    },
    get own() {
      return look().own
    },
    get embedded() {
      return look().embedded
    },
  }
}

function parseStruct(
  packageName: string,
  line: string,
): Pick<StructSchema, 'fields' | 'own' | 'embedded'> {
  const fields = new Map<string, FieldSchema>()
  const own: FieldSchema[] = []
  const embedded: { proto: number; schema: StructSchema }[] = []
  for (const text of line.split(' ').slice(1)) {
    const [name = '', proto = '', type = '', marks = ''] = text.split(':')
    if (name === '') {
      const schema = schemaOf(type.includes('.') ? type : `${packageName}.${type}`)
      for (const [inner, field] of schema.fields) fields.set(inner, field)
      if (proto !== '') embedded.push({ proto: Number(proto), schema })
      continue
    }
    const field = fieldOf({ packageName, name, proto: Number(proto), type, marks })
    fields.set(name, field)
    own.push(field)
  }
  return { fields, own, embedded }
}

function fieldOf(entry: {
  packageName: string
  name: string
  proto: number
  type: string
  marks: string
}): FieldSchema {
  const marks = new Map<string, string>()
  for (const mark of entry.marks === '' ? [] : entry.marks.split(';')) {
    const equals = mark.indexOf('=')
    marks.set(equals < 0 ? mark : mark.slice(0, equals), equals < 0 ? '' : mark.slice(equals + 1))
  }
  const mapKeys = marks.get('map')
  const pointer = entry.type.startsWith('*')
  const schema = typeOf(entry.packageName, pointer ? entry.type.slice(1) : entry.type, {
    listType: mapKeys !== undefined ? 'map' : marks.has('set') ? 'set' : 'atomic',
    mapKeys: mapKeys === undefined ? [] : mapKeys.split(','),
    atomic: marks.has('atomic'),
  })
  const fallback = marks.get('default')
  return {
    name: entry.name,
    schema,
    proto: entry.proto,
    pointer,
    required: marks.has('required'),
    omitEmpty: !marks.has('required') && !marks.has('emitted'),
    atomic: isAtomic(schema, marks),
    patchStrategy: marks.get('patch')?.split(',') ?? [],
    patchMergeKey: marks.get('key'),
    default: fallback === undefined ? undefined : JSON.parse(fallback),
  }
}

function isAtomic(schema: Schema, marks: ReadonlyMap<string, string>): boolean {
  if (marks.has('atomic')) return true
  if (schema.kind === 'list') return schema.listType === 'atomic'
  return schema.kind === 'struct' && schema.atomic && !marks.has('granular')
}

function typeOf(packageName: string, type: string, markers: Markers): Schema {
  if (type.startsWith('[]')) {
    const items = typeOf(packageName, type.slice(2), plain)
    const { listType, mapKeys } = markers
    return { kind: 'list', goType: `[]${items.goType}`, items, wrapped: false, listType, mapKeys }
  }
  if (type.startsWith('map[')) {
    const close = type.indexOf(']')
    const keys = typeOf(packageName, type.slice(4, close), plain)
    const values = typeOf(packageName, type.slice(close + 1), plain)
    const goType = `map[${keys.goType}]${values.goType}`
    return { kind: 'map', goType, values, atomic: markers.atomic } satisfies MapSchema
  }
  if (Object.hasOwn(scalarGoTypes, type)) {
    const kind = type as ScalarKind
    return { kind, goType: scalarGoTypes[kind] }
  }
  return namedType(type.includes('.') ? type : `${packageName}.${type}`, markers)
}

function namedType(name: string, markers: Markers): Schema {
  if (name === 'types.UID') return { kind: 'string', goType: name }
  const struct = findSchema(name)
  if (struct !== undefined) return struct
  const { packageName, local } = split(name)
  const definitions = packageOf(packageName)
  const named = definitions?.named.get(local)
  if (named === undefined) throw new Error(`no type ${name}`)
  const schema = { ...typeOf(packageName, named.type, markers), goType: goNameOf(name) } as Schema
  if (schema.kind === 'list') return { ...schema, wrapped: named.wrapped }
  const values = definitions?.values.get(local)
  return values === undefined || schema.kind !== 'string' ? schema : { ...schema, values }
}
