/** Applies and updates that upstream's library was given, too: what it made of them is in test/cases/apply/upstream.json. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { applyShapeOf } from '../../../components/machinery/apply/apply-shape.ts'
import {
  applyConfig,
  conflictError,
  ownersAfterUpdate,
  type Asker,
  type Versions,
} from '../../../components/machinery/apply/apply-updater.ts'
import { finished } from '../../../components/machinery/values/steps.ts'
import { configFault } from '../../../components/machinery/apply/apply-validation.ts'
import { readFieldSet } from '../../../components/machinery/apply/field-set.ts'
import { ownerId, type Owners } from '../../../components/machinery/apply/managed-fields.ts'
import { deepFreeze, type Json } from '../../../components/machinery/objects/object.ts'
import type {
  FieldSchema,
  ScalarKind,
  Schema,
  StructSchema,
} from '../../../components/machinery/schema/schema.ts'

/** A type, in short: the cases are data. */
type Type =
  | { t: 'scalar' | 'set'; s: ScalarKind }
  | { t: 'free' }
  | { t: 'atomicList'; items: Type }
  | { t: 'atomicMap' | 'map'; values: Type }
  | { t: 'struct'; fields: Types; open?: boolean; atomic?: boolean }
  | {
      t: 'list'
      keys: { name: string; s: ScalarKind; default?: Json }[]
      fields: Types
      open?: boolean
    }
type Types = Record<string, Type>

interface Step {
  /** What is applied, what the object is updated to, or the fields that an owner is said to have. */
  apply?: unknown
  update?: unknown
  own?: unknown
  /** The manager; of owners that clients sent with `a-` for appliers and `u-` for updaters. */
  by: string
  force?: boolean
  /** Why the configuration fits no schema. Where several things are wrong, their order is anyone's. */
  fault?: string
  conflict?: string
  /** The fields that an owner is said to have cannot be read. */
  refused?: true
  object?: unknown
  /** By `operation manager`. */
  owners?: Record<string, unknown>
}

interface Case {
  title: string
  /** Null where any JSON may be anywhere. */
  schema: Types | null
  open?: boolean
  steps: Step[]
}

const cases = JSON.parse(
  readFileSync(new URL('../../cases/apply/upstream.json', import.meta.url), 'utf8'),
) as Case[]

const goTypes: Readonly<Record<string, string>> = { int64: 'int64', double: 'float64' }
const scalar = (kind: ScalarKind): Schema => ({ kind, goType: goTypes[kind] ?? kind })
const list = (items: Schema, listType: 'atomic' | 'set' | 'map', mapKeys: string[] = []): Schema =>
  ({ kind: 'list', goType: 'list', items, wrapped: false, listType, mapKeys }) as const

function schemaOf(type: Type): Schema {
  switch (type.t) {
    case 'scalar':
      return scalar(type.s)
    case 'free':
      return { kind: 'JSON', goType: 'JSON' }
    case 'set':
      return list(scalar(type.s), 'set')
    case 'atomicList':
      return list(schemaOf(type.items), 'atomic')
    case 'map':
    case 'atomicMap':
      return {
        kind: 'map',
        goType: 'map',
        values: schemaOf(type.values),
        atomic: type.t === 'atomicMap',
      }
    case 'struct':
      return structOf(type.fields, type)
    case 'list': {
      const keys = type.keys.map(({ name, s }): [string, Type] => [name, { t: 'scalar', s }])
      const defaults = Object.fromEntries(type.keys.map((key) => [key.name, key.default]))
      const fields = { ...type.fields, ...Object.fromEntries(keys) }
      const items = structOf(fields, { ...type, atomic: false }, defaults)
      return list(
        items,
        'map',
        type.keys.map(({ name }) => name),
      )
    }
  }
}

function structOf(
  types: Types,
  { open = false, atomic = false }: { open?: boolean; atomic?: boolean },
  defaults: Record<string, Json | undefined> = {},
): StructSchema {
  const fields = Object.entries(types).map(([name, type]): [string, FieldSchema] => {
    const schema = schemaOf(type)
    const isAtomic =
      schema.kind === 'list' ? schema.listType === 'atomic' : 'atomic' in schema && schema.atomic
    const field: FieldSchema = {
      name,
      schema,
      proto: 0,
      pointer: true,
      required: false,
      omitEmpty: true,
      atomic: isAtomic,
      patchStrategy: [],
      patchMergeKey: undefined,
      default: defaults[name],
    }
    return [name, field]
  })
  return {
    kind: 'struct',
    name: 'test/v1.Struct',
    goName: 'Struct',
    goType: 'v1.Struct',
    fields: new Map(fields),
    own: fields.map(([, field]) => field),
    embedded: [],
    atomic,
    union: undefined,
    isOpen: open,
  }
}

function askerOf({ apply, own, by }: Step): Asker {
  const isApplier = apply !== undefined || (own !== undefined && by.startsWith('a-'))
  return {
    manager: own === undefined ? by : by.slice(2),
    operation: isApplier ? 'Apply' : 'Update',
    apiVersion: 'v1',
    subresource: '',
    time: undefined,
  }
}

const lines = (text: string | undefined): string[] | undefined => text?.split('\n').toSorted()

/** What a step makes of an object and its owners, in the words of the cases. */
function outcomeOf(
  step: Step,
  schema: StructSchema,
  from: { live: unknown; owners: Owners },
): { fault?: string; conflict?: string; refused?: true; live: unknown; owners: Owners } {
  const { live, owners } = from
  const shape = applyShapeOf(schema)
  const versions: Versions = {
    apiVersion: 'v1',
    shape,
    find: () => versions,
    *convert(object) {
      yield
      return object
    },
    owned: (set) => set,
  }
  const asker = askerOf(step)
  if (step.own !== undefined) {
    const fields = readFieldSet(step.own)
    if (fields === undefined) return { refused: true, live, owners }
    return { live, owners: new Map(owners).set(ownerId(asker), { ...asker, fields }) }
  }
  if (step.apply === undefined) {
    const changed = deepFreeze(step.update)
    return {
      live: changed,
      owners: finished(ownersAfterUpdate({ live, changed, owners }, asker, versions)),
    }
  }
  const config = deepFreeze(step.apply)
  const fault = configFault(schema, config)
  if (fault !== undefined) return { fault, live, owners }
  const by = { asker, force: step.force === true }
  const outcome = finished(applyConfig({ live, config, owners }, by, versions))
  if (!outcome.ok) return { conflict: conflictError(outcome.conflicts).message, live, owners }
  return { live: outcome.object, owners: outcome.owners }
}

describe('upstream agrees', () => {
  it.each(cases)('$title', ({ schema, open = false, steps }) => {
    const struct = structOf(schema ?? {}, { open: open || schema === null })
    let live: unknown = deepFreeze({})
    let owners: Owners = new Map()
    for (const step of steps) {
      const outcome = outcomeOf(step, struct, { live, owners })
      expect(lines(outcome.fault)).toEqual(lines(step.fault))
      expect(outcome.conflict).toBe(step.conflict)
      expect(outcome.refused).toBe(step.refused)
      ;({ live, owners } = outcome)
      if (step.object === undefined) continue
      expect(live).toEqual(step.object)
      const shown = [...owners.values()].map(({ operation, manager, fields }) => [
        `${operation} ${manager}`,
        JSON.stringify(fields),
      ])
      const wanted = Object.entries(step.owners ?? {}).map(([by, set]) => [by, JSON.stringify(set)])
      expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(wanted))
    }
  })
})
