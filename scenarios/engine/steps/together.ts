/** together: several lists of steps at the same time; it ends when all have ended, and fails with the first that fails. */
import { list } from '../shape.ts'
import type { Shape } from '../shape.ts'
import { defineStep } from '../step.ts'
import type { ScenarioStep, StepKind } from '../step.ts'

export function createTogether(steps: Shape<ScenarioStep[]>): StepKind {
  return defineStep({
    name: 'together',
    summary: 'runs several lists of steps at the same time',
    shape: list(steps),
    title: (branches) =>
      branches.map((branch) => branch.map((step) => step.title).join('; ')).join(' || '),
    run: async (branches, { runSteps }) => {
      const results = await Promise.allSettled(branches.map((branch) => runSteps(branch)))
      for (const result of results) if (result.status === 'rejected') throw result.reason
    },
  })
}
