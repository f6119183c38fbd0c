/**
 * An apply configuration merged into an object, by the rules of server-side apply but without field ownership (upstream:
 * plugin/policy/mutating/patch/smd.go). Lists, maps and structs that are atomic are refused: an expression that sets a part of one
 * would remove the rest.
 */
import { applyShapeOf, isRecord } from '../../../machinery/apply/apply-shape.ts'
import { mergeFields } from '../../../machinery/apply/apply-merge.ts'
import { configFault } from '../../../machinery/apply/apply-validation.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Schema, StructSchema } from '../../../machinery/schema/schema.ts'

/** Where the value sets something atomic, as paths. Upstream does not look into maps either. */
function atomicsIn(schema: Schema, value: unknown, path: string): string[] {
  switch (schema.kind) {
    case 'struct': {
      if (!isRecord(value) || schema.union !== undefined) return []
      const below = Object.keys(value).flatMap((name) => {
        const field = schema.fields.get(name)
        if (field === undefined) return []
        const at = `${path}.${name}`
        const inner = atomicsIn(field.schema, value[name], at)
        const isAtomic = field.atomic && isCollection(value[name]) && inner[0] !== at
        return isAtomic ? [at, ...inner] : inner
      })
      return schema.atomic ? [path, ...below] : below
    }
    case 'map':
      return schema.atomic && isRecord(value) ? [path] : []
    case 'list': {
      if (!Array.isArray(value)) return []
      const below = value.flatMap((item, i) => atomicsIn(schema.items, item, `${path}[${i}]`))
      return schema.listType === 'atomic' ? [path, ...below] : below
    }
    case 'RawExtension':
    case 'JSON':
    case 'any':
      return Array.isArray(value) ? [path] : []
    default:
      return []
  }
}

const isCollection = (value: unknown): boolean => typeof value === 'object' && value !== null

/** The merged object; shares parts with both. Throws an Error for a configuration that does not fit the schema. */
export function withConfiguration(
  object: KubeObject,
  config: Readonly<Record<string, unknown>>,
  schema: StructSchema,
): unknown {
  const { kind: _, apiVersion: __, ...fields } = config
  const fault = configFault(schema, fields)
  if (fault !== undefined) {
    throw new Error(
      `error applying patch: failed to convert patch object to typed object: ${fault}`,
    )
  }
  const atomics = atomicsIn(schema, fields, '')
  if (atomics.length > 0) {
    throw new Error(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`,
    )
  }
  const liveFault = configFault(schema, object)
  if (liveFault !== undefined) {
    throw new Error(
      `error applying patch: failed to convert original object to typed object: ${liveFault}`,
    )
  }
  return mergeFields(applyShapeOf(schema), object, fields)
}
