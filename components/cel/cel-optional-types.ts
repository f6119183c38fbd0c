/** Optional values for the checker: the types of their functions, and the tree that the evaluator gets for them. */
import { bool, dyn, int, isAssignable, join, optionalOf, type CelType } from './cel-types.ts'
import { bind, callOf, constantOf, identOf, make, type Expr, type Kind } from './cel-tree.ts'

/** The functions that optional selections become. */
export const optionalSelect = '@optional_select'
export const optionalIndex = '@optional_index'

/** Those of literals. */
export const optionalItems = '@optional_items'
export const optionalEntries = '@optional_entries'

/** What a selection or an index looks into, whether or not it may be absent. */
export function unwrapped(type: CelType): CelType {
  return type.kind === 'optional' ? type.element : type
}

/** `x.or(y)` and `x.orValue(y)`: y counts, and may fail, only where x has no value. */
export function alternative(expr: Expr, target: Expr, other: Expr, isValue: boolean): Expr {
  const { id } = expr
  const name = `@optional${id}`
  const held = identOf(id, name)
  return bind(
    id,
    { name, value: target },
    callOf(id, '_?_:_', [
      callOf(id, 'hasValue', [], held),
      isValue ? callOf(id, 'value', [], held) : held,
      other,
    ]),
  )
}

/** The type of a function of `optional`; undefined where it does not fit. */
export function optionalMaker(name: string, types: readonly CelType[]): CelType | undefined {
  const [value] = types
  if (name === 'none' && types.length === 0) return optionalOf(dyn)
  if ((name === 'of' || name === 'ofNonZeroValue') && value !== undefined && types.length === 1) {
    return optionalOf(value)
  }
  return undefined
}

/** The type of a method of an optional value; undefined where it does not fit. */
export function optionalMethod(
  name: string,
  receiver: CelType,
  types: readonly CelType[],
): CelType | undefined {
  const element = receiver.kind === 'optional' ? receiver.element : dyn
  const [other] = types
  if (types.length === 0) return name === 'hasValue' ? bool : name === 'value' ? element : undefined
  if (other === undefined || types.length !== 1) return undefined
  if (name === 'or') return join(optionalOf(element), other)
  if (name === 'orValue') return isAssignable(other, element) ? join(element, other) : undefined
  return undefined
}

export const optionalMethods: ReadonlySet<string> = new Set(['hasValue', 'value', 'or', 'orValue'])

/** What an index gives: of a list by number, of a map by key; undefined where it does not fit. */
export function indexedType(container: CelType, index: CelType): CelType | undefined {
  if (container.kind === 'dyn') return dyn
  if (container.kind === 'list' && isAssignable(index, int)) return container.element
  if (container.kind === 'map' && isAssignable(index, container.key)) return container.value
  return undefined
}

const listOfExprs = (id: bigint, elements: Expr[]): Expr =>
  make(id, {
    case: 'listExpr',
    value: { $typeName: 'cel.expr.Expr.CreateList', elements, optionalIndices: [] },
  })
const indexes = (id: bigint, list: readonly number[]): Expr =>
  listOfExprs(
    id,
    list.map((index) => constantOf(id, { case: 'int64Value', value: BigInt(index) })),
  )

/** A list whose optional items are left out where they have no value. */
export function withoutAbsentItems({ id }: Expr, list: Kind<'listExpr'>): Expr {
  const { elements, optionalIndices } = list
  return callOf(id, optionalItems, [listOfExprs(id, elements), indexes(id, optionalIndices)])
}

/** A map whose optional entries are left out where they have no value. */
export function withoutAbsentEntries({ id }: Expr, map: Kind<'structExpr'>): Expr {
  const { entries } = map
  const keys = entries.flatMap(({ keyKind }) => (keyKind.case === 'mapKey' ? [keyKind.value] : []))
  const values = entries.flatMap(({ value }) => value ?? [])
  const optional = entries.flatMap(({ optionalEntry }, i) => (optionalEntry ? [i] : []))
  return callOf(id, optionalEntries, [
    listOfExprs(id, keys),
    listOfExprs(id, values),
    indexes(id, optional),
  ])
}
