/** The text of `--store`. */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../components/store/open-store.ts'
import { put } from './actions.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { expectMode } from '../support/file-mode.ts'

const directory = temporaryFolder('open-store')

describe('openStore', () => {
  it('opens a store in memory and one in a file', async () => {
    const path = join(directory, 'a:b.db')
    for (const spec of ['memory:', `sqlite:${path}`]) {
      const store = await openStore(spec, { quotaBytes: 10_000_000 })
      await put(store, 'a', '1')
      await store.close()
    }
    expect(existsSync(path)).toBe(true)
  })

  it('names the known schemes when it is given another', async () => {
    for (const spec of ['redis:x', 'memory', '', 'toString:'])
      await expect(openStore(spec)).rejects.toMatchObject({
        code: 'cannot-open',
        message: `unknown store "${spec}": it starts with memory:, sqlite: or etcd:`,
      })
  })

  it('refuses a folder, and leaves its mode as it is', async () => {
    const folder = join(directory, 'folder')
    mkdirSync(folder, { mode: 0o755 })
    await expect(openStore(`sqlite:${folder}`)).rejects.toMatchObject({
      code: 'cannot-open',
      message: `${folder} cannot be opened: it is not a file`,
    })
    expectMode(folder, 0o755)
  })

  it('refuses a file store without a path', async () => {
    await expect(openStore('sqlite:')).rejects.toMatchObject({ code: 'cannot-open' })
  })
})
