/**
 * Rule 1 of the deprecation rules: inside a version nothing is removed or changed. A shape is a version's structure in the
 * words of JSON; comparing one with its predecessor finds the violations. Additions are allowed.
 */
import type { Schema, StructSchema } from '../../machinery/schema/schema.ts'
import { schemaOf, schemaPackages, structNames } from '../schemas.ts'
import type { Fault } from './deprecation-rules.ts'

export interface FieldShape {
  /** `string`, `number`, `boolean`, `time`, `any`, `number-or-string`, a struct's name, or one of these in `[]` or `{}`. */
  readonly type: string
  /** Must be given. */
  readonly required?: boolean
  /** JSON of the default. */
  readonly default?: string
  /** The known values of an enumeration. */
  readonly values?: readonly string[]
}

/** Struct -> field -> shape. */
export type Shapes = ReadonlyMap<string, ReadonlyMap<string, FieldShape>>

/** How a type of the schema looks in JSON. */
function typeOf(schema: Schema): string {
  switch (schema.kind) {
    case 'struct':
      // An empty struct promises no more than that it is an object.
      return schema.union === undefined && schema.fields.size > 0 ? schema.name : 'any'
    case 'list':
      return `[${typeOf(schema.items)}]`
    case 'map':
      return `{${typeOf(schema.values)}}`
    case 'string':
    case 'bytes':
    case 'Quantity':
      return 'string'
    case 'bool':
      return 'boolean'
    case 'int32':
    case 'int64':
    case 'double':
      return 'number'
    case 'Time':
    case 'MicroTime':
      return 'time'
    case 'Duration':
      return 'string'
    case 'IntOrString':
      return 'number-or-string'
    case 'RawExtension':
    case 'JSON':
    case 'FieldsV1':
    case 'any':
      return 'any'
  }
}

function valuesOf(schema: Schema): readonly string[] | undefined {
  if (schema.kind === 'list') return valuesOf(schema.items)
  return schema.kind === 'string' ? schema.values?.known : undefined
}

function shapeOf(struct: StructSchema): ReadonlyMap<string, FieldShape> {
  return new Map(
    [...struct.fields].map(([name, field]): [string, FieldShape] => {
      const values = valuesOf(field.schema)
      return [
        name,
        {
          type: typeOf(field.schema),
          ...(field.required ? { required: true } : {}),
          ...(field.default === undefined ? {} : { default: JSON.stringify(field.default) }),
          ...(values === undefined ? {} : { values }),
        },
      ]
    }),
  )
}

/** The shapes of everything this release knows. */
export function presentShapes(): Shapes {
  return new Map(
    schemaPackages().flatMap((name) =>
      structNames(name).map((local): [string, ReadonlyMap<string, FieldShape>] => {
        const full = `${name}.${local}`
        return [full, shapeOf(schemaOf(full))]
      }),
    ),
  )
}

/** A struct of an alpha version may change in any way. */
function isAlpha(struct: string): boolean {
  return /\/v\d+alpha\d+\./.test(struct)
}

/** What rule 1 forbids of the way from `before` to `after`. Versions that are gone as a whole are not its matter. */
export function schemaFaults(before: Shapes, after: Shapes): Fault[] {
  const faults: Fault[] = []
  const packages = new Set([...after.keys()].map((name) => name.slice(0, name.lastIndexOf('.'))))
  for (const [struct, fields] of before) {
    if (isAlpha(struct) || !packages.has(struct.slice(0, struct.lastIndexOf('.')))) continue
    const report = (entry: string, why: string): void => {
      faults.push({ entry, rule: 'rule 1', message: `${entry} breaks rule 1: ${why}` })
    }
    const now = after.get(struct)
    if (now === undefined) {
      report(struct, 'it was removed')
      continue
    }
    for (const [name, was] of fields) {
      const entry = `${struct}.${name}`
      const is = now.get(name)
      if (is === undefined) {
        report(entry, 'it was removed')
        continue
      }
      if (is.type !== was.type) report(entry, `its type ${was.type} became ${is.type}`)
      if (is.required === true && was.required !== true) report(entry, 'it became required')
      if (is.default !== was.default) {
        report(entry, `its default ${was.default ?? 'none'} became ${is.default ?? 'none'}`)
      }
      const gone = was.values?.filter((value) => is.values?.includes(value) === false) ?? []
      if (gone.length > 0) report(entry, `the values ${gone.join(', ')} were removed`)
    }
  }
  return faults
}
