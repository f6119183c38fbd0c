/** inOrder: what happened to objects of any kinds happened in this order, since the scenario began. */
import { AssertionFailure } from '../assertion-failure.ts'
import { createPastEventTest, describePastEvent, pastEventFields } from '../past-event.ts'
import type { PastEvent } from '../past-event.ts'
import { momentLines } from '../scenario-history.ts'
import type { Moment, SelectionRecord } from '../selection-record.ts'
import { described, duration, list, object, optional, secondsText } from '../../../cluster/shape.ts'
import type { ShapeType } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'
import type { StepContext } from '../step.ts'

const shape = object({
  events: described(
    'What happened, in this order. Each comes after the one before; anything may happen between them.',
    list(object(pastEventFields)),
  ),
  within: described(
    'How long to wait for what has not happened yet. Default: 30s.',
    optional(duration),
  ),
})
type Params = ShapeType<typeof shape>

const defaultWithinMs = 30_000

interface Searched {
  readonly event: PastEvent
  readonly record: SelectionRecord
  readonly isSuch: (moment: Moment) => boolean
}

/** The earliest moments in the wanted order, as many as there are. */
function earliest(searched: readonly Searched[]): Moment[] {
  const found: Moment[] = []
  for (const { record, isSuch } of searched) {
    const after = found.at(-1)?.revision ?? -1
    const next = record.moments.find((one) => one.revision > after && isSuch(one))
    if (next === undefined) break
    found.push(next)
  }
  return found
}

const nameOf = ({ object: { metadata } }: Moment): string =>
  [metadata.namespace, metadata.name].filter(Boolean).join('/')

function failureOf(searched: readonly Searched[], message: string): AssertionFailure {
  const found = earliest(searched)
  const missing = searched[found.length]
  const startMs = Math.min(...searched.map(({ record }) => record.moments[0]?.atMs ?? Infinity))
  const at = ({ atMs }: Moment): string => `+${((atMs - startMs) / 1000).toFixed(1)} s`
  const earlier = missing?.record.moments.filter(missing.isSuch) ?? []
  return new AssertionFailure({
    message,
    expected: searched.map(({ event }, index) => `${index + 1}. ${describePastEvent(event)}`),
    actual: [
      ...found.map((one, index) => `${index + 1}. ${at(one)} ${nameOf(one)}`),
      `${found.length + 1}. did not happen ${found.length === 0 ? '' : 'after that'}`.trimEnd(),
      ...earlier.map((one) => `   it happened before, at ${at(one)}: ${nameOf(one)}`),
      ...searched.flatMap(({ record }) => record.gaps),
    ],
    history: [...new Set(searched.map(({ record }) => record))].flatMap(({ moments }) =>
      momentLines(moments),
    ),
  })
}

async function untilInOrder(params: Params, context: StepContext): Promise<void> {
  const { clock, signal, history } = context
  const searched = await Promise.all(
    params.events.map(async (event) => ({
      event: event as PastEvent,
      record: await history.recordOf(event),
      isSuch: createPastEventTest(event as PastEvent),
    })),
  )
  const { within = defaultWithinMs } = params
  let isLate = false
  const cancel = clock.after(within, () => (isLate = true))
  try {
    for (;;) {
      for (const { record } of searched) await record.caughtUp(signal)
      if (earliest(searched).length === searched.length) return
      if (isLate)
        throw failureOf(searched, `it had not happened in this order after ${secondsText(within)}`)
      await Promise.race(searched.map(({ record }) => record.next(signal)))
    }
  } finally {
    cancel()
  }
}

export const inOrder = defineStep({
  name: 'inOrder',
  summary: 'What has happened to objects since the scenario began happened in this order.',
  shape,
  title: ({ events }) =>
    `in order: ${events.map((one) => describePastEvent(one as PastEvent)).join('; ')}`,
  looksBack: ({ events }) => events,
  run: untilInOrder,
})
