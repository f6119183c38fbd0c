/** PolicyProgram: a ValidatingAdmissionPolicy's expressions, compiled once and evaluated for each request. */
import type { ValidatingAdmissionPolicySpec } from '../../../api/generated/types.ts'
import { inTurns } from '../../../component-base/next-turn.ts'
import type { Steps } from '../../../machinery/values/steps.ts'
import type { AccessChecks } from '../expressions/access-checks.ts'
import type { Values } from '../../expressions/admission-variables.ts'
import { compileConditions, type Conditions } from '../../expressions/conditions.ts'
import type { Compiled } from '../../expressions/composed-variables.ts'
import type { PolicyExpressions } from '../../expressions/policy-expressions.ts'
import { policyEvaluator } from './policy-evaluator.ts'

/** The longest result of a message expression, in bytes. */
const longestMessage = 5 * 1024

/** A validation that was false, or an expression that failed. */
export interface Failure {
  /** The validation's index; 0 for other expressions. */
  readonly index: number
  readonly message: string
  readonly reason: string
}

export interface Outcome {
  readonly failures: readonly Failure[]
  /** By key, without those whose value is null. */
  readonly annotations: readonly (readonly [key: string, value: string])[]
}

export interface PolicyProgram {
  /** Undefined when the match conditions do not match the request. */
  evaluate(values: Values, checks: AccessChecks): Promise<Outcome | undefined>
}

function errorText(expression: string, error: unknown): string {
  return `expression '${expression.trim()}' resulted in error: ${(error as Error).message}`
}

type Run = (program: Compiled) => Steps<unknown>

/** The text of a failed validation: of its message expression, its message, or the expression itself. */
function* messageOf(validation: PolicyExpressions['validations'][number], run: Run): Steps<string> {
  const { message = '', messageProgram, expression } = validation
  const fallback = message.trim() || `failed expression: ${expression.trim()}`
  if (messageProgram === undefined) return fallback
  try {
    const text = String(yield* run(messageProgram)).trim()
    const isUsable =
      text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= longestMessage
    return isUsable ? text : fallback
  } catch {
    // The request is rejected all the same: a failed message expression only costs its text.
    return fallback
  }
}

/** Evaluates validations. `ignoresErrors` leaves out expressions that fail. */
function* validate(
  validations: PolicyExpressions['validations'],
  { run, ignoresErrors }: { run: Run; ignoresErrors: boolean },
): Steps<Failure[]> {
  const failures: Failure[] = []
  for (const [index, validation] of validations.entries()) {
    const { program, expression, reason = 'Invalid' } = validation
    try {
      if ((yield* run(program)) === true) continue
      failures.push({ index, message: yield* messageOf(validation, run), reason })
    } catch (error) {
      if (ignoresErrors) continue
      failures.push({ index, message: errorText(expression, error), reason: 'Invalid' })
    }
  }
  return failures
}

/** Evaluates audit annotations. `ignoresErrors` leaves out expressions that fail. */
function* annotationsOf(
  annotations: PolicyExpressions['annotations'],
  { run, ignoresErrors }: { run: Run; ignoresErrors: boolean },
): Steps<Outcome> {
  const failures: Failure[] = []
  const made: (readonly [string, string])[] = []
  for (const { key, valueExpression, program } of annotations) {
    try {
      const value = yield* run(program)
      if (typeof value === 'string' && value.trim() !== '') made.push([key, value.trim()])
    } catch (error) {
      if (ignoresErrors) continue
      const message = errorText(valueExpression, error)
      failures.push({ index: 0, message, reason: 'Invalid' })
    }
  }
  return { failures, annotations: made }
}

/** Compiles the expressions. One that cannot be compiled fails each time it is evaluated. */
export async function compilePolicy(spec: ValidatingAdmissionPolicySpec): Promise<PolicyProgram> {
  const { compileExpressions } = await import('../../expressions/policy-expressions.ts')
  const { variables, validations, annotations } = compileExpressions(spec)
  const conditions: Conditions | undefined = spec.matchConditions?.length
    ? await compileConditions(spec.matchConditions, Boolean(spec.paramKind))
    : undefined
  const ignoresErrors = spec.failurePolicy === 'Ignore'

  function* judge(values: Values, checks: AccessChecks): Steps<Outcome | undefined> {
    const seen = { ...values, namespaceObject: null }
    const holds = conditions === undefined || (yield* conditions(seen, checks.answer))
    if (holds === false) return undefined
    if (holds instanceof Error) {
      if (ignoresErrors) return undefined
      const failure = { index: 0, message: holds.message, reason: 'Invalid' }
      return { failures: [failure], annotations: [] }
    }
    const { plain: run } = policyEvaluator(variables, { values, checks })
    const failures = yield* validate(validations, { run, ignoresErrors })
    const annotated = yield* annotationsOf(annotations, { run, ignoresErrors })
    return {
      failures: [...failures, ...annotated.failures],
      annotations: annotated.annotations,
    }
  }

  return {
    evaluate: (values, checks) => inTurns(judge(values, checks)),
  }
}
