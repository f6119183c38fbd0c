/** CEL in scenarios: conditions on an object, and values of variables. The same language as in admission policies. */
import { compileCel } from '../../components/cel/cel.ts'
import type { CelProgram } from '../../components/cel/cel.ts'
import { bool, dyn } from '../../components/cel/cel-types.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { readable } from '../../cluster/shape.ts'
import type { Condition } from './where.ts'

/** The object itself, and the cluster's variables stay outside: `${name}` puts their values into the text. */
const options = { variables: { object: dyn }, results: [bool] }

/** The first line of a compiler's message, without its place in a file that is none. */
function compiled(expression: string, compile: () => CelProgram): CelProgram {
  try {
    return compile()
  } catch (error) {
    const [first = ''] = messageOf(error).split('\n')
    const reason = first.replace(/^compilation failed: ERROR: <input>:/, 'at ')
    throw new Error(`"${expression}" is no CEL expression of this place: ${reason}`, {
      cause: error,
    })
  }
}

/** A condition over `object`. Throws for an invalid expression; an error while it runs means that it does not hold. */
export function parseCelCondition(expression: string): Condition {
  const program = compiled(expression, () => compileCel(expression, options))
  return {
    text: expression,
    test: (object) => {
      try {
        const result = program.evaluate({ object })
        return { holds: result === true, values: [result] }
      } catch (error) {
        return { holds: false, values: [messageOf(error)] }
      }
    },
  }
}

/** A CEL expression over `object` that is true or false. */
export const celShape = readable('a CEL expression', parseCelCondition, { variables: 'unchecked' })

/** CEL's names of variables. */
const identifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/

/** The value of an expression over variables. Throws for an invalid one, and for one that fails. */
export function celValue(
  expression: string,
  variables: Readonly<Record<string, unknown>>,
): unknown {
  const named = Object.entries(variables).filter(([name]) => identifier.test(name))
  const types = Object.fromEntries(named.map(([name]) => [name, dyn]))
  const program = compiled(expression, () => compileCel(expression, { variables: types }))
  try {
    return program.evaluate(Object.fromEntries(named))
  } catch (error) {
    throw new Error(`"${expression}" has no value: ${messageOf(error)}`, { cause: error })
  }
}
