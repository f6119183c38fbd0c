/** The embedded store fulfils the contract and agrees with the model, also across restarts. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { openSqliteStore } from '../../components/store/sqlite-store.ts'
import { describeStore } from './conformance.ts'
import { checkAgainstModel } from './model.ts'

const directory = mkdtempSync(join(tmpdir(), 'sqlite-store-'))
afterAll(() => rmSync(directory, { recursive: true }))
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
