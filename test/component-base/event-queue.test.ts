import { describe, expect, it } from 'vitest'
import { backoffDelay, createBackoff } from '../../components/component-base/backoff.ts'
import {
  createEventQueue,
  QueueOverflowError,
} from '../../components/component-base/event-queue.ts'

describe('event queue', () => {
  it('gives items in order, those that wait and those that come', async () => {
    const queue = createEventQueue<number>(10)
    queue.push(1)
    queue.push(2)
    const seen: number[] = []
    const reading = (async () => {
      for await (const item of queue) seen.push(item)
    })()
    await Promise.resolve()
    queue.push(3)
    queue.end()
    expect(queue.push(4)).toBe(false)
    await reading
    expect(seen).toEqual([1, 2, 3])
  })

  it('ends with an error when it overflows, never with a silent gap', async () => {
    const queue = createEventQueue<number>(2)
    expect([queue.push(1), queue.push(2), queue.push(3), queue.push(4)]).toEqual([
      true,
      true,
      false,
      false,
    ])
    await expect(queue.take()).rejects.toThrow(QueueOverflowError)
  })

  it('takes all that waits at once', async () => {
    const queue = createEventQueue<number>(10)
    queue.push(1)
    queue.push(2)
    expect(await queue.take()).toEqual([1, 2])
    const next = queue.take()
    queue.push(3)
    expect(await next).toEqual([3])
    queue.end(new Error('gone'))
    await expect(queue.take()).rejects.toThrow('gone')
  })

  it('leaving the loop ends it', async () => {
    const queue = createEventQueue<number>(10)
    queue.push(1)
    for await (const item of queue) {
      expect(item).toBe(1)
      break
    }
    expect(queue.ended).toBe(true)
  })
})

describe('back-off', () => {
  it('grows up to its maximum and starts over after a reset', () => {
    const backoff = createBackoff({ initialMs: 100, maxMs: 350 }, () => 0.5)
    expect([backoff.next(), backoff.next(), backoff.next(), backoff.next()]).toEqual([
      100, 200, 350, 350,
    ])
    backoff.reset()
    expect(backoff.next()).toBe(100)
    expect(backoffDelay({ initialMs: 5, maxMs: 1e6 }, 5000)).toBe(1e6)
  })

  it('adds jitter on top', () => {
    const backoff = createBackoff({ initialMs: 100, maxMs: 100, jitter: 0.2 }, () => 0.5)
    expect(backoff.next()).toBeCloseTo(110)
  })
})
