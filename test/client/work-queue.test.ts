import { describe, expect, it } from 'vitest'
import { createWorkQueue } from '../../components/client/work-queue.ts'
import { FakeClock } from '../support/fake-clock.ts'

function queueWith(options: Partial<Parameters<typeof createWorkQueue>[0]> = {}) {
  const clock = new FakeClock()
  const queue = createWorkQueue({ clock, ...options })
  return { clock, queue }
}

describe('work queue', () => {
  it('a key waits once however often it is added', async () => {
    const { queue } = queueWith()
    queue.add('a')
    queue.add('a')
    queue.add('b')
    expect(queue.size).toBe(2)
    expect([await queue.next(), await queue.next()]).toEqual(['a', 'b'])
  })

  it('a key added while it is worked on comes again only when it is done', async () => {
    const { queue } = queueWith()
    queue.add('a')
    await queue.next()
    queue.add('a')
    queue.add('a')
    expect(queue.size).toBe(0)
    queue.done('a')
    expect(queue.size).toBe(1)
    await queue.next()
    queue.done('a')
    expect(queue.size).toBe(0)
  })

  it('hands keys to those who wait, in their order', async () => {
    const { queue } = queueWith()
    const [first, second] = [queue.next(), queue.next()]
    queue.add('a')
    queue.add('b')
    expect([await first, await second]).toEqual(['a', 'b'])
    expect(queue.processing).toBe(2)
  })

  it('the earliest of several delays counts', async () => {
    const { clock, queue } = queueWith()
    queue.addAfter('a', 1000)
    queue.addAfter('a', 100)
    queue.addAfter('a', 500)
    await clock.step(99)
    expect(queue.size).toBe(0)
    await clock.step(1)
    expect(queue.size).toBe(1)
    await queue.next()
    queue.done('a')
    await clock.step(5000)
    expect(queue.size).toBe(0)
  })

  it('retries each key after its own doubling delay until it is forgotten', async () => {
    const { clock, queue } = queueWith()
    const delays: number[] = []
    for (let tries = 0; tries < 4; tries += 1) {
      queue.addRateLimited('a')
      delays.push(clock.nextInMs ?? -1)
      await clock.step(1_000_000)
      await queue.next()
      queue.done('a')
    }
    expect(delays).toEqual([5, 10, 20, 40])
    expect(queue.retries('a')).toBe(4)
    queue.forget('a')
    queue.addRateLimited('a')
    expect(clock.nextInMs).toBe(5)
  })

  it('never waits longer than its maximum', async () => {
    const { clock, queue } = queueWith()
    for (let tries = 0; tries < 30; tries += 1) {
      queue.addRateLimited('a')
      await clock.step(1_000_000)
      await queue.next()
      queue.done('a')
    }
    queue.addRateLimited('a')
    expect(clock.nextInMs).toBe(1_000_000)
  })

  it('bounds the retries of all keys together', async () => {
    const { clock, queue } = queueWith({ ratePerSecond: 10, burst: 2, initialMs: 1 })
    for (const key of ['a', 'b', 'c', 'd']) queue.addRateLimited(key)
    await clock.step(1)
    expect(queue.size).toBe(2)
    await clock.step(100)
    expect(queue.size).toBe(3)
    await clock.step(100)
    expect(queue.size).toBe(4)
  })

  it('does not hold retries back because the clock was set back', async () => {
    const { clock, queue } = queueWith()
    queue.addRateLimited('a')
    clock.setBack(3_600_000)
    queue.addRateLimited('b')
    await clock.step(5)
    expect(queue.size).toBe(2)
  })

  it('shutting down ends all waiting and drops what waits', async () => {
    const { clock, queue } = queueWith()
    const waiting = queue.next()
    queue.addAfter('a', 10)
    queue.shutDown()
    queue.add('b')
    await clock.step(100)
    expect(await waiting).toBeUndefined()
    expect(await queue.next()).toBeUndefined()
    expect(clock.pending).toBe(0)
  })
})
