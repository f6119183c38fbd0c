import { describe, expect, it } from 'vitest'
import { FollowedClock } from '../../components/component-base/followed-clock.ts'
import { FakeClock } from '../support/fake-clock.ts'

const start = Date.parse('2025-01-01T00:00:00Z')
const hourMs = 3_600_000

describe('a clock that follows a cluster', () => {
  it('is the base clock until it is set', async () => {
    const base = new FakeClock(start)
    const clock = new FollowedClock(base)
    let fired = 0
    clock.after(1000, () => (fired += 1))
    const cancel = clock.after(1000, () => (fired += 1))
    cancel()
    await base.step(1000)
    expect(fired).toBe(1)
    expect(clock.isReal()).toBe(true)
    expect(clock.now()).toBe(base.now())
  })

  it('takes timers from before along, each at its time', async () => {
    const base = new FakeClock(start)
    const clock = new FollowedClock(base)
    const fired: string[] = []
    clock.after(3000, () => fired.push('third'))
    clock.after(1000, () => fired.push('first'))
    const cancel = clock.after(2000, () => fired.push('second'))
    clock.set({ nowMs: start, atMs: start, speed: 0 })
    await base.step(10_000)
    expect(fired).toEqual([])
    cancel()
    clock.set({ nowMs: start + 2500, atMs: base.now(), speed: 1 })
    await base.step(1)
    expect(fired).toEqual(['first'])
    await base.step(500)
    expect(fired).toEqual(['first', 'third'])
    expect(clock.isReal()).toBe(false)
  })

  it('runs at any speed, and fires what is due in its order', async () => {
    const base = new FakeClock(start)
    const clock = new FollowedClock(base, { nowMs: start, atMs: start, speed: 0.5 })
    const fired: number[] = []
    for (const ms of [2000, 1000]) clock.after(ms, () => fired.push(clock.now() - start))
    await base.step(2000)
    expect(fired).toEqual([1000])
    expect(clock.now()).toBe(start + 1000)
    expect(clock.elapsed()).toBe(base.elapsed() - 1000)
    await base.step(2000)
    expect(fired).toEqual([1000, 2000])
  })

  it('stands still at speed 0, but for what is due already', async () => {
    const base = new FakeClock(start)
    const clock = new FollowedClock(base, { nowMs: start, atMs: start, speed: 0 })
    const fired: string[] = []
    clock.after(0, () => fired.push('now'))
    clock.after(1, () => fired.push('later'))
    await base.step(hourMs)
    expect(fired).toEqual(['now'])
    expect(clock.now()).toBe(start)
  })

  it('fires nothing by itself while it is held', async () => {
    const base = new FakeClock(start)
    const clock = new FollowedClock(base, { nowMs: start, atMs: start, speed: 0, isHeld: true })
    const fired: string[] = []
    clock.after(0, () => {
      fired.push('one')
      clock.after(0, () => fired.push('two'))
    })
    await base.step(1000)
    expect(fired).toEqual([])
    clock.fireDue()
    expect(fired).toEqual(['one'])
    expect(clock.isDue).toBe(true)
    clock.fireDue()
    expect(fired).toEqual(['one', 'two'])
    expect(clock.isDue).toBe(false)
  })

  it('does not fire a timer that another one of the same moment has cancelled', () => {
    const base = new FakeClock(start)
    const clock = new FollowedClock(base, { nowMs: start, atMs: start, speed: 0, isHeld: true })
    let isFired = false
    clock.after(0, () => cancel())
    const cancel = clock.after(0, () => (isFired = true))
    clock.fireDue()
    expect(isFired).toBe(false)
  })

  it('never goes back: a setting from a little earlier waits until its time has come', async () => {
    const base = new FakeClock(start)
    const clock = new FollowedClock(base)
    await base.step(50)
    expect(clock.now()).toBe(start + 50)
    clock.set({ nowMs: start + 20, atMs: base.now(), speed: 1 })
    expect(clock.now()).toBe(start + 50)
    await base.step(40)
    expect(clock.now()).toBe(start + 60)
  })

  it('tells what recurs from what is waited for', () => {
    const base = new FakeClock(start)
    const clock = new FollowedClock(base, { nowMs: start, atMs: start, speed: 0 })
    clock.background.after(1000, () => {})
    expect(clock.awaited).toBeUndefined()
    clock.marked({ isBackground: false, owner: 'scheduler' }).after(2000, () => {})
    expect(clock.dueMs).toBe(start + 1000)
    expect(clock.awaited).toEqual({ dueMs: start + 2000, owner: 'scheduler' })
  })

  it('shows a part that is ahead another time, and fires its timers with those of the others', async () => {
    const base = new FakeClock(start)
    const clock = new FollowedClock(base, { nowMs: start, atMs: start, speed: 1, skewMs: hourMs })
    const fired: number[] = []
    clock.after(1000, () => fired.push(clock.now()))
    expect(clock.now()).toBe(start + hourMs)
    await base.step(1000)
    expect(fired).toEqual([start + hourMs + 1000])
  })

  it('goes on in real time when its process ends, whatever it is told', async () => {
    const base = new FakeClock(start)
    const clock = new FollowedClock(base, { nowMs: start, atMs: start, speed: 0 })
    let isFired = false
    clock.after(1000, () => (isFired = true))
    clock.release()
    clock.set({ nowMs: start, atMs: start, speed: 0 })
    await base.step(1000)
    expect(isFired).toBe(true)
  })
})
