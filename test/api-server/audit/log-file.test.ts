import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openAuditLogFile } from '../../../components/api-server/audit/log-file.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { FakeClock } from '../../support/fake-clock.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'audit-file-'))
})
afterEach(async () => await rm(folder, { recursive: true, force: true }))

test('records go on when somebody took the full file away', async () => {
  const path = join(folder, 'audit.log')
  const file = await openAuditLogFile({
    path,
    maxBytes: 10,
    maxBackups: 0,
    maxAgeMs: 0,
    compress: false,
    clock: new FakeClock(),
    log: silentLog,
  })
  await file.write(['one 567\n'])
  await rm(path)
  await file.write(['two 567\n', 'three 7\n'])
  await file.close()
  expect(await readFile(path, 'utf8')).toBe('three 7\n')
  const [aside = ''] = (await readdir(folder)).filter((name) => name !== 'audit.log')
  expect(await readFile(join(folder, aside), 'utf8')).toBe('two 567\n')
})
