/** PolicyProgram: a ValidatingAdmissionPolicy's expressions, compiled once, and what they say of one request. */
import type { ValidatingAdmissionPolicySpec } from '../../../api/generated/types.ts'
import type { CelTyped } from '../../cel/cel.ts'
import type { AccessChecks } from '../expressions/access-checks.ts'
import type { Values } from '../../expressions/admission-variables.ts'
import { loadCel } from '../../expressions/cel-module.ts'
import { compileConditions, type Conditions } from '../../expressions/conditions.ts'
import { compileExpressions, type Compiled } from '../../expressions/policy-expressions.ts'

/** Longest text that a message expression may make, in bytes. */
const longestMessage = 5 * 1024

/** A validation that did not hold, or an expression that failed. */
export interface Failure {
  /** Which validation; 0 for what is not one of them. */
  readonly index: number
  readonly message: string
  readonly reason: string
}

export interface Outcome {
  readonly failures: readonly Failure[]
  /** By key; null values leave them out. */
  readonly annotations: readonly (readonly [key: string, value: string])[]
}

export interface PolicyProgram {
  /** Undefined when the match conditions say that the policy is not for the request. */
  evaluate(values: Values, checks: AccessChecks): Outcome | undefined | Promise<Outcome | undefined>
}

function errorText(expression: string, error: unknown): string {
  return `expression '${expression.trim()}' resulted in error: ${(error as Error).message}`
}

/** Compiles the expressions; one that cannot be compiled fails whenever it is needed. */
export async function compilePolicy(spec: ValidatingAdmissionPolicySpec): Promise<PolicyProgram> {
  await loadCel()
  const { variables, validations, annotations } = compileExpressions(spec)
  const conditions: Conditions | undefined = spec.matchConditions?.length
    ? await compileConditions(spec.matchConditions, Boolean(spec.paramKind))
    : undefined
  const ignoresFailure = spec.failurePolicy === 'Ignore'

  /**
   * Evaluates expressions over one request. A variable is worked out when the first one names it; one that fails is as if it were
   * not there, so that it fails only what really reads it.
   */
  function evaluator(values: Values, checks: AccessChecks): (program: Compiled) => unknown {
    const known = new Map<string, CelTyped | Error>()
    function valueOf(name: string, variable: Compiled): CelTyped | Error {
      const before = known.get(name)
      if (before !== undefined) return before
      let value: CelTyped | Error
      try {
        value = evaluate(variable, 'evaluateTyped') as CelTyped
      } catch (error) {
        value = error as Error
      }
      known.set(name, value)
      return value
    }
    function evaluate(program: Compiled, how: 'evaluate' | 'evaluateTyped'): unknown {
      if (program instanceof Error) throw program
      const used: Record<string, CelTyped> = {}
      const failed = new Map<string, Error>()
      for (const [name, variable] of variables) {
        if (!program.usesField('variables', name)) continue
        const value = valueOf(name, variable)
        if (value instanceof Error) failed.set(name, value)
        else used[name] = value
      }
      try {
        return program[how]({ ...values, variables: used }, checks.answer)
      } catch (error) {
        const missing = /^no such key: (.*)$/.exec((error as Error).message)?.[1] ?? ''
        const why = failed.get(missing)
        if (why === undefined) throw error
        const text = `composited variable "${missing}" fails to evaluate: ${why.message}`
        throw new Error(text, { cause: why })
      }
    }
    return (program) => evaluate(program, 'evaluate')
  }

  function messageOf(
    validation: (typeof validations)[number],
    run: (program: Compiled) => unknown,
  ): string {
    const { message = '', messageProgram, expression } = validation
    const fallback = message.trim() || `failed expression: ${expression.trim()}`
    if (messageProgram === undefined) return fallback
    try {
      const text = String(run(messageProgram)).trim()
      const isUsable =
        text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= longestMessage
      return isUsable ? text : fallback
    } catch {
      // A message that cannot be made is not what the request is judged by.
      return fallback
    }
  }

  function judge(values: Values, checks: AccessChecks): Outcome | undefined {
    const holds = conditions?.({ ...values, namespaceObject: null }, checks.answer) ?? true
    if (holds === false) return undefined
    if (holds instanceof Error) {
      if (ignoresFailure) return undefined
      return {
        failures: [{ index: 0, message: holds.message, reason: 'Invalid' }],
        annotations: [],
      }
    }
    const run = evaluator(values, checks)
    const failures: Failure[] = []
    for (const [index, validation] of validations.entries()) {
      const { program, expression, reason = 'Invalid' } = validation
      try {
        if (run(program) === true) continue
        failures.push({ index, message: messageOf(validation, run), reason })
      } catch (error) {
        if (!ignoresFailure) {
          failures.push({ index, message: errorText(expression, error), reason: 'Invalid' })
        }
      }
    }
    const made: (readonly [string, string])[] = []
    for (const { key, valueExpression, program } of annotations) {
      try {
        const value = run(program)
        if (typeof value === 'string' && value.trim() !== '') made.push([key, value.trim()])
      } catch (error) {
        if (!ignoresFailure) {
          failures.push({
            index: 0,
            message: errorText(valueExpression, error),
            reason: 'Invalid',
          })
        }
      }
    }
    return { failures, annotations: made }
  }

  return {
    evaluate: (values, checks) => checks.settled(() => judge(values, checks)),
  }
}
