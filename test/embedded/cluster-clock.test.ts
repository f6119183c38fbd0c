import { describe, expect, it } from 'vitest'
import { patienceMs, UnderWay } from '../../components/component-base/under-way.ts'
import { ClusterClock } from '../../embedded/cluster-clock.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'

const start = Date.parse('2025-01-01T00:00:00Z')

describe('the clock of an embedded cluster', () => {
  it('follows its base from where it is set', async () => {
    const base = new FakeClock(start)
    const clock = new ClusterClock(base, { nowMs: start + 3_600_000 })
    await base.step(1500)
    expect(clock.now()).toBe(start + 3_600_000 + 1500)
  })

  it('fires what is due with its base, in order', async () => {
    const base = new FakeClock(start)
    const clock = new ClusterClock(base)
    const fired: string[] = []
    clock.after(200, () => fired.push('later'))
    clock.after(100, () => fired.push('first'))
    clock.after(100, () => fired.push('second'))
    const cancel = clock.after(150, () => fired.push('cancelled'))
    cancel()
    await base.step(120)
    expect(fired).toEqual(['first', 'second'])
    await base.step(100)
    expect(fired).toEqual(['first', 'second', 'later'])
  })

  it('advances at once, and what becomes due on the way is due at its own time', async () => {
    const base = new FakeClock(start)
    const clock = new ClusterClock(base)
    const seen: number[] = []
    const tick = (): void => {
      seen.push(clock.now() - start)
      clock.after(60_000, tick)
    }
    clock.after(60_000, tick)
    await clock.advance(200_000)
    expect(seen).toEqual([60_000, 120_000, 180_000])
    expect(clock.now() - start).toBe(200_000)
    // The rest of the minute passes with the base.
    await base.step(40_000)
    expect(seen).toEqual([60_000, 120_000, 180_000, 240_000])
  })

  it('once it is paused, ends an advance exactly where what is due at its end has happened', async () => {
    const base = new FakeClock(start)
    // A busy machine: real time goes on between any two looks at it.
    let looks = 0
    base.now = () => start + ++looks
    const clock = new ClusterClock(base)
    await clock.time.pause()
    const beganMs = clock.now()
    let happened = 0
    clock.after(120_000, () => (happened = clock.now()))
    await clock.advance(60_000)
    await clock.advance(60_000)
    expect(happened).toBe(beganMs + 120_000)
    expect((await clock.time.state()).nowMs).toBe(happened)
  })

  it('advances by both of two calls at once', async () => {
    const clock = new ClusterClock(new FakeClock(start))
    const seen: number[] = []
    for (const ms of [1000, 2000, 3000]) clock.after(ms, () => seen.push(clock.now() - start))
    await Promise.all([clock.advance(1500), clock.advance(1500)])
    expect(seen).toEqual([1000, 2000, 3000])
    expect(clock.now() - start).toBe(3000)
  })

  it('stands still while work is under way that became due', async () => {
    const base = new FakeClock(start)
    const work = new UnderWay(base)
    const clock = new ClusterClock(base, {}, { underWay: work })
    const seen: string[] = []
    let endWork = (): void => {}
    clock.after(1000, () => (endWork = work.begin()))
    clock.after(2000, () => seen.push('later'))
    const advanced = clock.advance(3000)
    await settle(50)
    expect(clock.now() - start).toBe(1000)
    // What follows from it is due at the same time.
    endWork()
    endWork = work.begin()
    await settle(50)
    expect(clock.now() - start).toBe(1000)
    expect(seen).toEqual([])
    endWork()
    await advanced
    expect(seen).toEqual(['later'])
  })

  it('goes on without work that takes too long, which may wait for time itself', async () => {
    const base = new FakeClock(start)
    const work = new UnderWay(base)
    const clock = new ClusterClock(base, {}, { underWay: work })
    let hasEnded = false
    const end = work.begin()
    clock.after(10_000, () => {
      end()
      hasEnded = true
    })
    const advanced = clock.advance(10_000)
    await settle(50)
    expect(clock.now()).toBe(start)
    await base.step(patienceMs)
    await advanced
    expect(hasEnded).toBe(true)
  })

  it('wakes what sleeps, and rejects an aborted sleep with its reason', async () => {
    const clock = new ClusterClock(new FakeClock(start))
    const stop = new AbortController()
    const aborted = clock.sleep(1000, stop.signal)
    const slept = clock.sleep(1000)
    stop.abort(new Error('no longer'))
    await expect(aborted).rejects.toThrow('no longer')
    await clock.advance(1000)
    await slept
  })

  it('gives the same choices for the same seed, and goes on where its state was taken', () => {
    const base = new FakeClock(start)
    const one = new ClusterClock(base, { seed: 7 })
    const choicesOf = (clock: ClusterClock): unknown[] => {
      const part = clock.of('api-server')
      return [part.uuid(), part.random(), part.randomBytes(40).toString('hex'), part.uuid()]
    }
    expect(choicesOf(one)).toEqual(choicesOf(new ClusterClock(base, { seed: 7 })))
    const later = new ClusterClock(base, one.state)
    expect(choicesOf(later)).toEqual(choicesOf(one))
    expect(choicesOf(new ClusterClock(base, { seed: 8 }))).not.toEqual(
      choicesOf(new ClusterClock(base, { seed: 7 })),
    )
  })

  it('gives each part the same choices, whatever others draw, and whatever else it draws itself', () => {
    const base = new FakeClock(start)
    const quiet = new ClusterClock(base).of('api-server')
    const busy = new ClusterClock(base)
    busy.of('scheduler').random()
    const own = busy.of('api-server')
    own.uuid()
    expect(own.random()).toBe(quiet.random())
  })

  it('fires nothing after its end', async () => {
    const base = new FakeClock(start)
    const clock = new ClusterClock(base)
    let fired = false
    clock.after(10, () => (fired = true))
    clock.end()
    await base.step(100)
    expect(fired).toBe(false)
    expect(base.pending).toBe(0)
  })
})
