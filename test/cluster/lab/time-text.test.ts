/** Durations and moments that an advance takes, on the command line and in the console. */
import { expect, it } from 'vitest'
import { advanceOf } from '../../../cluster/lab/time-text.ts'

it.each([
  ['6m', { ms: 360_000 }],
  ['1h30m', { ms: 5_400_000 }],
  ['7d', { ms: 604_800_000 }],
  ['0.5d', { ms: 43_200_000 }],
  ['0', { ms: 0 }],
  ['2030-01-01T00:00:00Z', { toMs: Date.UTC(2030, 0, 1) }],
])('a clock can be told to advance by %s', (text, by) => {
  expect(advanceOf(text)).toEqual(by)
})

it.each([
  ['-7d', 'clocks never go back'],
  ['-5m', 'clocks never go back'],
  ['1d12h', 'cannot advance by "1d12h"'],
  ['d', 'cannot advance by "d"'],
  ['soon', 'cannot advance by "soon"'],
  ['2030-13-01T00:00:00Z', 'cannot advance by'],
])('not by %s', (text, message) => {
  expect(() => advanceOf(text)).toThrow(message)
})
