/** What selectors of devices have beyond other expressions: `cel.bind(name, value, result)` and versions. */
import { CelTypeError } from './cel-checker.ts'
import { deviceFunctions } from './cel-semver.ts'
import { bind, partsOf, type Expr, type Kind } from './cel-tree.ts'

/** Turns each `cel.bind` in the tree into what the evaluator knows. Throws CelTypeError for an invalid name. */
export function applyBindings(expr: Expr): void {
  for (const part of partsOf(expr)) applyBindings(part)
  const { case: kind, value } = expr.exprKind
  if (kind !== 'callExpr' || !isBind(value)) return
  const [variable, bound, result] = value.args
  if (variable?.exprKind.case !== 'identExpr' || bound === undefined || result === undefined) {
    throw new CelTypeError(expr.id, 'cel.bind() variable names must be simple identifiers')
  }
  const { name } = variable.exprKind.value
  expr.exprKind = bind(expr.id, { name, value: bound }, result).exprKind
}

function isBind({ function: name, target, args }: Kind<'callExpr'>): boolean {
  if (name !== 'bind' || args.length !== 3) return false
  return target?.exprKind.case === 'identExpr' && target.exprKind.value.name === 'cel'
}

/** Other expressions do not know these functions. Throws CelTypeError at the first. */
export function refuseDeviceFunctions(expr: Expr): void {
  const { case: kind, value } = expr.exprKind
  if (kind === 'callExpr' && value.target === undefined && deviceFunctions.has(value.function)) {
    throw new CelTypeError(expr.id, `undeclared reference to '${value.function}' (in container '')`)
  }
  for (const part of partsOf(expr)) refuseDeviceFunctions(part)
}
