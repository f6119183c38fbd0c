/** The store on etcd fulfils the contract and agrees with the model, also when it is opened again. */
import { afterAll, beforeAll } from 'vitest'
import { fromZero, openTestStore, requireEtcd, startEtcd, type TestEtcd } from '../support/etcd.ts'
import type { Store } from '../../components/store/store.ts'
import { describeStore } from './conformance.ts'
import { checkAgainstModel } from './model.ts'

requireEtcd()('on a real etcd', () => {
  let etcd: TestEtcd
  let prefixes = 0
  let start = 0
  beforeAll(async () => {
    etcd = await startEtcd()
  })
  afterAll(async () => await etcd.kill())

  /** The contract numbers concurrent commits in the order of their calls. */
  const open = async (): Promise<Store> =>
    await openTestStore(etcd.url, { prefix: `/test/${prefixes}`, maxInFlight: 1 })

  const openEmpty = async (): Promise<Store> => {
    prefixes += 1
    const store = await open()
    start = await store.revision()
    return fromZero(store, start)
  }

  describeStore('etcd', openEmpty, 'renumbers')

  checkAgainstModel({
    name: 'etcd',
    runs: 15,
    renumbers: true,
    open: openEmpty,
    reopen: async (store) => {
      await store.close()
      return fromZero(await open(), start)
    },
  })
})
