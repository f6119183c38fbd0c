/** The cluster's clock for the page: its row, and what it is told to do. */
import type { LabTime, TimeState } from '../../../cluster/lab/lab.ts'
import { advanceOf, speedOf } from '../../../cluster/lab/time-text.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import type { TimeAnswer } from '../../protocol/lab.ts'
import type { TimeRow } from '../../protocol/live.ts'

export function timeRow({ nowMs, speed, aheadMs, apart }: TimeState): TimeRow {
  return { key: 'clock', nowMs, speed, aheadMs, apart }
}

/** `value` is a TimeCall of unknown origin. Throws a StatusError for anything else, and the authority's ClusterError. */
export async function callTime(time: LabTime, value: unknown): Promise<TimeAnswer> {
  const { nowMs: fromMs } = await time.state()
  return { fromMs, row: timeRow(await act(time, value)) }
}

async function act(time: LabTime, value: unknown): Promise<TimeState> {
  const { call, speed, by } = (value ?? {}) as Readonly<Record<string, unknown>>
  const text = (given: unknown): string => (typeof given === 'string' ? given.trim() : '')
  switch (call) {
    case 'pause':
    case 'resume':
    case 'step':
    case 'settle':
      return await time[call]()
    case 'speed':
      return await time.speed(speedOf(text(speed)))
    case 'advance':
      return await time.advance(advanceOf(text(by)))
    default:
      throw new StatusError('BadRequest', 'the clock knows no such call')
  }
}
