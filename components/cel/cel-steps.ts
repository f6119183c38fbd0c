/**
 * An expression that asks `authorizer`, evaluated in steps: it pauses where an answer has to be waited for, and goes on from there.
 * Parts that ask nothing are the evaluator's; what is around a question follows the same rules (errors, short circuits, loops).
 */
import {
  celError,
  isCelError,
  isCelList,
  isCelMap,
  type CelError,
  type CelInput,
} from '@bufbuild/cel'
import type { Steps } from '../machinery/values/steps.ts'
import { askingFunction, type Ask } from './cel-authorizer.ts'
import { constantOf, identOf, partsOf, withParts, type Expr, type Kind } from './cel-tree.ts'
import type { Spending } from './cel-meter.ts'

export type Value = CelInput | CelError
/** Values of variables, by name. */
type Scope = Readonly<Record<string, Value>>

/** One evaluation. */
export interface Evaluation {
  readonly spending: Spending
  readonly ask: Ask
}

/** Evaluates at once. */
export type Run = (scope: Scope, evaluation: Evaluation) => Value
/** Evaluates, and yields the promise of an answer where it has to be waited for. */
type StepwiseRun = (scope: Scope, evaluation: Evaluation) => Steps<Value>

type Plan = (part: Expr) => Run

/** The parts that ask something, with all that they are in. */
function askingParts(tree: Expr): ReadonlySet<Expr> {
  const asking = new Set<Expr>()
  const visit = (expr: Expr): boolean => {
    const { case: kind, value } = expr.exprKind
    let asks = kind === 'callExpr' && value.function === askingFunction
    for (const part of partsOf(expr)) asks = visit(part) || asks
    if (asks) asking.add(expr)
    return asks
  }
  visit(tree)
  return asking
}

/** Undefined for an expression that asks nothing. `plan` is the evaluator. */
export function planSteps(tree: Expr, plan: Plan): StepwiseRun | undefined {
  const asking = askingParts(tree)
  if (asking.size === 0) return undefined
  const planned = (expr: Expr): StepwiseRun => {
    if (!asking.has(expr)) return atOnce(plan(expr))
    const { case: kind, value } = expr.exprKind
    if (kind === 'comprehensionExpr') return loop(expr.id, value, planned)
    if (kind !== 'callExpr') return strict(expr)
    switch (value.function) {
      case '_&&_':
        return logical(expr, { plan, planned, decisive: false })
      case '_||_':
        return logical(expr, { plan, planned, decisive: true })
      case '_?_:_':
        return conditional(expr, { plan, planned })
      case askingFunction:
        return question(strict(expr))
      default:
        return strict(expr)
    }
  }
  /** Evaluates the parts that ask, in order, and then the expression with their values in their place. */
  const strict = (expr: Expr): StepwiseRun => {
    const parts = new Map<string, StepwiseRun>()
    const rest = withParts(expr, (part) => {
      if (!asking.has(part)) return part
      const name = `@part${parts.size}`
      parts.set(name, planned(part))
      return identOf(part.id, name)
    })
    const run = plan(rest)
    return function* (scope, evaluation) {
      const known: Record<string, Value> = { ...scope }
      for (const [name, part] of parts) {
        const value = yield* part(scope, evaluation)
        known[name] = value
        // The evaluator reports it.
        if (isCelError(value)) break
      }
      return run(known, evaluation)
    }
  }
  return planned(tree)
}

function atOnce(run: Run): StepwiseRun {
  // oxlint-disable-next-line require-yield -- a part that asks nothing
  return function* (scope, evaluation) {
    return run(scope, evaluation)
  }
}

function question(run: StepwiseRun): StepwiseRun {
  return function* (scope, evaluation) {
    const value = yield* run(scope, evaluation)
    if (isCelError(value)) return value
    const decision = evaluation.ask(value)
    return decision instanceof Promise ? ((yield decision) as CelInput) : decision
  }
}

interface Planning {
  readonly plan: Plan
  readonly planned: (expr: Expr) => StepwiseRun
}

/** Names that stand for the parts of an expression whose values are known. */
const nameOf = (index: number): string => `@part${index}`

/** The first part that is `decisive` decides; the evaluator combines the others. */
function logical(
  expr: Expr,
  { plan, planned, decisive }: Planning & { decisive: boolean },
): StepwiseRun {
  const parts = partsOf(expr).map(planned)
  let index = 0
  const combine = plan(withParts(expr, (part) => identOf(part.id, nameOf(index++))))
  return function* (scope, evaluation) {
    const known: Record<string, Value> = {}
    for (const [at, part] of parts.entries()) {
      const value = yield* part(scope, evaluation)
      if (value === decisive) return value
      known[nameOf(at)] = value
    }
    return combine(known, evaluation)
  }
}

function conditional(expr: Expr, { plan, planned }: Planning): StepwiseRun {
  const [condition, whenTrue, whenFalse] = partsOf(expr).map(planned)
  let index = 0
  const nothing = constantOf(expr.id, { case: 'nullValue', value: 0 })
  const fault = plan(
    withParts(expr, (part) => (index++ === 0 ? identOf(part.id, nameOf(0)) : nothing)),
  )
  return function* (scope, evaluation) {
    const value = condition && (yield* condition(scope, evaluation))
    const chosen = value === true ? whenTrue : value === false ? whenFalse : undefined
    if (chosen !== undefined) return yield* chosen(scope, evaluation)
    return fault(value === undefined ? {} : { [nameOf(0)]: value }, evaluation)
  }
}

function itemsOf(range: Value): readonly Value[] | undefined {
  if (isCelMap(range)) return Array.from(range.keys())
  return isCelList(range) ? Array.from(range) : undefined
}

function loop(
  id: bigint,
  value: Kind<'comprehensionExpr'>,
  planned: (expr: Expr) => StepwiseRun,
): StepwiseRun {
  const part = (expr: Expr | undefined): StepwiseRun =>
    expr === undefined ? atOnce(() => celError('invalid comprehension', id)) : planned(expr)
  const [start, range, result] = [part(value.accuInit), part(value.iterRange), part(value.result)]
  const [condition, step] = [part(value.loopCondition), part(value.loopStep)]
  const { accuVar, iterVar } = value
  return function* (scope, evaluation) {
    let reached = yield* start(scope, evaluation)
    if (isCelError(reached)) return reached
    const over = yield* range(scope, evaluation)
    if (isCelError(over)) return over
    const items = itemsOf(over)
    if (items === undefined) return celError('type mismatch: iterable expected', id)
    for (const item of items) {
      const turn: Scope = { ...scope, [accuVar]: reached, [iterVar]: item }
      const goesOn = yield* condition(turn, evaluation)
      if (isCelError(goesOn)) return goesOn
      if (goesOn !== true) break
      reached = yield* step(turn, evaluation)
    }
    return yield* result({ ...scope, [accuVar]: reached }, evaluation)
  }
}
