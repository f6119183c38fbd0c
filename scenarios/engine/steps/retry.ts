/** retry: runs steps again when they fail. Nothing else is tried twice. */
import { failureLines } from '../failure-lines.ts'
import { count, described, duration, object, optional } from '../../../cluster/shape.ts'
import type { Shape } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'
import type { ScenarioStep, StepKind } from '../step.ts'

const defaultPauseMs = 1000

export function createRetry(steps: Shape<ScenarioStep[]>): StepKind {
  return defineStep({
    name: 'retry',
    summary: 'Run steps again when one of them fails, so many times at most.',
    shape: object({
      times: described('How many tries, with the first.', count),
      every: described('Time between two tries. Default: 1s.', optional(duration)),
      steps: described('The steps of a try; `${round}` counts from 1.', steps),
    }),
    title: ({ times, steps: inner }) =>
      `up to ${times} tries: ${inner.map((one) => one.title).join('; ')}`,
    run: async ({ times, every = defaultPauseMs, steps: inner }, context) => {
      const { runSteps, clock, signal, note } = context
      for (let round = 1; ; round += 1) {
        try {
          return await runSteps(inner, `try ${round} of ${times}`, { variables: { round } })
        } catch (error) {
          if (round >= times || signal.aborted) throw error
          note(failureLines(error)[0] ?? '')
          await clock.sleep(every, signal)
        }
      }
    },
  })
}
