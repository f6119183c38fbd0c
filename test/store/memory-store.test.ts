/** The memory store fulfils the contract and agrees with the model. */
import { createMemoryStore } from '../../components/store/memory-store.ts'
import { describeStore } from './conformance.ts'
import { checkAgainstModel } from './model.ts'

describeStore('memory', async () => createMemoryStore())
checkAgainstModel({ name: 'memory', runs: 200, open: async () => createMemoryStore() })
