import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../components/component-base/clock.ts'

const dayMs = 24 * 60 * 60 * 1000

describe('a callback later than a timer can wait', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('comes on its day, not at once', () => {
    const called = vi.fn()
    systemClock.after(300 * dayMs, called)
    vi.advanceTimersByTime(299 * dayMs)
    expect(called).not.toHaveBeenCalled()
    vi.advanceTimersByTime(dayMs)
    expect(called).toHaveBeenCalledOnce()
  })

  it('can be cancelled in any part of the wait', () => {
    const called = vi.fn()
    const cancel = systemClock.after(60 * dayMs, called)
    vi.advanceTimersByTime(40 * dayMs)
    cancel()
    vi.advanceTimersByTime(40 * dayMs)
    expect(called).not.toHaveBeenCalled()
  })
})

describe('a sleep', () => {
  it('of a year has not ended a moment later, and can be aborted', async () => {
    const stop = new AbortController()
    let hasEnded = false
    const sleeping = systemClock.sleep(365 * dayMs, stop.signal).then(
      () => (hasEnded = true),
      (error: unknown) => error,
    )
    await systemClock.sleep(5)
    expect(hasEnded).toBe(false)
    const why = new Error('enough')
    stop.abort(why)
    expect(await sleeping).toBe(why)
  })
})
