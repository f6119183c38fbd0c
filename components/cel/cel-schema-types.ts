/** The types of built-in kinds for the checker (upstream: apiserver/pkg/cel/common SchemaDeclType). */
import type { ScalarKind, Schema, StructSchema } from '../machinery/schema/schema.ts'
import {
  bool,
  bytes,
  double,
  dyn,
  int,
  listOf,
  mapOf,
  string,
  timestamp,
  type CelType,
} from './cel-types.ts'

const scalars: Partial<Record<ScalarKind, CelType>> = {
  string,
  bool,
  int32: int,
  int64: int,
  double,
  bytes,
  Time: timestamp,
  MicroTime: timestamp,
  Quantity: string,
}

/** The CEL type of the schema's values. Makes the types of struct fields on first use, because structs can be recursive. */
export function celTypeOfSchema(schema: Schema): CelType {
  switch (schema.kind) {
    case 'list':
      return listOf(celTypeOfSchema(schema.items))
    case 'map':
      return mapOf(string, celTypeOfSchema(schema.values))
    case 'struct':
      return structType(schema)
    default:
      return scalars[schema.kind] ?? dyn
  }
}

function structType(schema: StructSchema): CelType {
  if (schema.isOpen === true || schema.union !== undefined) return dyn
  const fields: Record<string, CelType> = {}
  for (const [name, field] of schema.fields) {
    let type: CelType | undefined
    const get = (): CelType => (type ??= celTypeOfSchema(field.schema))
    Object.defineProperty(fields, name, { enumerable: true, get })
  }
  return { kind: 'object', name: schema.goName, fields }
}
