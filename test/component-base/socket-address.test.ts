import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fitsSocketAddress } from '../../components/component-base/socket-address.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testOn } from '../support/test-on.ts'

test('bytes count, not letters, and macOS has fewer than Linux', () => {
  const of = (letter: string, count: number, platform: NodeJS.Platform) =>
    fitsSocketAddress(letter.repeat(count), platform)
  expect([of('x', 107, 'linux'), of('x', 108, 'linux')]).toEqual([true, false])
  expect([of('x', 103, 'darwin'), of('x', 104, 'darwin')]).toEqual([true, false])
  expect([of('集', 35, 'linux'), of('集', 36, 'linux')]).toEqual([true, false])
})

testOn('unix', 'the longest path of a socket')(
  'the longest path is one that a server gets',
  async () => {
    const folder = temporaryFolder('s')
    const name = 'x'.repeat((process.platform === 'linux' ? 107 : 103) - folder.length - 1)
    const path = join(folder, name)
    expect([fitsSocketAddress(path), fitsSocketAddress(`${path}x`)]).toEqual([true, false])
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(path, resolve))
    expect(existsSync(path)).toBe(true)
    await new Promise((resolve) => server.close(resolve))
  },
)
