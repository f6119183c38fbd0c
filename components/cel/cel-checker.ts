/** Type-checks a parsed expression, so that an invalid configuration is rejected when it is read (upstream: cel-go's checker). */
import {
  constructedType,
  construction,
  constructionMark,
  escapeKeyFunction,
} from './cel-construct-types.ts'
import { isReadable, isRegularExpression } from './cel-literals.ts'
import type { Overload } from './cel-library.ts'
import { overloadsOf } from './cel-overloads.ts'
import {
  alternative,
  indexedType,
  optionalIndex,
  optionalMaker,
  optionalMethod,
  optionalMethods,
  optionalSelect,
  unwrapped,
  withoutAbsentEntries,
  withoutAbsentItems,
} from './cel-optional-types.ts'
import { callOf, constantOf, type Expr, type Kind } from './cel-tree.ts'
import {
  bool,
  bytes,
  double,
  dyn,
  int,
  isAssignable,
  join,
  joinItems,
  listOf,
  mapOf,
  optionalOf,
  nullType,
  string,
  typeName,
  typeType,
  uint,
  type CelType,
} from './cel-types.ts'

/** What is wrong, and at which expression. */
export class CelTypeError extends Error {
  readonly exprId: bigint

  constructor(exprId: bigint, message: string) {
    super(message)
    this.exprId = exprId
  }
}

type Scope = ReadonlyMap<string, CelType>

/** Names of types are values: `type(x) == string`. */
const typeIdents = new Set([
  'int',
  'uint',
  'double',
  'bool',
  'string',
  'bytes',
  'list',
  'map',
  'null_type',
  'type',
])

function shown(types: readonly CelType[]): string {
  return `(${types.map(typeName).join(', ')})`
}

function noOverload(
  id: bigint,
  name: string,
  types: readonly CelType[],
  isMethod = false,
): CelTypeError {
  const applied = isMethod ? `${typeName(types[0] ?? dyn)}.${shown(types.slice(1))}` : shown(types)
  return new CelTypeError(id, `found no matching overload for '${name}' applied to '${applied}'`)
}

function undeclared(id: bigint, name: string): CelTypeError {
  return new CelTypeError(id, `undeclared reference to '${name}' (in container '')`)
}

const checked = new WeakMap<Expr, CelType>()

/** The type of a part of an expression that has been checked; dyn for what was not in it. */
export function checkedType(expr: Expr): CelType {
  return checked.get(expr) ?? dyn
}

/**
 * The type of the expression. Throws CelTypeError. Rewrites optional values in the tree to the form that the evaluator
 * knows.
 */
export function checkCel(expr: Expr, scope: Scope): CelType {
  const type = typeIn(expr, scope)
  checked.set(expr, type)
  return type
}

function typeIn(expr: Expr, scope: Scope): CelType {
  const { case: kind, value } = expr.exprKind
  switch (kind) {
    case 'constExpr':
      return constantType(value)
    case 'identExpr':
      return identType(expr.id, value.name, scope)
    case 'selectExpr':
      return selectType(expr, value, scope)
    case 'listExpr':
      return listType(expr, value, scope)
    case 'structExpr':
      return structType(expr, value, scope)
    case 'comprehensionExpr':
      return comprehensionType(expr.id, value, scope)
    case 'callExpr':
      return callType(expr, value, scope)
    default:
      throw new CelTypeError(expr.id, 'expression is empty')
  }
}

function child(expr: Expr | undefined, scope: Scope): CelType {
  return expr === undefined ? dyn : checkCel(expr, scope)
}

function constantType({ constantKind }: Kind<'constExpr'>): CelType {
  switch (constantKind.case) {
    case 'boolValue':
      return bool
    case 'int64Value':
      return int
    case 'uint64Value':
      return uint
    case 'doubleValue':
      return double
    case 'stringValue':
      return string
    case 'bytesValue':
      return bytes
    case 'nullValue':
      return nullType
    default:
      return dyn
  }
}

function identType(id: bigint, name: string, scope: Scope): CelType {
  const type = scope.get(name)
  if (type !== undefined) return type
  if (typeIdents.has(name)) return typeType
  throw undeclared(id, name)
}

function selectType(expr: Expr, select: Kind<'selectExpr'>, scope: Scope): CelType {
  const { operand, field, testOnly } = select
  // A variable's name may have a dot in it.
  const named = testOnly ? undefined : scope.get(dottedName(expr) ?? '')
  if (named !== undefined) return named
  const type = child(operand, scope)
  const found = fieldType(expr.id, unwrapped(type), field)
  if (type.kind !== 'optional' || operand === undefined) return testOnly ? bool : found
  const name = constantOf(expr.id, { case: 'stringValue', value: field })
  const selected = callOf(expr.id, optionalSelect, [operand, name])
  expr.exprKind = testOnly ? callOf(expr.id, 'hasValue', [], selected).exprKind : selected.exprKind
  return testOnly ? bool : optionalOf(found)
}

function fieldType(id: bigint, type: CelType, field: string): CelType {
  if (type.kind === 'dyn') return dyn
  if (type.kind === 'map') return type.value
  if (type.kind === 'object') {
    const found = Object.hasOwn(type.fields, field) ? type.fields[field] : undefined
    if (found !== undefined) return found
    if (type.isOpen === true) return dyn
    throw new CelTypeError(id, `undefined field '${field}'`)
  }
  throw new CelTypeError(id, `type '${typeName(type)}' does not support field selection`)
}

/** Literals hold values of one type; `dyn(...)` is how an expression says that it mixes them on purpose. */
function unify(types: readonly { id: bigint; type: CelType }[]): CelType {
  let all: CelType | undefined
  for (const { id, type } of types) {
    const joined = all === undefined ? type : join(all, type)
    if (joined === undefined) {
      throw new CelTypeError(
        id,
        `expected type '${typeName(all ?? dyn)}' but found '${typeName(type)}'`,
      )
    }
    all = joined
  }
  return all ?? dyn
}

/** The type of an item: of what is in it, where it may be absent. */
function itemType(item: Expr, type: CelType, isOptional: boolean): CelType {
  if (!isOptional || type.kind === 'dyn') return type
  if (type.kind === 'optional') return type.element
  throw new CelTypeError(
    item.id,
    `expected type 'optional_type(${typeName(type)})' but found '${typeName(type)}'`,
  )
}

function listType(expr: Expr, list: Kind<'listExpr'>, scope: Scope): CelType {
  const { elements, optionalIndices } = list
  const types = elements.map((item, i) => {
    const type = itemType(item, checkCel(item, scope), optionalIndices.includes(i))
    return { id: item.id, type }
  })
  if (optionalIndices.length > 0) expr.exprKind = withoutAbsentItems(expr, list).exprKind
  return listOf(unify(types))
}

function structType(expr: Expr, map: Kind<'structExpr'>, scope: Scope): CelType {
  const { messageName, entries } = map
  if (messageName !== '') return messageType(expr, map, scope)
  const keys: { id: bigint; type: CelType }[] = []
  const values: { id: bigint; type: CelType }[] = []
  for (const { id: entryId, keyKind, value, optionalEntry } of entries) {
    keys.push({
      id: entryId,
      type: keyKind.case === 'mapKey' ? checkCel(keyKind.value, scope) : string,
    })
    if (value === undefined) continue
    const type = itemType(value, checkCel(value, scope), optionalEntry)
    values.push({ id: value.id, type })
  }
  if (entries.some(({ optionalEntry }) => optionalEntry)) {
    expr.exprKind = withoutAbsentEntries(expr, map).exprKind
  }
  return mapOf(unify(keys), unify(values))
}

/** `Object{…}` or `JSONPatch{…}`, where an expression may construct them. */
function messageType(expr: Expr, message: Kind<'structExpr'>, scope: Scope): CelType {
  const { messageName, entries } = message
  const type = scope.has(constructionMark) ? constructedType(messageName) : undefined
  if (type === undefined) throw undeclared(expr.id, messageName)
  for (const { id, keyKind, value, optionalEntry } of entries) {
    if (keyKind.case !== 'fieldKey' || value === undefined) continue
    const wanted = fieldType(id, type, keyKind.value)
    const given = itemType(value, checkCel(value, scope), optionalEntry)
    if (isAssignable(given, wanted)) continue
    throw new CelTypeError(
      id,
      `expected type of field '${keyKind.value}' is '${typeName(wanted)}' but provided type is '${typeName(given)}'`,
    )
  }
  expr.exprKind = construction(expr, message).exprKind
  return type
}

function comprehensionType(id: bigint, loop: Kind<'comprehensionExpr'>, scope: Scope): CelType {
  const range = child(loop.iterRange, scope)
  const isIterable = range.kind === 'dyn' || range.kind === 'list' || range.kind === 'map'
  if (!isIterable) {
    throw new CelTypeError(
      loop.iterRange?.id ?? id,
      `expression of type '${typeName(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
    )
  }
  const item = range.kind === 'list' ? range.element : range.kind === 'map' ? range.key : dyn
  const start = child(loop.accuInit, scope)
  const inner = new Map(scope).set(loop.iterVar, item).set(loop.accuVar, start)
  if (loop.iterVar2 !== '') {
    inner.set(loop.iterVar, range.kind === 'map' ? range.key : range.kind === 'list' ? int : dyn)
    inner.set(
      loop.iterVar2,
      range.kind === 'map' ? range.value : range.kind === 'list' ? range.element : dyn,
    )
  }
  const condition = child(loop.loopCondition, inner)
  if (!isAssignable(condition, bool)) {
    throw new CelTypeError(id, `expected type 'bool' but found '${typeName(condition)}'`)
  }
  // An empty list says nothing of its items; what the first step adds does.
  const step = child(loop.loopStep, inner)
  return child(loop.result, new Map(scope).set(loop.accuVar, step))
}

/** `a.b` of `a.b.f(...)`, when it can be the first part of a function's name. */
function dottedName(expr: Expr | undefined): string | undefined {
  if (expr?.exprKind.case === 'identExpr') return expr.exprKind.value.name
  if (expr?.exprKind.case !== 'selectExpr' || expr.exprKind.value.testOnly) return undefined
  const operand = dottedName(expr.exprKind.value.operand)
  return operand && `${operand}.${expr.exprKind.value.field}`
}

function callType(expr: Expr, call: Kind<'callExpr'>, scope: Scope): CelType {
  const { id } = expr
  const { function: name, target, args } = call
  const qualifier = dottedName(target)
  if (qualifier !== undefined && !scope.has(qualifier.split('.')[0] ?? '')) {
    const overloads = qualifiedOverloads(`${qualifier}.${name}`, scope)
    if (overloads !== undefined || qualifier === 'optional') {
      const types = args.map((arg) => checkCel(arg, scope))
      const made = qualifier === 'optional' ? optionalMaker(name, types) : undefined
      return made ?? resolve(id, `${qualifier}.${name}`, { overloads: overloads ?? [], types })
    }
  }
  const receiver = target && checkCel(target, scope)
  const types = args.map((arg) =>
    name === 'format' ? mixedType(arg, scope) : checkCel(arg, scope),
  )
  const isOptional = receiver?.kind === 'optional' || receiver?.kind === 'dyn'
  if (isOptional && optionalMethods.has(name)) {
    const type = optionalMethod(name, receiver, types)
    if (type === undefined) throw noOverload(id, name, [receiver, ...types], true)
    const [other] = args
    if (other !== undefined && target !== undefined && receiver.kind === 'optional') {
      expr.exprKind = alternative(expr, target, other, name === 'orValue').exprKind
    }
    return type
  }
  const special = receiver === undefined ? operatorType(expr, call, types) : undefined
  if (special !== undefined) return special
  const overloads = overloadsOf(name)
  if (overloads === undefined) throw undeclared(id, name)
  checkLiteral(name, args[0])
  return resolve(id, name, { overloads, types, receiver })
}

function qualifiedOverloads(name: string, scope: Scope): readonly Overload[] | undefined {
  const isForConstruction = name === escapeKeyFunction && !scope.has(constructionMark)
  return isForConstruction ? undefined : overloadsOf(name)
}

/** Literals that the function cannot read are faults of the expression (upstream: cel-go's validators of literals). */
const literalReaders: Readonly<Record<string, (text: string) => boolean>> = {
  matches: isRegularExpression,
  duration: (text) => isReadable('duration', text),
  timestamp: (text) => isReadable('timestamp', text),
}

function checkLiteral(name: string, arg: Expr | undefined): void {
  const isValid = Object.hasOwn(literalReaders, name) ? literalReaders[name] : undefined
  if (isValid === undefined || arg?.exprKind.case !== 'constExpr') return
  const { case: kind, value } = arg.exprKind.value.constantKind
  if (kind !== 'stringValue' || isValid(value)) return
  throw new CelTypeError(arg.id, `invalid ${name} argument`)
}

/** What is to be formatted may be of several types, alone among literals (upstream: HomogeneousAggregateLiterals). */
function mixedType(arg: Expr, scope: Scope): CelType {
  if (arg.exprKind.case !== 'listExpr') return checkCel(arg, scope)
  for (const item of arg.exprKind.value.elements) mixedType(item, scope)
  return listOf(dyn)
}

/** The operators whose overloads have type parameters; undefined for every other function. */
function operatorType(
  { id }: Expr,
  call: Kind<'callExpr'>,
  types: readonly CelType[],
): CelType | undefined {
  const { function: name, args } = call
  const [first = dyn, second = dyn, third = dyn] = types
  switch (name) {
    case '_&&_':
    case '_||_':
      if (isAssignable(first, bool) && isAssignable(second, bool)) return bool
      throw noOverload(id, name, types)
    case '@not_strictly_false':
      return bool
    case '_==_':
    case '_!=_':
      if (isAssignable(first, second)) return bool
      throw noOverload(id, name, types)
    case '_?_:_': {
      const joined = join(second, third)
      if (isAssignable(first, bool) && joined !== undefined) return joined
      throw noOverload(id, name, types)
    }
    case optionalSelect: {
      const field = args[1]?.exprKind
      const selected = field?.case === 'constExpr' ? field.value.constantKind.value : ''
      const named = typeof selected === 'string' ? selected : ''
      return optionalOf(fieldType(id, unwrapped(first), named))
    }
    case '_[_]':
    case optionalIndex: {
      const found = indexedType(unwrapped(first), second)
      if (found === undefined) throw noOverload(id, name, types)
      if (name === '_[_]' && first.kind === 'optional') call.function = optionalIndex
      return call.function === optionalIndex ? optionalOf(found) : found
    }
    case '_+_':
      if (first.kind !== 'list' || second.kind !== 'list') return undefined
      return listOf(joinItems(first.element, second.element) ?? fail(noOverload(id, name, types)))
    case '@in':
      if (second.kind === 'dyn') return bool
      if (second.kind === 'list' && isAssignable(first, second.element)) return bool
      if (second.kind === 'map' && isAssignable(first, second.key)) return bool
      throw noOverload(id, name, types)
    case 'dyn':
      return dyn
    default:
      return undefined
  }
}

function fail(error: Error): never {
  throw error
}

function resolve(
  id: bigint,
  name: string,
  from: {
    readonly overloads: readonly Overload[]
    readonly types: readonly CelType[]
    readonly receiver?: CelType | undefined
  },
): CelType {
  const { overloads, types, receiver } = from
  const matching = overloads.filter(
    (one) =>
      (one.target === undefined) === (receiver === undefined) &&
      (receiver === undefined || isAssignable(receiver, one.target ?? dyn)) &&
      one.arguments.length === types.length &&
      types.every((type, i) => isAssignable(type, one.arguments[i] ?? dyn)),
  )
  const [first, ...rest] = matching
  if (first === undefined) {
    throw receiver === undefined
      ? noOverload(id, name, types)
      : noOverload(id, name, [receiver, ...types], true)
  }
  const isSame = rest.every(({ result }) => typeName(result) === typeName(first.result))
  return isSame ? first.result : dyn
}
