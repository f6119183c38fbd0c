/** Watching meanwhile: every state of selected objects is judged while steps run, or for a time. The first wrong one ends both. */
import { AssertionFailure } from './assertion-failure.ts'
import { createJudge, describeExpectation } from './expectation.ts'
import type { Expectation, Verdict } from './expectation.ts'
import { momentLines } from './scenario-history.ts'
import { describeSelection, listOptions } from './selection.ts'
import type { RecordedSelection } from './selection.ts'
import { SelectionRecord } from './selection-record.ts'
import type { ScenarioStep, StepContext } from './step.ts'

export interface Guard {
  readonly selection: RecordedSelection
  readonly expectation: Expectation
  readonly isRight: (verdict: Verdict) => boolean
  /** The message of a failure: what was wrong. */
  readonly wrong: string
  /** What goes on while it watches. `signal` aborts at the first wrong state. */
  readonly meanwhile: (signal: AbortSignal) => Promise<void>
}

/** The steps, or a time. */
export function stepsOrTime(
  { during, forMs = 0 }: { during: readonly ScenarioStep[] | undefined; forMs: number | undefined },
  { clock, runSteps }: StepContext,
): Guard['meanwhile'] {
  return async (signal) => {
    if (during === undefined) await clock.sleep(forMs, signal)
    else await runSteps(during, 'during', { signal })
  }
}

/** Resolves when what goes on meanwhile is over and every state up to then was right. Rejects with a report at the first wrong one. */
export async function watchMeanwhile(guard: Guard, context: StepContext): Promise<void> {
  const { selection, expectation, isRight, wrong, meanwhile } = guard
  const { client, clock, signal } = context
  const resource = await context.findResource(selection)
  const judge = createJudge(expectation)
  const over = new AbortController()
  const watching = AbortSignal.any([signal, over.signal])
  const isNamespaced = resource.namespaced
  const record: SelectionRecord = new SelectionRecord({
    client: client.resource(resource),
    selection: listOptions(selection, { isNamespaced, fallback: context.namespace }),
    clock,
    signal: watching,
    onState: (state, moment) => {
      const verdict = judge([...state.values()])
      if (isRight(verdict)) return
      const about = moment === undefined ? [...state.values()] : [moment.object]
      const failure = new AssertionFailure({
        message: wrong,
        expected: [describeSelection(selection), ...describeExpectation(expectation)],
        actual: verdict.report(),
        history: moment === undefined ? [] : momentLines(record.moments),
        about: about.slice(0, 2).map(({ metadata: { namespace = '', name = '' } }) => ({
          resource,
          namespace,
          name,
        })),
      })
      over.abort(failure)
      throw failure
    },
  })
  try {
    await record.begun
    await meanwhile(watching)
    await record.caughtUp(watching)
    for (const gap of record.gaps) context.note(`${gap}: states in between were not judged`)
  } catch (error) {
    // What goes on meanwhile ends because of it; it is the reason.
    throw over.signal.reason instanceof AssertionFailure ? over.signal.reason : error
  } finally {
    over.abort(new Error('seen enough'))
  }
}
