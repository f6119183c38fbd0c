/** each: runs the same steps for each item of a list. */
import { anything, described, object, optional, readable } from '../../../cluster/shape.ts'
import type { Shape } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'
import type { ScenarioStep, StepKind } from '../step.ts'

export const variableName = readable('the name of a variable', (text) => {
  if (!/^[A-Za-z_]\w*$/.test(text))
    throw new Error(`"${text}" must be a name of letters, digits and underscores`)
})

const items: Shape<unknown> = {
  what: 'a list, or a variable that holds one',
  schema: { anyOf: [{ type: 'array' }, { type: 'string', pattern: '^\\$\\{[^}]*\\}$' }] },
  check: (value, path, issues) => {
    const isVariable = typeof value === 'string' && /^\$\{[^}]*\}$/.test(value)
    if (!Array.isArray(value) && !isVariable)
      issues.push({ path, message: 'must be a list, or a variable that holds one' })
    return anything.check(value, path, issues)
  },
}

export function createEach(steps: Shape<ScenarioStep[]>): StepKind {
  return defineStep({
    name: 'each',
    summary: 'Run steps for each item of a list.',
    shape: object({
      of: described('The items.', items),
      as: described('The variable that holds the item. Default: `item`.', optional(variableName)),
      steps: described('The steps for an item; `${round}` counts from 1.', steps),
    }),
    title: ({ of, as = 'item', steps: inner }) => {
      const all = Array.isArray(of) ? of.map((one) => JSON.stringify(one)).join(', ') : String(of)
      return `for each ${as} of ${all}: ${inner.map((one) => one.title).join('; ')}`
    },
    run: async ({ of, as = 'item', steps: inner }, { runSteps }) => {
      if (!Array.isArray(of)) throw new Error(`of: must be a list, not ${JSON.stringify(of)}`)
      for (const [index, item] of (of as unknown[]).entries()) {
        const where = `${as} ${typeof item === 'string' ? item : JSON.stringify(item)}`
        await runSteps(inner, where, { variables: { [as]: item, round: index + 1 } })
      }
    },
  })
}
