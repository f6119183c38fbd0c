/** time: the cluster's clock. */
import type { LabTime } from '../../../cluster/lab/lab.ts'
import {
  boolean,
  described,
  duration,
  notEmpty,
  object,
  optional,
  readable,
  secondsText,
} from '../../../cluster/shape.ts'
import type { ShapeType } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'

const moment = readable('a time such as 2030-01-01T00:00:00Z', (text) => {
  // A variable.
  if (text.includes('var')) return
  const isMoment = /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text))
  if (!isMoment) throw new Error('must be a time such as 2030-01-01T00:00:00Z')
})

const speed = readable('a number from 0.01 to 1000', (text) => {
  if (text !== 'var' && !(Number(text) >= 0.01 && Number(text) <= 1000))
    throw new Error('must be a number from 0.01 to 1000')
})

const shape = notEmpty(
  object({
    pause: described('Stop the clock: nothing falls due.', optional(boolean)),
    resume: described('Let it go on, at the speed it had before.', optional(boolean)),
    speed: described('How many times as fast as real time it runs: 0.01 to 1000.', optional(speed)),
    advance: described(
      'Move it on; what falls due on the way happens in its order.',
      optional(duration),
    ),
    advanceTo: described('Move it on to this time.', optional(moment)),
    step: described('Move it on to the next moment at which something is due.', optional(boolean)),
    settle: described('Move it on until only what recurs is due within 10 s.', optional(boolean)),
  }),
)
type Params = ShapeType<typeof shape>

async function act(params: Params, time: LabTime): Promise<void> {
  const { advance, advanceTo } = params
  if (params.pause === true) await time.pause()
  if (params.speed !== undefined) await time.speed(Number(params.speed))
  if (advance !== undefined) await time.advance({ ms: advance })
  if (advanceTo !== undefined) await time.advance({ toMs: Date.parse(advanceTo) })
  if (params.step === true) await time.step()
  if (params.settle === true) await time.settle()
  if (params.resume === true) await time.resume()
}

function describe({
  pause,
  resume,
  speed: times,
  advance,
  advanceTo,
  step,
  settle,
}: Params): string {
  return [
    pause === true ? 'pause the clock' : '',
    times === undefined ? '' : `run the clock ${times} times as fast`,
    advance === undefined ? '' : `advance the clock by ${secondsText(advance)}`,
    advanceTo === undefined ? '' : `advance the clock to ${advanceTo}`,
    step === true ? 'advance the clock to what is due next' : '',
    settle === true ? 'advance the clock until the cluster is at rest' : '',
    resume === true ? 'resume the clock' : '',
  ]
    .filter((part) => part !== '')
    .join(', ')
}

export const time = defineStep({
  name: 'time',
  summary: "Pause, speed up or advance the cluster's clock: `time: { advance: 6m }`.",
  shape,
  title: describe,
  run: async (params, { cluster }) => await act(params, cluster.lab.time),
})
