/** PolicyEvaluator: evaluates a policy's expressions over one request, with its composed variables (upstream: cel/composition.go). */
import type { Steps } from '../../../machinery/values/steps.ts'
import type { CelTyped } from '../../../cel/cel.ts'
import type { Values } from '../../expressions/admission-variables.ts'
import type { Compiled } from '../../expressions/composed-variables.ts'
import type { AccessChecks } from '../expressions/access-checks.ts'

export interface PolicyEvaluator {
  /** The result as plain JSON. */
  plain(program: Compiled): Steps<unknown>
  /** The result with its type. */
  typed(program: Compiled): Steps<CelTyped>
}

/**
 * Evaluates expressions. A variable is evaluated when the first expression names it. One that fails is
 * missing, so that only an expression that reads it fails.
 */
export function policyEvaluator(
  variables: ReadonlyMap<string, Compiled>,
  { values, checks }: { values: Values; checks: AccessChecks },
): PolicyEvaluator {
  const known = new Map<string, CelTyped | Error>()

  function* valueOf(name: string, variable: Compiled): Steps<CelTyped | Error> {
    const before = known.get(name)
    if (before !== undefined) return before
    let value: CelTyped | Error
    try {
      value = (yield* evaluate(variable, 'evaluateTyped')) as CelTyped
    } catch (error) {
      value = error as Error
    }
    known.set(name, value)
    return value
  }

  function* evaluate(program: Compiled, how: 'evaluateAsking' | 'evaluateTyped'): Steps<unknown> {
    if (program instanceof Error) throw program
    const used: Record<string, CelTyped> = {}
    const failed = new Map<string, Error>()
    for (const [name, variable] of variables) {
      if (!program.usesField('variables', name)) continue
      const value = yield* valueOf(name, variable)
      if (value instanceof Error) failed.set(name, value)
      else used[name] = value
    }
    try {
      return yield* program[how]({ ...values, variables: used }, checks.answer)
    } catch (error) {
      const missing = /^no such key: (.*)$/.exec((error as Error).message)?.[1] ?? ''
      const why = failed.get(missing)
      if (why === undefined) throw error
      const text = `composited variable "${missing}" fails to evaluate: ${why.message}`
      throw new Error(text, { cause: why })
    }
  }

  return {
    plain: (program) => evaluate(program, 'evaluateAsking'),
    typed: (program) => evaluate(program, 'evaluateTyped') as Steps<CelTyped>,
  }
}
