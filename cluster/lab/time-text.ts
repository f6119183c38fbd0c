/** Speeds and advances of a clock as users write them, on the command line and in the console. */
import { ClusterError } from '../cluster-error.ts'
import { durationOf } from '../duration.ts'
import type { LabTime } from './lab.ts'

/** Of `10`, `10x` and `0.5`. Throws a ClusterError for other texts. */
export function speedOf(text: string): number {
  const [, number] = /^(\d+(?:\.\d+)?)x?$/.exec(text) ?? []
  if (number !== undefined) return Number(number)
  throw new ClusterError(
    'usage',
    `invalid speed "${text}": it must be a number from 0.01 to 1000`,
    {
      hint: 'for example: skiff time speed 10',
    },
  )
}

/** A duration, or a moment. Throws a ClusterError for other texts. */
export function advanceOf(text: string): Parameters<LabTime['advance']>[0] {
  const ms = durationOf(text)
  if (ms !== undefined) {
    if (ms >= 0) return { ms }
    throw new ClusterError('usage', `the clock cannot advance by ${text}: clocks never go back`, {
      hint: 'give a duration such as 6m',
    })
  }
  const toMs = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : NaN
  if (!Number.isNaN(toMs)) return { toMs }
  throw new ClusterError('usage', `cannot advance by "${text}"`, {
    hint: 'give a duration such as 6m, 1h30m or 7d, or a time such as 2030-01-01T00:00:00Z',
  })
}
