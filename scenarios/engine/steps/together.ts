/** together: runs several lists of steps concurrently, waits for all, and reports every failed one. */
import { SeveralFailures } from '../failure-lines.ts'
import { list, mapping } from '../../../cluster/shape.ts'
import type { Shape } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'
import type { ScenarioStep, StepKind } from '../step.ts'

interface Branch {
  /** The name in the file, or the number. */
  readonly name: string
  readonly steps: readonly ScenarioStep[]
}

function branchesShape(steps: Shape<ScenarioStep[]>): Shape<Branch[]> {
  const unnamed = list(steps)
  return {
    what: 'a list of lists of steps, or a mapping from names to lists of steps',
    schema: {
      anyOf: [
        unnamed.schema,
        { type: 'object', additionalProperties: steps.schema, minProperties: 1 },
      ],
    },
    check: (value, path, issues) => {
      if (Array.isArray(value)) {
        return unnamed
          .check(value, path, issues)
          .map((branch, index) => ({ name: String(index + 1), steps: branch }))
      }
      const before = issues.length
      const named = Object.entries(mapping.check(value, path, issues))
      if (named.length === 0 && issues.length === before)
        issues.push({ path, message: 'has no branch' })
      return named.map(([name, branch]) => ({
        name,
        steps: steps.check(branch, [...path, name], issues),
      }))
    },
  }
}

export function createTogether(steps: Shape<ScenarioStep[]>): StepKind {
  return defineStep({
    name: 'together',
    summary:
      'Run several lists of steps at the same time: a list of lists, or a mapping that names them.',
    shape: branchesShape(steps),
    title: (branches) =>
      branches
        .map((branch) => {
          const titles = branch.steps.map((step) => step.title).join('; ')
          return /^\d+$/.test(branch.name) ? titles : `${branch.name}: ${titles}`
        })
        .join(' || '),
    run: async (branches, { runSteps }) => {
      const running = branches.map((branch) => runSteps(branch.steps, `branch ${branch.name}`))
      const results = await Promise.allSettled(running)
      const failures = results.flatMap((one) =>
        one.status === 'rejected' ? [one.reason as unknown] : [],
      )
      if (failures.length > 0) throw new SeveralFailures([...new Set(failures)])
    },
  })
}
