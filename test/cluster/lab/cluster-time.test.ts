import { describe, expect, it } from 'vitest'
import { UnderWay } from '../../../components/component-base/under-way.ts'
import { ClusterClock } from '../../../embedded/cluster-clock.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

const start = Date.parse('2025-01-01T00:00:00Z')
const minuteMs = 60_000

function clockOn(base: FakeClock): ClusterClock {
  return new ClusterClock(base, {}, { underWay: new UnderWay(base) })
}

describe('the time of a cluster', () => {
  it('stands still while it is paused, and goes on at the speed it had before', async () => {
    const base = new FakeClock(start)
    const { time } = clockOn(base)
    await time.speed(0.5)
    expect(await time.pause()).toEqual({ nowMs: start, speed: 0, aheadMs: 0, apart: [] })
    await base.step(minuteMs)
    expect(await time.resume()).toMatchObject({ nowMs: start, speed: 0.5, aheadMs: -minuteMs })
    await base.step(minuteMs)
    expect(await time.state()).toMatchObject({ nowMs: start + minuteMs / 2 })
  })

  it('can be paused and resumed twice', async () => {
    const { time } = clockOn(new FakeClock(start))
    await time.pause()
    await time.pause()
    await time.resume()
    expect(await time.resume()).toMatchObject({ speed: 1 })
  })

  it('advances while it is paused, and stays paused', async () => {
    const base = new FakeClock(start)
    const clock = clockOn(base)
    const seen: number[] = []
    clock.after(5 * minuteMs, () => seen.push(clock.now()))
    await clock.time.pause()
    await base.step(minuteMs)
    await clock.time.advance({ toMs: start + 10 * minuteMs })
    expect(seen).toEqual([start + 5 * minuteMs])
    expect(await clock.time.state()).toMatchObject({ nowMs: start + 10 * minuteMs, speed: 0 })
  })

  it('at a high speed, waits for work as an advance does: no deadline passes by that', async () => {
    const base = new FakeClock(start)
    const work = new UnderWay(base)
    const clock = new ClusterClock(base, {}, { underWay: work })
    const seen: string[] = []
    let end = (): void => {}
    clock.after(1000, () => {
      end = work.begin()
      clock.after(100, () => seen.push('too late'))
    })
    await clock.time.speed(1000)
    await base.step(10)
    for (let passed = 0; passed < 5; passed += 1) await base.step(10)
    expect(clock.now()).toBe(start + 1000)
    expect(seen).toEqual([])
    end()
    await settle()
    await base.step(10)
    expect(seen).toEqual(['too late'])
    clock.end()
  })

  it('settles when nothing is due soon but what recurs', async () => {
    const clock = clockOn(new FakeClock(start))
    const beat = (): void => void clock.of('node').background?.after(1000, beat)
    beat()
    const seen: string[] = []
    clock.after(8000, () => {
      seen.push('first')
      clock.after(9000, () => seen.push('second'))
    })
    clock.after(40_000, () => seen.push('not soon'))
    expect(await clock.time.settle()).toMatchObject({ nowMs: start + 17_000 })
    expect(seen).toEqual(['first', 'second'])
  })

  describe('at rest', () => {
    /** What recurs each ten seconds, by a timer of this mark: when it came, in seconds. */
    const beats = (clock: ClusterClock, mark: 'background' | 'upkeep'): number[] => {
      const seen: number[] = []
      const beat = (): void =>
        void clock.of('node')[mark]?.after(10_000, () => {
          seen.push((clock.now() - start) / 1000)
          beat()
        })
      beat()
      return seen
    }

    it('is over for upkeep before it ends: it has come in time for a while by then', async () => {
      const clock = clockOn(new FakeClock(start))
      const seen = beats(clock, 'upkeep')
      const { rested } = clock.of('node')
      await clock.time.pause()
      await clock.time.advance({ ms: 60 * minuteMs })
      expect(seen).toEqual([10, 20, 30, 3580, 3590, 3600])
      expect(rested?.()).toBe(3_580_000 - 30_000)
      expect(clock.now()).toBe(start + 60 * minuteMs)
    })

    it('begins again after everything else that happens, which is in time', async () => {
      const clock = clockOn(new FakeClock(start))
      const seen = beats(clock, 'upkeep')
      const jobs: number[] = []
      clock.after(30 * minuteMs + 5000, () => jobs.push((clock.now() - start) / 1000))
      await clock.time.pause()
      await clock.time.advance({ ms: 60 * minuteMs })
      expect(jobs).toEqual([1805])
      // Of those before the job, the last came late.
      const second = [1785, 1795, 1805, 1815, 1825, 1835]
      expect(seen).toEqual([10, 20, 30, ...second, 3580, 3590, 3600])
    })

    it('there is none for what only recurs, nor while it may not be', async () => {
      const recurring = clockOn(new FakeClock(start))
      const seen = beats(recurring, 'background')
      await recurring.time.pause()
      await recurring.time.advance({ ms: 10 * minuteMs })
      expect(seen).toHaveLength(60)
      const kept = clockOn(new FakeClock(start))
      kept.mayRest = () => false
      const inTime = beats(kept, 'upkeep')
      await kept.time.pause()
      await kept.time.advance({ ms: 10 * minuteMs })
      expect(inTime).toHaveLength(60)
    })
  })

  it('names what keeps a cluster from settling', async () => {
    const clock = clockOn(new FakeClock(start))
    const retry = (): void => void clock.of('scheduler').after(2000, retry)
    retry()
    await expect(clock.time.settle({ mostMs: minuteMs })).rejects.toThrow(
      'the cluster has not settled in 1m0s of its time: scheduler has something to do in 2s',
    )
    expect(await clock.time.state()).toMatchObject({ speed: 1, nowMs: start + minuteMs })
  })

  it('refuses to go back, and speeds that it does not have', async () => {
    const { time } = clockOn(new FakeClock(start))
    await expect(time.advance({ ms: -minuteMs })).rejects.toThrow(
      'the clock cannot advance by -1m0s: clocks never go back',
    )
    await expect(time.advance({ toMs: start - 1000 })).rejects.toThrow(
      'the clock cannot advance to 2024-12-31T23:59:59.000Z: clocks never go back',
    )
    await expect(time.advance({ ms: 1e15 })).rejects.toThrow('it must be before the year 10000')
    for (const speed of [0, -1, 1001, Number.NaN])
      await expect(time.speed(speed)).rejects.toThrow(
        `invalid speed ${speed}: it must be from 0.01 to 1000`,
      )
    expect(await time.state()).toMatchObject({ nowMs: start, speed: 1 })
  })

  it('stops an advance where it is when its caller goes away, or the cluster ends', async () => {
    const clock = clockOn(new FakeClock(start))
    const gone = new AbortController()
    clock.after(1000, () => gone.abort(new Error('the caller went away')))
    clock.after(2000, () => {})
    const advanced = clock.time.advance({ ms: minuteMs }, gone.signal)
    await expect(advanced).rejects.toThrow('the caller went away')
    expect(clock.now()).toBe(start + 1000)
    clock.end()
    await expect(clock.time.pause()).rejects.toThrow('the cluster is shutting down')
  })
})
