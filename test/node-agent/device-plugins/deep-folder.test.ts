import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { createLog } from '../../../components/component-base/log.ts'
import { createDevicePlugins } from '../../../components/node-agent/device-plugins/device-plugins.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test('in a folder too deep for a socket nothing listens, and a warning says what to do', async () => {
  const root = temporaryFolder('dp')
  const folder = join(root, '集'.repeat(40))
  const lines: string[] = []
  const plugins = createDevicePlugins({
    folder,
    dialect: dialects.kubernetes,
    onChange: () => {},
    clock: systemClock,
    log: createLog({ clock: systemClock, write: (line) => lines.push(line) }),
  })
  await plugins.run(new AbortController().signal)
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    {
      message: 'device plugins cannot register',
      folder,
      why: 'the path of its socket is too long: choose a shorter --root-dir',
    },
  ])
  expect([existsSync(folder), readdirSync(root)]).toEqual([false, []])
})
