/** Durations of options: what they mean in milliseconds, and what is none. */
import { expect, it } from 'vitest'
import { durationMs } from '../../library/duration.ts'

it.each([
  [250, 250],
  [0, 0],
  ['250ms', 250],
  ['10s', 10_000],
  ['6m', 360_000],
  ['1h', 3_600_000],
  ['7d', 604_800_000],
  ['0.5d', 43_200_000],
  ['1h30m', 5_400_000],
])('%s is %s ms', (given, ms) => {
  expect(durationMs(given)).toBe(ms)
})

it.each([[-1], [Number.NaN], [Infinity], ['ten'], ['10'], ['-1s'], [''], ['40000d'], [null], [{}]])(
  '%s is no duration',
  (given) => {
    expect(durationMs(given)).toBeUndefined()
  },
)
