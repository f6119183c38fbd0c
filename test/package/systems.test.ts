/** Tests elsewhere than on Linux: what needs it is left out or skipped, and says so. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { portsOfNetstat } from '../support/listening-ports.ts'
import { parsePs } from '../support/process-list.ts'
import { filesLeftOut, needs } from '../support/system-needs.ts'
import { root } from './packed.ts'

test('Linux runs every file, macOS all but those that need Linux, Windows those that need no Unix', () => {
  expect(filesLeftOut('linux')).toEqual([])
  const systems = (platform: NodeJS.Platform) =>
    new Set(filesLeftOut(platform).map(({ system }) => system))
  expect(systems('darwin')).toEqual(new Set(['linux']))
  expect(systems('win32')).toEqual(new Set(['linux', 'unix']))
  for (const { file } of needs) expect(existsSync(join(root, file)), file).toBe(true)
})

/** What no Windows has, as it is written in tests. */
const unixOnly = /'SIGSTOP'|#!\/bin\/sh|'unshare'|`\/proc|'\/proc\/|'mount'|process\.kill\(-/

test('a test file that uses what only some systems have is left out elsewhere, or skips such tests', () => {
  const listed = new Set(needs.map(({ file }) => file))
  const files = globSync('test/**/*.test.ts', { cwd: root, exclude: ['test/package/.tools/**'] })
  expect(files.length).toBeGreaterThan(400)
  const found = files.filter((file) => unixOnly.test(readFileSync(join(root, file), 'utf8')))
  expect(found.length).toBeGreaterThan(5)
  const careless = found
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !listed.has(file) && file !== 'test/package/systems.test.ts')
    .filter(
      (file) =>
        !/\btestOn\(|\btestIf\(|skipIf\(|skip\(\)/.test(readFileSync(join(root, file), 'utf8')),
    )
  expect(careless).toEqual([])
})

test('what is left of a run is found by the ps of macOS', () => {
  const rows = [
    '    1     0 Ss   /sbin/launchd',
    '  501     1 S+   node cli.js up TMPDIR=/var/t-1 HOME=/Users/jane',
    '  502   501 Z    (node)',
    '',
  ]
  expect(parsePs(rows.join('\n'))).toMatchObject([
    { pid: 1, parent: 0, command: '/sbin/launchd' },
    { pid: 501, parent: 1, environment: expect.stringContaining('TMPDIR=/var/t-1') as unknown },
  ])
})

test('ports in use are read from the netstat of macOS and of Windows', () => {
  const mac = 'tcp4       0      0  127.0.0.1.6443         *.*                    LISTEN\n'
  const windows = '  TCP    127.0.0.1:6444         0.0.0.0:0              LISTENING\r\n'
  const other = 'tcp4       0      0  127.0.0.1.50000        127.0.0.1.6443         ESTABLISHED\n'
  expect(portsOfNetstat(mac + windows + other)).toEqual([6443, 6444])
})
