import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openFollowedFile } from '../../components/component-base/followed-file.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { eventually } from '../support/eventually.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

it('a file whose folder the system cannot watch is looked at now and then', async () => {
  const folder = join(temporaryFolder('followed'), 'away')
  const path = join(folder, 'file')
  mkdirSync(folder)
  writeFileSync(path, 'first')
  const file = await openFollowedFile(path)
  rmSync(folder, { recursive: true })
  const clock = new FakeClock()
  const stop = new AbortController()
  const taken: string[] = []
  const following = file.follow({
    clock,
    log: silentLog,
    signal: stop.signal,
    take: (content) => void taken.push(content),
  })
  mkdirSync(folder)
  writeFileSync(path, 'second')
  await eventually(async () => {
    await clock.step(60_000)
    expect(taken).toEqual(['second'])
  })
  stop.abort()
  await following
})
