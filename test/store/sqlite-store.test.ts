/** The embedded store fulfils the contract and agrees with the model, also across restarts. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openSqliteStore } from '../../components/store/sqlite-store.ts'
import { describeStore } from './conformance.ts'
import { checkAgainstModel } from './model.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const directory = temporaryFolder('sqlite-store')
let files = 0
const newPath = (): string => join(directory, `${++files}.db`)

describeStore('sqlite', async () => openSqliteStore({ path: newPath() }))

checkAgainstModel({
  name: 'sqlite',
  runs: 25,
  open: async () => openSqliteStore({ path: newPath() }),
  reopen: async (store) => {
    await store.close()
    return openSqliteStore({ path: join(directory, `${files}.db`) })
  },
})

it('keeps what it was filled with, and its revision', async () => {
  const path = newPath()
  const filled = await openSqliteStore({ path })
  const kv = { key: 'a', value: Buffer.from('1'), createRevision: 2, modRevision: 3 }
  await filled.load([kv], 7)
  await filled.close()
  const store = await openSqliteStore({ path })
  expect(await store.range({ prefix: '' })).toEqual({ kvs: [kv], revision: 7, more: false })
  expect(await store.txn({ key: 'b', expectedRevision: 0, value: kv.value })).toEqual({
    ok: true,
    revision: 8,
  })
  await store.close()
})

it('is not filled with more than its quota, and stays empty', async () => {
  const store = await openSqliteStore({ path: newPath(), quotaBytes: 500_000 })
  const value = Buffer.alloc(1_000_000, 'x')
  const kv = { key: 'a', value, createRevision: 1, modRevision: 1 }
  await expect(store.load([kv], 1)).rejects.toMatchObject({ code: 'no-space' })
  expect(await store.revision()).toBe(0)
  await store.close()
})
