/** Expressions of Stages, compiled: selectors and values, in jq and CEL. Errors name file and line. */
import { compileCel } from '../cel/cel.ts'
import { bool, dyn } from '../cel/cel-types.ts'
import type { CelType } from '../cel/cel-types.ts'
import { messageOf } from '../component-base/log.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import { compileJq } from './jq.ts'
import type { Expression, Located, Operator, Requirement } from './stage.ts'
import { StageError } from './stage-error.ts'

function at<T>(place: Located, what: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    const [first = ''] = messageOf(error).split('\n')
    const reason = first.replace(/^compilation failed: ERROR: <input>:/, 'at ')
    throw new StageError(place, `${what} ${JSON.stringify(place.text)}: ${reason}`, error)
  }
}

function celProgram(source: Located, results?: readonly CelType[]) {
  const options = { variables: { self: dyn }, ...(results === undefined ? {} : { results }) }
  return at(source, 'CEL', () => compileCel(source.text, options))
}

function jqQuery(source: Located) {
  return at(source, 'jq', () => compileJq(source.text))
}

const isOneOf = (values: readonly string[], found: unknown): boolean =>
  (typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean') &&
  values.includes(String(found))

function holds(operator: Operator, values: readonly string[], found: readonly unknown[]): boolean {
  switch (operator) {
    case 'In':
      return found.some((one) => isOneOf(values, one))
    case 'NotIn':
      return !found.some((one) => isOneOf(values, one))
    case 'Exists':
      return found.length > 0
    case 'DoesNotExist':
      return found.length === 0
  }
}

/** Whether an object meets a requirement. Throws a StageError for an expression that fails in CEL, and for one that takes too long. */
export type Condition = (object: KubeObject) => boolean

/** Throws a StageError. */
export function compileRequirement(requirement: Requirement): Condition {
  if ('cel' in requirement) {
    const { cel } = requirement
    const program = celProgram(cel, [bool])
    return (self) => at(cel, 'CEL', () => program.evaluate({ self })) === true
  }
  const { jq, operator, values } = requirement
  const query = jqQuery(jq)
  return (object) =>
    holds(
      operator,
      values,
      at(jq, 'jq', () => query.run(object)),
    )
}

/** The first value of an expression; undefined for none. Throws as conditions do. */
export type ValueOf = (object: KubeObject) => unknown

/** Throws a StageError. */
export function compileExpression(expression: Expression): ValueOf {
  if (expression.language === 'cel') {
    // Errors name places of the expression as it is.
    celProgram(expression)
    // Durations, moments and numbers as text, which every reader of values takes.
    const program = celProgram({ ...expression, text: `string(${expression.text}\n)` })
    return (self) => at(expression, 'CEL', () => program.evaluate({ self }))
  }
  const query = jqQuery(expression)
  return (object) => at(expression, 'jq', () => query.run(object))[0]
}
