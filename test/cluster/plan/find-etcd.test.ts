/** Which etcd a cluster runs, told by real programs that print a version. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findEtcd } from '../../../cluster/plan/find-etcd.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

function program(text: string): { folder: string; path: string } {
  const folder = temporaryFolder('etcd-program')
  const path = join(folder, 'etcd')
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  return { folder, path }
}

const printing = (version: string) => program(`printf 'etcd Version: ${version}\\nGit SHA: x\\n'`)

test('the first etcd in PATH is taken, or the one that is named', async () => {
  const one = printing('3.4.23')
  const other = printing('3.6.0-rc.1')
  const PATH = ['', '/nowhere', one.folder, other.folder].join(':')
  expect(await findEtcd(undefined, { PATH })).toBe(one.path)
  expect(await findEtcd(other.path, { PATH })).toBe(other.path)
  await expect(findEtcd(undefined, {})).rejects.toThrow('there is no etcd in PATH')
})

test('an etcd that is too old, and a program that is no etcd, are refused', async () => {
  const old = printing('3.3.25')
  await expect(findEtcd(old.path, {})).rejects.toThrow(
    `${old.path} is etcd 3.3.25: 3.4 is the oldest that works`,
  )
  for (const text of ['echo hello', 'exit 1']) {
    const { path } = program(text)
    await expect(findEtcd(path, {})).rejects.toThrow(
      `${path} does not print the version of an etcd`,
    )
  }
})
