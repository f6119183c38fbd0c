import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { replaceFile, replaceFileNow } from '../../components/component-base/replace-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

function refusal(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: operation not permitted, rename`), { code })
}

/** A rename that the system refuses that many times. */
function refused(times: number, code: string) {
  const attempts: string[] = []
  const waitedMs: number[] = []
  const attempt = (from: string, to: string): void => {
    attempts.push(`${from} ${to}`)
    if (attempts.length <= times) throw refusal(code)
  }
  return { attempts, waitedMs, attempt }
}

const both = [
  [
    'replaceFile',
    async (platform: NodeJS.Platform, { attempt, waitedMs }: ReturnType<typeof refused>) =>
      await replaceFile('a', 'b', {
        platform,
        rename: async (from, to) => attempt(from, to),
        wait: async (ms) => waitedMs.push(ms),
      }),
  ],
  [
    'replaceFileNow',
    async (platform: NodeJS.Platform, { attempt, waitedMs }: ReturnType<typeof refused>) =>
      replaceFileNow('a', 'b', { platform, rename: attempt, wait: (ms) => waitedMs.push(ms) }),
  ],
] as const

describe.each(both)('%s', (_, replace) => {
  test.each(['EPERM', 'EACCES', 'EBUSY'])(
    'tries again on Windows while another program has the file open: %s',
    async (code) => {
      const system = refused(3, code)
      await replace('win32', system)
      expect(system.attempts).toEqual(['a b', 'a b', 'a b', 'a b'])
      expect(system.waitedMs).toEqual([10, 20, 50])
    },
  )
  test('gives up after two seconds, with the error of the system', async () => {
    const system = refused(100, 'EPERM')
    await expect(replace('win32', system)).rejects.toMatchObject({ code: 'EPERM' })
    expect(system.waitedMs.reduce((sum, ms) => sum + ms, 0)).toBe(2000)
  })
  test.each([
    ['linux', 'EPERM'],
    ['darwin', 'EACCES'],
    ['win32', 'ENOENT'],
  ] as const)('on %s %s is final', async (platform, code) => {
    const system = refused(1, code)
    await expect(replace(platform, system)).rejects.toMatchObject({ code })
    expect(system.attempts).toHaveLength(1)
  })
})

test('a file is replaced, whatever the letters of its path', async () => {
  const folder = temporaryFolder('my files 文件')
  const [draft, file] = [join(folder, 'draft'), join(folder, 'file')]
  for (const text of ['one', 'two']) {
    writeFileSync(draft, text)
    if (text === 'one') replaceFileNow(draft, file)
    else await replaceFile(draft, file)
    expect(readFileSync(file, 'utf8')).toBe(text)
  }
})
