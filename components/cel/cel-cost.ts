/**
 * What an expression costs at most, in steps, for input of a given size: known before it runs, so that none runs for
 * long (upstream bounds the same by counting while it runs: apiserver/pkg/cel, PerCallLimit). Lists that functions make are
 * not part of the input: cel-meter.ts counts what is done with them.
 */
import { remembered } from '../machinery/values/remembered.ts'
import type { Expr } from './cel-tree.ts'

/** How large the largest parts of the input are. */
export interface InputSize {
  /** Items of a list or map. */
  readonly items: number
  /** Characters of a string. */
  readonly characters: number
}

export type Cost = (size: InputSize) => number

/** Functions that look at every character or item of what they are given. */
const scanning = new Set([
  'matches',
  'contains',
  'startsWith',
  'endsWith',
  'find',
  'findAll',
  'replace',
  'split',
  'join',
  'format',
  'trim',
  'lowerAscii',
  'upperAscii',
  'charAt',
  'indexOf',
  'lastIndexOf',
  'substring',
  'url',
  'isURL',
  'sum',
  'min',
  'max',
  'isSorted',
  '@in',
  '_+_',
  '_==_',
  '_!=_',
])
/** Functions that compare each item with each. */
const pairing = new Set(['contains', 'equivalent', 'intersects'])
/** A character is cheaper than a step (upstream: StringTraversalCostFactor). */
const stepsPerCharacter = 0.1
/** Those of them that the platform does at once. One turn of a loop mostly reads far less than the longest text. */
const comparing = new Set([
  'contains',
  'startsWith',
  'endsWith',
  'indexOf',
  'lastIndexOf',
  '@in',
  '_+_',
  '_==_',
  '_!=_',
])
const stepsPerComparedCharacter = 0.001

/** Measures once; the answer is asked for every evaluation. Without turns, loops cost what they do before the first one. */
export function costOf(expr: Expr, { countsTurns = true } = {}): Cost {
  const { case: kind, value } = expr.exprKind
  const sum = (own: number, parts: readonly (Expr | undefined)[]): Cost => {
    const costs = parts
      .filter((part) => part !== undefined)
      .map((part) => costOf(part, { countsTurns }))
    return (size) => costs.reduce((total, cost) => total + cost(size), own)
  }
  switch (kind) {
    case 'selectExpr':
      return sum(1, [value.operand])
    case 'listExpr':
      return sum(10, value.elements)
    case 'structExpr':
      return sum(
        30,
        value.entries.flatMap(({ keyKind, value: item }) => [
          keyKind.case === 'mapKey' ? keyKind.value : undefined,
          item,
        ]),
      )
    case 'callExpr': {
      const { function: name, target, args } = value
      const parts = sum(1, [target, ...args])
      const pairs =
        pairing.has(name) &&
        target?.exprKind.case === 'identExpr' &&
        target.exprKind.value.name === 'sets'
      if (!scanning.has(name) && !pairs) return parts
      const perCharacter =
        countsTurns || !comparing.has(name) ? stepsPerCharacter : stepsPerComparedCharacter
      return (size) =>
        parts(size) +
        size.characters * perCharacter +
        (pairs ? size.items * size.items : size.items)
    }
    case 'comprehensionExpr': {
      const once = sum(1, [value.iterRange, value.accuInit, value.result])
      if (!countsTurns) return once
      const each = sum(1, [value.loopCondition, value.loopStep])
      const written =
        value.iterRange?.exprKind.case === 'listExpr'
          ? value.iterRange.exprKind.value.elements.length
          : undefined
      return (size) => once(size) + (written ?? size.items) * each(size)
    }
    default:
      return () => 1
  }
}

/** The sizes of the largest parts of an expression's variables; measured once for all expressions that get the same ones. */
export const sizeOf = remembered((variables: object): InputSize => sizeOfParts(variables))

function sizeOfParts(value: unknown): InputSize {
  let items = 0
  let characters = 0
  const visit = (part: unknown): void => {
    if (typeof part === 'string') characters = Math.max(characters, part.length)
    else if (typeof part === 'object' && part !== null) {
      const inner: unknown[] = Object.values(part)
      items = Math.max(items, inner.length)
      for (const one of inner) visit(one)
    }
  }
  visit(value)
  return { items, characters }
}
