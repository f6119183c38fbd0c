/** happened: counts what has happened to objects since the scenario began, deleted ones too. */
import { AssertionFailure } from '../assertion-failure.ts'
import { countShape } from '../expectation.ts'
import { createPastEventTest, describePastEvent, pastEventFields } from '../past-event.ts'
import type { PastEvent } from '../past-event.ts'
import { momentLines } from '../scenario-history.ts'
import type { SelectionRecord } from '../selection-record.ts'
import {
  Deferred,
  described,
  duration,
  object,
  optional,
  secondsText,
} from '../../../cluster/shape.ts'
import type { ShapeType } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'
import type { StepContext } from '../step.ts'

const shape = object({
  ...pastEventFields,
  times: described(
    'How often: a number, or `{ atLeast, atMost }`. Default: at least once.',
    optional(countShape),
  ),
  within: described(
    'How long to wait for what has not happened yet. Default: 30s.',
    optional(duration),
  ),
})
type Params = ShapeType<typeof shape>

const defaultWithinMs = 30_000

function limitsOf({ times = { atLeast: 1 } }: Params): { least: number; most: number } {
  if (typeof times === 'number') return { least: times, most: times }
  return { least: times.atLeast ?? 0, most: times.atMost ?? Infinity }
}

function timesText(params: Params): string {
  const { times = { atLeast: 1 } } = params
  // Before its step runs, a variable stands in the place of the number.
  if (typeof times === 'number' || times instanceof Deferred)
    return `exactly ${String(times)} times`
  const { atLeast, atMost } = times
  return [
    ...(atLeast === undefined ? [] : [`at least ${atLeast} times`]),
    ...(atMost === undefined ? [] : [`at most ${atMost} times`]),
  ].join(', ')
}

/** Resolves when the count is right and the record complete up to now. Rejects with a report. */
async function untilCounted(
  params: Params,
  record: SelectionRecord,
  context: StepContext,
): Promise<void> {
  const { clock, signal } = context
  const isSuch = createPastEventTest(params as PastEvent)
  const { least, most } = limitsOf(params)
  const resource = await context.findResource(params)
  const failure = (message: string): AssertionFailure => {
    const counted = record.moments.filter(isSuch)
    const all = record.moments.map(({ object: { metadata } }) => metadata)
    const { namespace = '', name = params.name ?? '' } = all.at(-1) ?? {}
    return new AssertionFailure({
      message,
      expected: [describePastEvent(params as PastEvent), timesText(params)],
      actual: [`it happened ${counted.length} times`, ...momentLines(counted), ...record.gaps],
      history: momentLines(record.moments),
      about: name === '' ? [] : [{ resource, namespace, name }],
    })
  }
  const { within = defaultWithinMs } = params
  let isLate = false
  const cancel = clock.after(within, () => (isLate = true))
  try {
    for (;;) {
      await record.caughtUp(signal)
      const count = record.moments.filter(isSuch).length
      if (count > most) throw failure(`it happened ${count} times, more than ${most}`)
      if (count >= least) {
        if (most < Infinity && record.gaps.length > 0)
          throw failure('it cannot be counted: the history has a gap')
        return
      }
      if (isLate) throw failure(`it had not happened often enough after ${secondsText(within)}`)
      await record.next(signal)
    }
  } finally {
    cancel()
  }
}

export const happened = defineStep({
  name: 'happened',
  summary:
    'Count what has happened to objects since the scenario began: `event: created`, `changes: PATH`, or conditions that they came to meet.',
  shape,
  title: (params) => `${describePastEvent(params as PastEvent)}, ${timesText(params)}`,
  looksBack: (params) => [params],
  run: async (params, context) =>
    await untilCounted(params, await context.history.recordOf(params), context),
})
