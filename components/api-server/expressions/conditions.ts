/** Match conditions: expressions that must all be true for a webhook or a policy to look at a request (upstream: matchconditions). */
import type { MatchCondition } from '../../api/generated/types.ts'
import type { AnswerAccess } from '../../cel/cel-authorizer.ts'
import type { CelProgram } from '../../cel/cel.ts'
import type { Steps } from '../../machinery/values/steps.ts'
import { bool } from '../../cel/cel-types.ts'
import { admissionVariables, type Values } from './admission-variables.ts'

/** Whether all hold. A false one counts before others' errors; an error is the answer when none is false. */
export type Conditions = (values: Values, access: AnswerAccess) => Steps<boolean | Error>

/** Compiles them; an expression that cannot be compiled (an earlier release stored it) is an error at each evaluation. */
export async function compileConditions(
  conditions: readonly MatchCondition[],
  hasParams = false,
): Promise<Conditions> {
  const { compileCel } = await import('../../cel/cel.ts')
  const variables = admissionVariables({ params: hasParams, authorizer: true })
  const programs = conditions.map(({ expression }): CelProgram | Error => {
    try {
      return compileCel(expression, { variables, results: [bool], namesResult: true })
    } catch (error) {
      return error as Error
    }
  })
  return function* (values, access) {
    const faults: string[] = []
    for (const [at, program] of programs.entries()) {
      if (program instanceof Error) {
        faults.push(program.message)
        continue
      }
      try {
        if ((yield* program.evaluateAsking(values, access)) !== true) return false
      } catch (error) {
        const { expression = '' } = conditions[at] ?? {}
        faults.push(`expression '${expression}' resulted in error: ${(error as Error).message}`)
      }
    }
    if (faults.length === 0) return true
    return new Error(faults.length === 1 ? faults[0] : `[${faults.join(', ')}]`)
  }
}
