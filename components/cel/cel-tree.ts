/** The tree of a parsed expression: its parts, and what new parts are made with. */
import type { parse } from '@bufbuild/cel'

/** A node of the tree. */
export type Expr = ReturnType<typeof parse>['expr']

/** What an expression of one kind holds. */
export type Kind<Case extends string> = Extract<Expr['exprKind'], { case: Case }>['value']

/** The parts of an expression, in order. */
export function partsOf(expr: Expr): Expr[] {
  const { case: kind, value } = expr.exprKind
  const parts = ((): (Expr | undefined)[] => {
    switch (kind) {
      case 'selectExpr':
        return [value.operand]
      case 'listExpr':
        return value.elements
      case 'structExpr':
        return value.entries.flatMap(({ keyKind, value: item }) => [
          keyKind.case === 'mapKey' ? keyKind.value : undefined,
          item,
        ])
      case 'callExpr':
        return [value.target, ...value.args]
      case 'comprehensionExpr':
        return [value.iterRange, value.accuInit, value.loopCondition, value.loopStep, value.result]
      default:
        return []
    }
  })()
  return parts.filter((part) => part !== undefined)
}

/** The same expression with its parts changed, in the order of `partsOf`; a loop stays as it is. */
export function withParts(expr: Expr, change: (part: Expr) => Expr): Expr {
  const { case: kind, value } = expr.exprKind
  switch (kind) {
    case 'selectExpr': {
      const operand = value.operand && change(value.operand)
      return make(expr.id, { case: kind, value: { ...value, ...(operand && { operand }) } })
    }
    case 'listExpr': {
      const elements = value.elements.map((element) => change(element))
      return make(expr.id, { case: kind, value: { ...value, elements } })
    }
    case 'structExpr': {
      const entries = value.entries.map((entry): (typeof value.entries)[number] => {
        const { keyKind } = entry
        const isMapKey = keyKind.case === 'mapKey'
        const key = isMapKey ? { ...keyKind, value: change(keyKind.value) } : keyKind
        const item = entry.value && change(entry.value)
        return { ...entry, keyKind: key, ...(item && { value: item }) }
      })
      return make(expr.id, { case: kind, value: { ...value, entries } })
    }
    case 'callExpr': {
      const target = value.target && change(value.target)
      const args = value.args.map((arg) => change(arg))
      return make(expr.id, { case: kind, value: { ...value, args, ...(target && { target }) } })
    }
    default:
      return expr
  }
}

export const make = (id: bigint, exprKind: Expr['exprKind']): Expr => ({
  $typeName: 'cel.expr.Expr',
  id,
  exprKind,
})

export function callOf(id: bigint, name: string, args: Expr[], target?: Expr): Expr {
  const value = { $typeName: 'cel.expr.Expr.Call', function: name, args } as Kind<'callExpr'>
  if (target !== undefined) value.target = target
  return make(id, { case: 'callExpr', value })
}

export const identOf = (id: bigint, name: string): Expr =>
  make(id, { case: 'identExpr', value: { $typeName: 'cel.expr.Expr.Ident', name } })

export const constantOf = (id: bigint, constantKind: Kind<'constExpr'>['constantKind']): Expr =>
  make(id, { case: 'constExpr', value: { $typeName: 'cel.expr.Constant', constantKind } })

/** `result` with `name` standing for `value`: a loop over nothing. */
export function bind(id: bigint, binding: { name: string; value: Expr }, result: Expr): Expr {
  const list: Expr = make(id, {
    case: 'listExpr',
    value: { $typeName: 'cel.expr.Expr.CreateList', elements: [], optionalIndices: [] },
  })
  return make(id, {
    case: 'comprehensionExpr',
    value: {
      $typeName: 'cel.expr.Expr.Comprehension',
      iterVar: '#unused',
      iterVar2: '',
      iterRange: list,
      accuVar: binding.name,
      accuInit: binding.value,
      loopCondition: constantOf(id, { case: 'boolValue', value: false }),
      loopStep: identOf(id, binding.name),
      result,
    },
  })
}
