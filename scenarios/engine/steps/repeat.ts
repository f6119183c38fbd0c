/** repeat: runs the same steps several times. */
import { count, described, object } from '../../../cluster/shape.ts'
import type { Shape } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'
import type { ScenarioStep, StepKind } from '../step.ts'

/** `steps` is the shape of a list of steps of any kind, including this one. */
export function createRepeat(steps: Shape<ScenarioStep[]>): StepKind {
  return defineStep({
    name: 'repeat',
    summary: 'Run steps several times.',
    shape: object({
      times: described('How many rounds.', count),
      steps: described('The steps of a round; `${round}` counts from 1.', steps),
    }),
    title: ({ times, steps: inner }) =>
      `${times} times: ${inner.map((one) => one.title).join('; ')}`,
    run: async (params, { runSteps }) => {
      for (let round = 1; round <= params.times; round += 1) {
        await runSteps(params.steps, `round ${round}`, { variables: { round } })
      }
    },
  })
}
