import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { untilSharedMoment } from '../../components/component-base/shared-moment.ts'

const real = (nowMs: number) => ({ now: () => nowMs })
const leaping = (nowMs: number) => ({ now: () => nowMs, isReal: () => false })
const times = fc.integer({ min: 0, max: 10_000_000 })

describe('timers of one period', () => {
  it('end at whole seconds, less than a second early and never late', () => {
    fc.assert(
      fc.property(times, (nowMs) => {
        const endMs = nowMs + untilSharedMoment(real(nowMs), 30_000)
        expect(endMs % 1000).toBe(0)
        expect(endMs).toBeGreaterThan(nowMs + 29_000)
        expect(endMs).toBeLessThanOrEqual(nowMs + 30_000)
      }),
    )
  })

  it('end at multiples of ten seconds while time is not real, and never late', () => {
    fc.assert(
      fc.property(times, (nowMs) => {
        const endMs = nowMs + untilSharedMoment(leaping(nowMs), 30_000)
        expect(endMs % 10_000).toBe(0)
        expect(endMs).toBeGreaterThan(nowMs + 20_000)
        expect(endMs).toBeLessThanOrEqual(nowMs + 30_000)
      }),
    )
  })

  it('of less than ten seconds end at multiples of their period while time is not real', () => {
    fc.assert(
      fc.property(times, (nowMs) => {
        const endMs = nowMs + untilSharedMoment(leaping(nowMs), 5000)
        expect(endMs % 5000).toBe(0)
        expect(endMs).toBeGreaterThan(nowMs)
      }),
    )
  })

  it('of less than a second end at multiples of their period', () => {
    expect(untilSharedMoment(real(61_100), 250)).toBe(150)
    expect(untilSharedMoment(leaping(61_100), 250)).toBe(150)
    expect(untilSharedMoment(real(61_100), 0)).toBe(1)
  })

  it('come after the whole period once they are there', () => {
    expect(untilSharedMoment(real(61_000), 30_000)).toBe(30_000)
    expect(untilSharedMoment(leaping(60_000), 30_000)).toBe(30_000)
    expect(untilSharedMoment(leaping(65_000), 5000)).toBe(5000)
  })
})
