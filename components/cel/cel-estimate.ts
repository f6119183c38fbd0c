/**
 * What an expression can cost for the largest input that a schema lets be: asked before the expression is taken, so that it is
 * refused where it could not be evaluated later (upstream: cel-go checker/cost.go, apiserver/pkg/cel/library/cost.go).
 */
import { checkedType } from './cel-checker.ts'
import { estimateCall } from './cel-estimate-calls.ts'
import { atLeastUnknown, fixed, nothing, plus, times, type Range } from './cel-estimate-ranges.ts'
import type { Expr, Kind } from './cel-tree.ts'
import type { CelType } from './cel-types.ts'

/** How large values of a schema can be. */
export interface Sized {
  /** Characters of a text, items of a list or map; 0 for what has one size. */
  readonly most: number
  /** Bytes in JSON. */
  readonly leastBytes: number
  /** Of a list, or the values of a map. */
  readonly items?: Sized
  readonly keys?: Sized
  readonly fields?: ReadonlyMap<string, Sized>
}

/** One part of the expression, as far as its cost and that of what it stands in go. */
export interface Estimated {
  readonly cost: Range
  readonly type: CelType
  /** Its schema; undefined for a value that is not part of the input. */
  readonly sized: Sized | undefined
  /** Undefined where nothing is known. */
  readonly size: Range | undefined
  /** Of the items of a list, or the values of a map, that the expression writes down. */
  readonly itemSize: Range | undefined
  /** The value of a literal. */
  readonly literal: unknown
}

type Scope = ReadonlyMap<string, Pick<Estimated, 'sized' | 'size' | 'itemSize'>>

const one = fixed(1)
const scalars: ReadonlySet<string> = new Set([
  'bool',
  'double',
  'duration',
  'int',
  'timestamp',
  'uint',
])

/** The size that is known by schema, or else by type. */
function sizeOf(type: CelType, sized: Sized | undefined): Range | undefined {
  if (sized !== undefined) return { min: 0, max: sized.most }
  return scalars.has(type.kind) || type.kind === 'opaque' ? one : undefined
}

/** The most that the expression costs. `root` is what all of its variables are. */
export function estimateCel(tree: Expr, root: Sized): number {
  return estimate(tree, new Map(), root).cost.max
}

function estimate(expr: Expr | undefined, scope: Scope, root: Sized): Estimated {
  const type = expr === undefined ? ({ kind: 'dyn' } as const) : checkedType(expr)
  const empty: Estimated = {
    cost: nothing,
    type,
    sized: undefined,
    size: undefined,
    itemSize: undefined,
    literal: undefined,
  }
  if (expr === undefined) return empty
  const { case: kind, value } = expr.exprKind
  switch (kind) {
    case 'constExpr': {
      const literal = value.constantKind.value
      const size = typeof literal === 'string' ? Array.from(literal).length : 1
      return {
        ...empty,
        size: fixed(literal instanceof Uint8Array ? literal.length : size),
        literal,
      }
    }
    case 'identExpr': {
      const known = scope.get(value.name) ?? { sized: root, size: undefined, itemSize: undefined }
      return { ...empty, ...known, cost: one, size: sizeOf(type, known.sized) ?? known.size }
    }
    case 'selectExpr':
      return { ...empty, ...estimateSelect(value, type, { scope, root }) }
    case 'listExpr': {
      const items = value.elements.map((item) => estimate(item, scope, root))
      return {
        ...empty,
        cost: items.reduce((sum, item) => plus(sum, item.cost), fixed(10)),
        size: fixed(items.length),
        itemSize: unionOf(items.map((item) => item.size)),
      }
    }
    case 'structExpr': {
      const parts = value.entries.flatMap(({ keyKind, value: item }) => [
        ...(keyKind.case === 'mapKey' ? [keyKind.value] : []),
        ...(item === undefined ? [] : [item]),
      ])
      const costs = parts.map((part) => estimate(part, scope, root).cost)
      return { ...empty, cost: costs.reduce(plus, fixed(30)), size: fixed(value.entries.length) }
    }
    case 'comprehensionExpr':
      return { ...empty, ...estimateLoop(value, { scope, root }) }
    case 'callExpr': {
      const target = value.target && estimate(value.target, scope, root)
      const args = value.args.map((arg) => estimate(arg, scope, root))
      const call = estimateCall(value.function, { target, args, type })
      return { ...empty, ...call, size: call.size ?? sizeOf(type, undefined) }
    }
    default:
      return empty
  }
}

function unionOf(sizes: readonly (Range | undefined)[]): Range | undefined {
  if (sizes.length === 0) return nothing
  return sizes
    .map((size) => size ?? atLeastUnknown)
    .reduce((a, b) => ({ min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) }))
}

function estimateSelect(
  { operand, field, testOnly }: Kind<'selectExpr'>,
  type: CelType,
  { scope, root }: { scope: Scope; root: Sized },
): Partial<Estimated> {
  const from = estimate(operand, scope, root)
  if (testOnly) return { cost: from.cost, size: one }
  const isPart = from.type.kind === 'map' || from.type.kind === 'object'
  const sized = from.sized?.fields?.get(field)
  return {
    cost: isPart ? plus(from.cost, one) : from.cost,
    sized,
    size: sizeOf(type, sized),
  }
}

function isBinding({ iterRange, loopCondition }: Kind<'comprehensionExpr'>): boolean {
  return (
    iterRange?.exprKind.case === 'listExpr' &&
    iterRange.exprKind.value.elements.length === 0 &&
    loopCondition?.exprKind.case === 'constExpr'
  )
}

function estimateLoop(
  loop: Kind<'comprehensionExpr'>,
  { scope, root }: { scope: Scope; root: Sized },
): Partial<Estimated> {
  const range = estimate(loop.iterRange, scope, root)
  const start = estimate(loop.accuInit, scope, root)
  const base = plus(range.cost, start.cost)
  const { size, sized, itemSize } = start
  const withResult = new Map(scope).set(loop.accuVar, { size, sized, itemSize })
  if (isBinding(loop)) {
    const result = estimate(loop.result, withResult, root)
    return { ...result, cost: plus(base, result.cost) }
  }
  const isList = range.type.kind === 'list' || range.sized?.keys === undefined
  const item = {
    sized: isList ? range.sized?.items : range.sized?.keys,
    size: range.itemSize,
    itemSize: undefined,
  }
  const inner = new Map(withResult).set(loop.iterVar, item)
  if (loop.iterVar2 !== '') inner.set(loop.iterVar2, { ...item, sized: range.sized?.items })
  const each = plus(
    estimate(loop.loopCondition, inner, root).cost,
    estimate(loop.loopStep, inner, root).cost,
  )
  const result = estimate(loop.result, withResult, root)
  const count = range.size ?? atLeastUnknown
  const isCollecting = start.type.kind === 'list' || start.type.kind === 'map'
  return {
    cost: plus(plus(base, result.cost), times(count, each)),
    size: isCollecting ? count : start.size,
  }
}
