import fc from 'fast-check'
import { expect, test } from 'vitest'
import { untilSharedMoment } from '../../components/component-base/shared-moment.ts'

test('timers of one period end at whole seconds, half a second from their time at most', () => {
  const starts = fc.array(fc.integer({ min: 0, max: 10_000_000 }), { minLength: 1 })
  fc.assert(
    fc.property(starts, (begun) => {
      const ends = begun.map((nowMs) => nowMs + untilSharedMoment(nowMs, 30_000))
      for (const [index, endMs] of ends.entries()) {
        expect(endMs % 1000).toBe(0)
        expect(Math.abs(endMs - (begun[index] ?? 0) - 30_000)).toBeLessThanOrEqual(500)
      }
    }),
  )
  // Once there, a timer that is set again comes after the whole period.
  expect(untilSharedMoment(60_000, 30_000)).toBe(30_000)
  expect(untilSharedMoment(60_003, 30_000)).toBe(29_997)
})
