/** try: runs steps, others when they fail, and others at the end in any case. */
import { failureLines } from '../failure-lines.ts'
import { described, object, optional } from '../../../cluster/shape.ts'
import type { Shape } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'
import type { ScenarioStep, StepContext, StepKind } from '../step.ts'

interface Handlers {
  readonly catch?: readonly ScenarioStep[]
  readonly onFailure?: readonly ScenarioStep[]
}

/** Throws the failure again unless `catch` has run. */
async function handle(
  error: unknown,
  { catch: caught, onFailure }: Handlers,
  { runSteps, note }: StepContext,
): Promise<void> {
  const report = failureLines(error)
  const variables = { error: report.join('\n') }
  if (onFailure !== undefined) await runSteps(onFailure, 'onFailure', { variables })
  if (caught === undefined) throw error
  note(`caught: ${report[0] ?? ''}`)
  await runSteps(caught, 'catch', { variables })
}

export function createTry(steps: Shape<ScenarioStep[]>): StepKind {
  return defineStep({
    name: 'try',
    summary: 'Run steps; with `catch`, a failure runs other steps and is none of the scenario.',
    shape: object({
      steps: described('What to try.', steps),
      catch: described(
        'What to do when a step of `steps` fails; `${error}` is its report. The scenario goes on.',
        optional(steps),
      ),
      onFailure: described(
        'What to do when a step of `steps` fails, such as to show logs; the failure stays one.',
        optional(steps),
      ),
      finally: described('What to do at the end, also after a failure.', optional(steps)),
    }),
    title: ({ steps: inner }) => `try: ${inner.map((one) => one.title).join('; ')}`,
    run: async ({ steps: inner, finally: last, ...handlers }, context) => {
      const { runSteps, signal } = context
      try {
        await runSteps(inner, 'try')
      } catch (error) {
        if (signal.aborted) throw error
        await handle(error, handlers, context)
      } finally {
        // Without time, nothing of the cluster can be asked any more.
        if (last !== undefined && !signal.aborted) await runSteps(last, 'finally')
      }
    },
  })
}
