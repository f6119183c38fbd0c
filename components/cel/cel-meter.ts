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

/** The remaining budget of one evaluation, and the cost of one turn of each of its loops. */
export interface Spending {
  left: number
  readonly turns: readonly number[]
}

/** Spending of an evaluation with an input of this size that may take `limit` steps. */
export function spendingOf(limit: number, turns: readonly Cost[], size: InputSize): Spending {
  return { left: limit, turns: turns.map((cost) => cost(size)) }
}

/** The meter of one program: its functions charge the evaluation that runs. */
export class Meter {
  #running: Spending | undefined

  /** Runs a part of an evaluation, which never waits. */
  during<T>(spending: Spending, run: () => T): T {
    const before = this.#running
    this.#running = spending
    try {
      return run()
    } finally {
      this.#running = before
    }
  }

  /** Takes steps off what the evaluation has left. Throws an Error when none are left. */
  charge(steps: number): void {
    if (this.#running === undefined) return
    this.#running.left -= steps
    if (this.#running.left < 0) throw new Error(limitExceeded)
  }

  /** Charges one turn of a loop. */
  chargeTurn(loop: number): void {
    this.charge(this.#running?.turns[loop] ?? 0)
  }

  /**
   * Charges a search for one text in another: each character of the one may be compared with each of the other
   * (upstream: the costs of `contains` and `matches`).
   */
  chargeSearch(text: string, wanted: string, stepsPerWanted = 0.1): void {
    this.charge(Math.ceil(text.length / 10) * Math.ceil(wanted.length * stepsPerWanted))
  }

  /** Charges a search for the pattern, and compiles it. Throws an Error for an invalid pattern. */
  chargedPattern(text: string, pattern: string): LinearPattern {
    this.chargeSearch(text, pattern, 0.25)
    const compiled = linearPattern(pattern)
    if (typeof compiled === 'string') throw new Error(compiled)
    return compiled
  }
}

const { BOOL, INT, STRING } = CelScalar

/** The functions of the language that charge; they replace the evaluator's own. */
export function meteredFunctions(meter: Meter): readonly CelFunc[] {
  /** From the end, the platform compares at every character. `from` is where a match begins at the latest. */
  function lastIndexOf(text: string, wanted: string, from?: bigint): bigint {
    meter.chargeSearch(text, wanted)
    if (from === undefined) return BigInt(text.lastIndexOf(wanted))
    if (from < 0n || from >= text.length) throw new Error(`index out of range: ${from}`)
    return BigInt(text.lastIndexOf(wanted, Number(from)))
  }
  return [
    celMethod('contains', STRING, [STRING], BOOL, function (wanted) {
      meter.chargeSearch(this, wanted)
      return this.includes(wanted)
    }),
    celMethod('lastIndexOf', STRING, [STRING], INT, function (wanted) {
      return lastIndexOf(this, wanted)
    }),
    celMethod('lastIndexOf', STRING, [STRING, INT], INT, function (wanted, from) {
      return lastIndexOf(this, wanted, from)
    }),
    celMethod('matches', STRING, [STRING], BOOL, function (pattern) {
      return meter.chargedPattern(this, pattern).isIn(this)
    }),
    celFunc(turnFunction, [CelScalar.INT, CelScalar.DYN], CelScalar.DYN, (loop, goesOn) => {
      meter.chargeTurn(Number(loop))
      return goesOn
    }),
  ]
}

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
