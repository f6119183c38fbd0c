/**
 * The types that expressions of mutations construct, `Object{…}` and `JSONPatch{…}` (upstream: apiserver/pkg/cel/mutation,
 * typeresolver.go), for the checker. It has no schema of the object: any field may have any value. What is constructed is a map
 * at run time (cel-construct.ts).
 */
import { callOf, constantOf, make, type Expr, type Kind } from './cel-tree.ts'
import { withoutAbsentEntries } from './cel-optional-types.ts'
import { dyn, string, type CelType } from './cel-types.ts'

/** The function that construction becomes. */
export const constructFunction = '@construct'

/** What a scope holds in which expressions may construct, and call the functions that belong to it. No expression can name it. */
export const constructionMark = '@constructs'

/** The key of the type's name in what is constructed: no JSON value has a key that is not a text. */
export const typeKey = true

/** A function that only such expressions have. */
export const escapeKeyFunction = 'jsonpatch.escapeKey'

type ObjectType = Extract<CelType, { kind: 'object' }>

export const jsonPatchType: ObjectType = {
  kind: 'object',
  name: 'JSONPatch',
  fields: { op: string, path: string, from: string, value: dyn },
}

/** `Object` itself, or the part of it that a name like `Object.spec.template` stands for. */
export const objectType = (name = 'Object'): ObjectType => ({
  kind: 'object',
  name,
  fields: {},
  isOpen: true,
})

/** The type of this name; undefined for one that cannot be constructed. */
export function constructedType(name: string): ObjectType | undefined {
  if (name === jsonPatchType.name) return jsonPatchType
  return name === 'Object' || name.startsWith('Object.') ? objectType(name) : undefined
}

/** The tree that the evaluator gets for a construction. */
export function construction({ id }: Expr, message: Kind<'structExpr'>): Expr {
  const entries = message.entries.map((entry): (typeof message.entries)[number] => {
    if (entry.keyKind.case !== 'fieldKey') return entry
    const key = constantOf(entry.id, { case: 'stringValue', value: entry.keyKind.value })
    return { ...entry, keyKind: { case: 'mapKey', value: key } }
  })
  const map = make(id, { case: 'structExpr', value: { ...message, messageName: '', entries } })
  const isPartial = entries.some(({ optionalEntry }) => optionalEntry)
  const fields =
    isPartial && map.exprKind.case === 'structExpr'
      ? withoutAbsentEntries(map, map.exprKind.value)
      : map
  const name = constantOf(id, { case: 'stringValue', value: message.messageName })
  return callOf(id, constructFunction, [name, fields])
}
