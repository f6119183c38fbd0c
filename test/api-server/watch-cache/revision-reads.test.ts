import { expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { nextTurn } from '../../../components/component-base/next-turn.ts'
import { RevisionReads } from '../../../components/api-server/watch-cache/revision-reads.ts'

/** Reads that a test answers by hand. */
function readsByHand() {
  const sent: PromiseWithResolvers<number>[] = []
  const clock = new FakeClock()
  const reads = new RevisionReads(() => {
    const read = Promise.withResolvers<number>()
    sent.push(read)
    return read.promise
  }, clock)
  const askTimes = (count: number): Promise<number>[] =>
    Array.from({ length: count }, () => reads.revision())
  return { reads, sent, clock, askTimes }
}

test('readers that come in the same turn share one read', async () => {
  const { reads, sent } = readsByHand()
  const together = [reads.revision(), reads.revision(), reads.revision()]
  await expect.poll(() => sent.length).toBe(1)
  sent[0]?.resolve(5)
  expect(await Promise.all(together)).toEqual([5, 5, 5])
  expect(sent).toHaveLength(1)
})

test('readers that come while a read is under way share the next one', async () => {
  const { reads, sent } = readsByHand()
  const first = reads.revision()
  await expect.poll(() => sent.length).toBe(1)
  const later = [reads.revision(), reads.revision()]
  await nextTurn()
  expect(sent).toHaveLength(1)
  sent[0]?.resolve(5)
  expect(await first).toBe(5)
  await expect.poll(() => sent.length).toBe(2)
  // It has been sent: who comes now waits for one that is sent later.
  const last = reads.revision()
  sent[1]?.resolve(7)
  expect(await Promise.all(later)).toEqual([7, 7])
  await expect.poll(() => sent.length).toBe(3)
  sent[2]?.resolve(8)
  expect(await last).toBe(8)
})

test('a read that fails fails for those who wait for it alone', async () => {
  const { reads, sent } = readsByHand()
  const first = reads.revision()
  await expect.poll(() => sent.length).toBe(1)
  const later = reads.revision()
  const failed = expect(first).rejects.toThrow('out of reach')
  sent[0]?.reject(new Error('out of reach'))
  await failed
  await expect.poll(() => sent.length).toBe(2)
  sent[1]?.resolve(3)
  expect(await later).toBe(3)
})

test('after a read that many shared, the next one waits for as many, and for those who had come', async () => {
  const { sent, askTimes, clock } = readsByHand()
  const first = askTimes(4)
  await expect.poll(() => sent.length).toBe(1)
  const second = askTimes(2)
  sent[0]?.resolve(1)
  await Promise.all(first)
  await expect.poll(() => clock.pending).toBe(1)
  second.push(...askTimes(3))
  await nextTurn()
  await nextTurn()
  expect(sent).toHaveLength(1)
  second.push(...askTimes(1))
  await expect.poll(() => sent.length).toBe(2)
  expect(clock.pending).toBe(0)
  sent[1]?.resolve(2)
  expect(await Promise.all(second)).toEqual([2, 2, 2, 2, 2, 2])
})

test('those who do not come again are waited for a millisecond, once', async () => {
  const { reads, sent, askTimes, clock } = readsByHand()
  const first = askTimes(5)
  await expect.poll(() => sent.length).toBe(1)
  sent[0]?.resolve(1)
  await Promise.all(first)
  const second = reads.revision()
  await expect.poll(() => clock.pending).toBe(1)
  expect(sent).toHaveLength(1)
  await clock.step(1)
  await expect.poll(() => sent.length).toBe(2)
  sent[1]?.resolve(2)
  expect(await second).toBe(2)
  const third = reads.revision()
  await expect.poll(() => sent.length).toBe(3)
  expect(clock.pending).toBe(0)
  sent[2]?.resolve(3)
  expect(await third).toBe(3)
})

test.each([
  [3, 3],
  [60, 5],
])('after a read of %i ms, others are waited for %i ms at most', async (tookMs, waitMs) => {
  const { reads, sent, askTimes, clock } = readsByHand()
  const first = askTimes(5)
  await expect.poll(() => sent.length).toBe(1)
  await clock.step(tookMs)
  sent[0]?.resolve(1)
  await Promise.all(first)
  const second = reads.revision()
  await expect.poll(() => clock.pending).toBe(1)
  await clock.step(waitMs - 1)
  await nextTurn()
  expect(sent).toHaveLength(1)
  await clock.step(1)
  await expect.poll(() => sent.length).toBe(2)
  sent[1]?.resolve(2)
  expect(await second).toBe(2)
})
