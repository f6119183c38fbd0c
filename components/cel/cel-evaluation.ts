/** Evaluation of a checked expression: bounded in cost, and paused where it waits for `authorizer`. */
import { celEnv, CelScalar, isCelError, plan, type CelInput } from '@bufbuild/cel'
import { finished, type Steps } from '../machinery/values/steps.ts'
import { askingOf, type AnswerAccess } from './cel-authorizer.ts'
import { costOf, type InputSize } from './cel-cost.ts'
import { extensionFunctions } from './cel-extensions.ts'
import { limitExceeded, Meter, spendingOf, withMeter } from './cel-meter.ts'
import { planSteps, type Evaluation, type Run, type Value } from './cel-steps.ts'
import type { Expr } from './cel-tree.ts'

/** Steps that one evaluation may cost (upstream: PerCallLimit). */
const costLimit = 1_000_000

/** An evaluation that failed. The message may name fields, never their values. */
export class CelEvaluationError extends Error {}

/** What an evaluation works on. */
export interface Input {
  readonly size: InputSize
  /** Called once, when the size is found to be affordable. */
  bindings(): Readonly<Record<string, CelInput>>
}

interface Evaluator {
  /** The steps that an evaluation with an input of this size costs at most. */
  readonly cost: (size: InputSize) => number
  /** Evaluates at once; `spend` is called with the steps that were counted meanwhile. Throws CelEvaluationError. */
  atOnce(input: Input, spend?: (steps: number) => void): CelInput
  /** Evaluates, and yields the promises of answers that it has to wait for. Throws CelEvaluationError. */
  asking(input: Input, access: AnswerAccess): Steps<CelInput>
}

function failed(error: unknown): CelEvaluationError {
  if (error instanceof CelEvaluationError) return error
  const text = error instanceof Error ? error.message : String(error)
  return new CelEvaluationError(text, { cause: error })
}

function attempt<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw failed(error)
  }
}

function inOurWords(message: string): string {
  return message.replace(/^field not found: /, 'no such key: ')
}

function ended(result: Value, { spending }: Evaluation): CelInput {
  // An error counts for nothing beside what decides without it; this one ends everything.
  if (spending.left < 0) throw new CelEvaluationError(limitExceeded)
  if (isCelError(result)) throw new CelEvaluationError(inOurWords(result.message))
  return result
}

/** The evaluator of a checked tree with these variables. */
export function evaluatorOf(expr: Expr, variables: readonly string[]): Evaluator {
  const cost = costOf(expr)
  const meter = new Meter()
  const env = celEnv({
    variables: Object.fromEntries(variables.map((name) => [name, CelScalar.DYN])),
    funcs: [...extensionFunctions(meter)],
  })
  const { tree, turns } = withMeter(expr)
  const planPart = (part: Expr): Run => {
    const run = plan(env, part)
    return (scope, { spending }) =>
      // The evaluator takes errors as values of variables, though its types do not say so.
      meter.during(spending, () => run(scope as Readonly<Record<string, CelInput>>) as Value)
  }
  const steps = planSteps(tree, planPart)
  const run: Run = steps === undefined ? planPart(tree) : (scope, of) => finished(steps(scope, of))

  const begun = (size: InputSize, access?: AnswerAccess): Evaluation => {
    if (cost(size) > costLimit) throw new CelEvaluationError(limitExceeded)
    return { spending: spendingOf(costLimit, turns, size), ask: askingOf(access) }
  }
  return {
    cost,
    atOnce(input, spend) {
      const evaluation = begun(input.size)
      const bindings = input.bindings()
      const result = attempt(() => run(bindings, evaluation))
      spend?.(costLimit - evaluation.spending.left)
      return ended(result, evaluation)
    },
    *asking(input, access) {
      const evaluation = begun(input.size, access)
      const bindings = input.bindings()
      if (steps === undefined)
        return ended(
          attempt(() => run(bindings, evaluation)),
          evaluation,
        )
      try {
        return ended(yield* steps(bindings, evaluation), evaluation)
      } catch (error) {
        throw failed(error)
      }
    },
  }
}
