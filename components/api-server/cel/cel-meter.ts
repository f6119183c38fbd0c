/**
 * Meter: steps that are counted while an expression runs, where its shape and its input do not tell how many there will be: turns of
 * loops over what functions make (a text that is split), and what functions do with such lists.
 */
import { CelScalar, celFunc, celMethod, type CelFunc } from '@bufbuild/cel'
import { linearPattern, type LinearPattern } from './linear-pattern.ts'
import { costOf, type Cost, type InputSize } from './cel-cost.ts'
import { callOf, constantOf, partsOf, type Expr } from './cel-tree.ts'

const turnFunction = '@turn'

export const limitExceeded = 'operation cancelled: actual cost limit exceeded'

interface Meter {
  left: number
  /** Of one turn of each loop. */
  readonly turns: readonly number[]
}

let running: Meter | undefined

/** Takes steps off what the expression that runs may cost. Throws an Error when there are none left. */
export function charge(steps: number): void {
  if (running === undefined) return
  running.left -= steps
  if (running.left < 0) throw new Error(limitExceeded)
}

/** Runs an expression and tells how many steps were counted; more than `limit` of them end it. */
export function metered<T>(
  run: () => T,
  of: { limit: number; turns: readonly Cost[]; size: InputSize },
): { readonly result: T; readonly spent: number } {
  const before = running
  const meter = { left: of.limit, turns: of.turns.map((cost) => cost(of.size)) }
  running = meter
  try {
    const result = run()
    return { result, spent: of.limit - meter.left }
  } finally {
    running = before
  }
}

/**
 * Takes off what it may cost to look for one text in another: each character of the one may be compared with each of the other
 * (upstream: the costs of `contains` and `matches`).
 */
export function chargeSearch(text: string, wanted: string, stepsPerWanted = 0.1): void {
  charge(Math.ceil(text.length / 10) * Math.ceil(wanted.length * stepsPerWanted))
}

/** What the pattern is compiled to; looking for it in the text is charged. Throws an Error for an invalid pattern. */
export function chargedPattern(text: string, pattern: string): LinearPattern {
  chargeSearch(text, pattern, 0.25)
  const compiled = linearPattern(pattern)
  if (typeof compiled === 'string') throw new Error(compiled)
  return compiled
}

const { BOOL, INT, STRING } = CelScalar

/** From the end, the platform compares at every character. `from` is where what is found begins at the latest. */
function lastIndexOf(text: string, wanted: string, from?: bigint): bigint {
  chargeSearch(text, wanted)
  if (from === undefined) return BigInt(text.lastIndexOf(wanted))
  if (from < 0n || from >= text.length) throw new Error(`index out of range: ${from}`)
  return BigInt(text.lastIndexOf(wanted, Number(from)))
}

/** The functions that count; they take the place of the language's own. */
export const meterFunctions: readonly CelFunc[] = [
  celMethod('contains', STRING, [STRING], BOOL, function (wanted) {
    chargeSearch(this, wanted)
    return this.includes(wanted)
  }),
  celMethod('lastIndexOf', STRING, [STRING], INT, function (wanted) {
    return lastIndexOf(this, wanted)
  }),
  celMethod('lastIndexOf', STRING, [STRING, INT], INT, function (wanted, from) {
    return lastIndexOf(this, wanted, from)
  }),
  celMethod('matches', STRING, [STRING], BOOL, function (pattern) {
    return chargedPattern(this, pattern).isIn(this)
  }),
  celFunc(turnFunction, [CelScalar.INT, CelScalar.DYN], CelScalar.DYN, (loop, goesOn) => {
    charge(running?.turns[Number(loop)] ?? 0)
    return goesOn
  }),
]

/** The tree with every turn of its loops counted, and what one turn of each costs, loops inside of it aside. */
export function withMeter(tree: Expr): { readonly tree: Expr; readonly turns: readonly Cost[] } {
  const turns: Cost[] = []
  const changed = structuredClone(tree)
  const visit = (expr: Expr): void => {
    for (const part of partsOf(expr)) visit(part)
    const { case: kind, value } = expr.exprKind
    if (kind !== 'comprehensionExpr' || value.loopCondition === undefined) return
    const { loopCondition, loopStep } = value
    const parts = [loopCondition, loopStep].filter((part) => part !== undefined)
    const costs = parts.map((part) => costOf(part, { countsTurns: false }))
    const loop = constantOf(expr.id, { case: 'int64Value', value: BigInt(turns.length) })
    turns.push((size) => costs.reduce((total, cost) => total + cost(size), 1))
    value.loopCondition = callOf(expr.id, turnFunction, [loop, loopCondition])
  }
  visit(changed)
  return { tree: changed, turns }
}
