import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isFrameworkFolder, removeFrameworkFolder } from '../../envtest/framework-folder.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('folders of envtest', () => {
  it('are known by their name in the temporary folder', () => {
    expect(isFrameworkFolder('/tmp/k8s_test_framework_12', '/tmp')).toBe(true)
    expect(isFrameworkFolder('/tmp/a/../k8s_test_framework_12/', '/tmp/')).toBe(true)
    for (const other of [
      '/tmp',
      '/tmp/k8s_test_framework_',
      '/tmp/k8s_test_framework_12a',
      '/tmp/my-k8s_test_framework_12',
      '/home/k8s_test_framework_12',
      '/tmp/k8s_test_framework_12/etcd',
    ])
      expect([other, isFrameworkFolder(other, '/tmp')]).toEqual([other, false])
  })

  it('are removed with what is in them, and a user’s folder stays', async () => {
    const theirs = join(tmpdir(), 'k8s_test_framework_4711')
    const users = temporaryFolder('data')
    for (const folder of [theirs, users]) {
      mkdirSync(join(folder, 'member'), { recursive: true })
      writeFileSync(join(folder, 'member', 'file'), '')
      await removeFrameworkFolder(folder)
    }
    expect([existsSync(theirs), existsSync(users)]).toEqual([false, true])
  })
})
