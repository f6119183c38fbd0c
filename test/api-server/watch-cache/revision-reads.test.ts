import { expect, test } from 'vitest'
import { RevisionReads } from '../../../components/api-server/watch-cache/revision-reads.ts'

/** Reads that a test answers by hand. */
function readsByHand() {
  const sent: PromiseWithResolvers<number>[] = []
  const reads = new RevisionReads(() => {
    const read = Promise.withResolvers<number>()
    sent.push(read)
    return read.promise
  })
  return { reads, sent }
}

test('readers that come while a read is under way share the next one', async () => {
  const { reads, sent } = readsByHand()
  const first = reads.revision()
  const later = [reads.revision(), reads.revision()]
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
  const later = reads.revision()
  sent[0]?.reject(new Error('out of reach'))
  await expect(first).rejects.toThrow('out of reach')
  await expect.poll(() => sent.length).toBe(2)
  sent[1]?.resolve(3)
  expect(await later).toBe(3)
})
