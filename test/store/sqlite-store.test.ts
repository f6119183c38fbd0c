/** The embedded store fulfils the contract and agrees with the model, also across restarts. */
import { join } from 'node:path'
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
