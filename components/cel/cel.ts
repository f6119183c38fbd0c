/**
 * Expressions of configurations (CEL): compiled and type-checked once, evaluated often, bounded in cost. The one place
 * that knows the evaluator (docs/decisions/0005-expressions.md).
 */
import { isCelError, isCelList, isCelMap, isCelUint, parse, type CelInput } from '@bufbuild/cel'
import type { Steps } from '../machinery/values/steps.ts'
import {
  accessValue,
  authorizerType,
  resourceCheckType,
  type AccessCheck,
  type AnswerAccess,
} from './cel-authorizer.ts'
import { applyBindings, refuseDeviceFunctions } from './cel-device-syntax.ts'
import { checkCel, CelTypeError } from './cel-checker.ts'
import { constructionMark } from './cel-construct-types.ts'
import { sizeOf } from './cel-cost.ts'
import { evaluatorOf, type Input } from './cel-evaluation.ts'
import { readAs } from './cel-literals.ts'
import { applyOptionals, findOptionalMarks, OptionalSyntaxError } from './cel-optional-syntax.ts'
import { optionalNone, optionalWith } from './cel-optional.ts'
import { optionalIndex, optionalSelect } from './cel-optional-types.ts'
import { partsOf, type Expr } from './cel-tree.ts'
import { dyn, typeName, type CelType } from './cel-types.ts'

/** Characters of an expression; upstream has no such bound, but parsers recurse. */
const longest = 64 * 1024

/** An expression that cannot be used; the message is upstream's, with the place in the expression. */
export class CelCompileError extends Error {}

type Values = Readonly<Record<string, unknown>>

export interface CelProgram {
  readonly expression: string
  readonly type: CelType
  /** Whether the expression names this field of a variable: `usesField('claims', 'email')`. */
  readonly usesField: (variable: string, field: string) => boolean
  /** Whether the expression names the variable. */
  readonly uses: (variable: string) => boolean
  /** The steps that an evaluation with these values costs at most. */
  readonly cost: (variables: Values) => number
  /** Its tree, checked. */
  readonly tree: Expr
  /**
   * Evaluates with plain JSON values; the result is plain JSON. Calls `spend` with the steps that are counted while it runs, which
   * `cost` does not include. Throws CelEvaluationError; a check of `authorizer` is an error.
   */
  readonly evaluate: (variables: Values, spend?: (steps: number) => void) => unknown
  /** The same with `access` to answer the checks of `authorizer`; yields the promise of an answer. */
  readonly evaluateAsking: (variables: Values, access: AnswerAccess) => Steps<unknown>
  /** The same; the result keeps its type, to be a variable of another expression. */
  readonly evaluateTyped: (variables: Values, access: AnswerAccess) => Steps<CelTyped>
}

/** A value that JSON has no form of its own for: a whole number that is no integer, a time, a duration, bytes. */
export class CelTyped {
  readonly #value: CelInput

  constructor(value: CelInput) {
    this.#value = value
  }

  /** A getter, not an own property: code that measures values does not look into it. */
  get value(): CelInput {
    return this.#value
  }
}

/** What a text or number of a JSON value stands for by its schema; the text itself when it cannot be read as that. */
export function celTyped(
  value: string | number,
  type: 'double' | 'timestamp' | 'duration' | 'bytes',
): CelTyped | string {
  if (typeof value === 'number' || type === 'double') return new CelTyped(value)
  if (type === 'bytes') return new CelTyped(new Uint8Array(Buffer.from(value, 'base64')))
  const text = type === 'timestamp' && value.length === 10 ? `${value}T00:00:00Z` : value
  const read = readAs(type, text)
  return isCelError(read) ? value : new CelTyped(read as CelInput)
}

/** The values of `authorizer` and `authorizer.requestResource` for a request of this resource. */
export function authorizerValues(requestResource: AccessCheck): Readonly<Record<string, CelTyped>> {
  return {
    authorizer: new CelTyped(accessValue(authorizerType, {})),
    'authorizer.requestResource': new CelTyped(accessValue(resourceCheckType, requestResource)),
  }
}

/** A value that may be absent, for a variable of an optional type. */
export function celOptional(value: unknown): CelTyped {
  const held = value === undefined ? optionalNone : optionalWith(toInput(value))
  return new CelTyped(held as CelInput)
}

export interface CelOptions {
  readonly variables: Readonly<Record<string, CelType>>
  /** The expression must be of one of these types; unset: of any. */
  readonly results?: readonly CelType[]
  /** The expression also has `cel.bind` and the functions of versions (upstream has them in selectors of devices alone). */
  readonly choosesDevices?: boolean
  /** Whether it may construct `Object{…}` and `JSONPatch{…}`. */
  readonly constructs?: boolean
  /** Whether a wrong type of the result is named in the error, as admission does. */
  readonly namesResult?: boolean
}

/** Compiles an expression. Throws CelCompileError. */
export function compileCel(expression: string, options: CelOptions): CelProgram {
  const { variables, constructs = false } = options
  const parsed = parseCel(expression)
  const mark = constructs ? { [constructionMark]: dyn } : {}
  const type = checked(expression, parsed, { ...options, variables: { ...variables, ...mark } })
  checkResult(type, options)
  const evaluator = evaluatorOf(parsed.expr, Object.keys(variables))
  return {
    expression,
    type,
    usesField: (variable, field) => selects(parsed.expr, variable, field),
    uses: (variable) => names(parsed.expr, variable),
    cost: (values) => evaluator.cost(sizeOf(values)),
    tree: parsed.expr,
    evaluate: (values, spend) => fromResult(evaluator.atOnce(inputOf(values), spend)),
    *evaluateAsking(values, access) {
      return fromResult(yield* evaluator.asking(inputOf(values), access))
    },
    *evaluateTyped(values, access) {
      return new CelTyped(yield* evaluator.asking(inputOf(values), access))
    },
  }
}

/** A type that is only known at run time is accepted, but not for what is to be constructed. */
function checkResult(type: CelType, { results, constructs, namesResult }: CelOptions): void {
  if (results === undefined || (type.kind === 'dyn' && constructs !== true)) return
  const shown = (one: CelType): string => (one.kind === 'null' ? 'null_type' : typeName(one))
  const wanted = results.map(shown)
  const found = shown(type)
  if (wanted.includes(found)) return
  const what = wanted.length === 1 ? wanted.join('') : `one of [${wanted.join(' ')}]`
  const but = namesResult === true ? ` but got ${found}` : ''
  throw new CelCompileError(`must evaluate to ${what}${but}`)
}

function inputOf(values: Values): Input {
  return {
    size: sizeOf(values),
    bindings: () =>
      Object.fromEntries(Object.entries(values).map(([name, value]) => [name, toInput(value)])),
  }
}

function parseCel(expression: string): ReturnType<typeof parse> {
  if (expression.length > longest) throw new CelCompileError('expression is too long')
  const marks = findOptionalMarks(expression)
  let parsed: ReturnType<typeof parse>
  try {
    parsed = parse(marks?.text ?? expression)
  } catch (error) {
    const { message } = error as Error
    const place = /^<input>:(\d+):(\d+): /.exec(message)
    const text = message.slice(place?.[0].length ?? 0)
    const [line, column] = [Number(place?.[1] ?? 1), Number(place?.[2] ?? 1)]
    throw new CelCompileError(
      compileMessage(expression, { line, column, text: `Syntax error: ${text}` }),
      { cause: error },
    )
  }
  try {
    applyOptionals(parsed.expr, marks, parsed.sourceInfo?.positions ?? {})
  } catch (error) {
    if (!(error instanceof OptionalSyntaxError)) throw error
    const { offset, message } = error
    throw new CelCompileError(messageAt(expression, offset, message), { cause: error })
  }
  return parsed
}

function messageAt(expression: string, offset: number, text: string): string {
  // The parser places some operators before the blanks that precede them.
  const blanks = /^[^\S\n]*/.exec(expression.slice(offset))?.[0].length ?? 0
  const before = expression.slice(0, offset + blanks).split('\n')
  const at = { line: before.length, column: (before.at(-1) ?? '').length + 1, text }
  return compileMessage(expression, at)
}

function checked(
  expression: string,
  parsed: ReturnType<typeof parse>,
  { variables, choosesDevices = false }: CelOptions,
): CelType {
  try {
    if (choosesDevices) applyBindings(parsed.expr)
    else refuseDeviceFunctions(parsed.expr)
    return checkCel(parsed.expr, new Map(Object.entries(variables)))
  } catch (error) {
    if (!(error instanceof CelTypeError)) throw error
    const offset = parsed.sourceInfo?.positions[String(error.exprId)] ?? 0
    throw new CelCompileError(messageAt(expression, offset, error.message), { cause: error })
  }
}

function compileMessage(
  expression: string,
  at: { line: number; column: number; text: string },
): string {
  const { line, column, text } = at
  const shown = expression.split('\n')[line - 1] ?? ''
  return `compilation failed: ERROR: <input>:${line}:${column}: ${text}\n | ${shown}\n | ${'.'.repeat(column - 1)}^`
}

/** Numbers without a fraction are integers, as upstream reads JSON. */
function toInput(value: unknown): CelInput {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (value instanceof CelTyped) return value.value
  if (Array.isArray(value)) return value.map(toInput)
  if (typeof value === 'object' && value !== null) {
    return new Map(
      Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([name, item]) => [name, toInput(item)]),
    )
  }
  return value as CelInput
}

/** A key of a map, as text. */
export function keyText(key: bigint | string | boolean | { readonly value: bigint }): string {
  return typeof key === 'object' ? String(key.value) : String(key)
}

function fromResult(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (isCelUint(value)) return Number(value.value)
  if (isCelList(value)) return [...value].map(fromResult)
  if (isCelMap(value)) {
    return Object.fromEntries([...value].map(([key, item]) => [keyText(key), fromResult(item)]))
  }
  return value
}

const selections: ReadonlySet<string> = new Set(['_[_]', optionalIndex, optionalSelect])

/** `variable.field`, `variable["field"]` or `has(variable.field)` anywhere in the expression. */
function selects(expr: Expr, variable: string, field: string): boolean {
  const isVariable = (one: Expr | undefined): boolean =>
    one?.exprKind.case === 'identExpr' && one.exprKind.value.name === variable
  const { case: kind, value } = expr.exprKind
  if (kind === 'selectExpr' && value.field === field && isVariable(value.operand)) return true
  if (kind === 'callExpr' && selections.has(value.function) && isVariable(value.args[0])) {
    const key = value.args[1]?.exprKind
    if (key?.case === 'constExpr' && key.value.constantKind.value === field) return true
  }
  return partsOf(expr).some((part) => selects(part, variable, field))
}

function names(expr: Expr, variable: string): boolean {
  const { case: kind, value } = expr.exprKind
  if (kind === 'identExpr' && value.name === variable) return true
  return partsOf(expr).some((part) => names(part, variable))
}
