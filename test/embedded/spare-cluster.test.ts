import { expect, it } from 'vitest'
import { SpareCluster } from '../../embedded/spare-cluster.ts'

const usual = {
  nodes: [{ name: 'node-1', flags: {} }],
  components: ['scheduler'],
  extraFlags: {},
  port: 0,
  seed: 1,
  startAtMs: undefined,
  initialState: undefined,
} as const

class Fake {
  isOpen = true
  async close(): Promise<void> {
    this.isOpen = false
  }
}

function spareOf(start: () => Promise<Fake> = async () => new Fake()) {
  const started: Fake[] = []
  const spare = new SpareCluster(async () => {
    const fake = await start()
    started.push(fake)
    return fake
  })
  return { spare, started }
}

it('the first start with equal options gets the prepared cluster, the next one another', async () => {
  const { spare, started } = spareOf()
  await spare.prepare(usual)
  await spare.prepare(usual)
  expect(await spare.start(structuredClone(usual))).toBe(started[0])
  expect(started).toHaveLength(1)
  expect(await spare.start(usual)).toBe(started[1])
  expect(started.map(({ isOpen }) => isOpen)).toEqual([true, true])
})

it('a start with other options gets a cluster of its own, and the prepared one ends', async () => {
  const { spare, started } = spareOf()
  await spare.prepare(usual)
  expect(await spare.start({ ...usual, seed: 2 })).toBe(started[1])
  expect(started.map(({ isOpen }) => isOpen)).toEqual([false, true])
})

it('a prepared cluster that cannot start fails the start that asks for it, with the reason', async () => {
  const { spare } = spareOf(async () => await Promise.reject(new Error('no room')))
  await spare.prepare(usual)
  await expect(spare.start(usual)).rejects.toThrow('no room')
})
