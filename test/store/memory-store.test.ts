/** The memory store fulfils the contract and agrees with the model. */
import { expect, it } from 'vitest'
import { createMemoryStore } from '../../components/store/memory-store.ts'
import { describeStore } from './conformance.ts'
import { checkAgainstModel } from './model.ts'

it('shares the bytes of what it is filled with', async () => {
  const value = Buffer.from('1')
  const store = createMemoryStore()
  await store.load([{ key: 'a', value, createRevision: 1, modRevision: 1 }], 1)
  expect((await store.get('a'))?.value).toBe(value)
})

describeStore('memory', async () => createMemoryStore())
checkAgainstModel({ name: 'memory', runs: 200, open: async () => createMemoryStore() })
