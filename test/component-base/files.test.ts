import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createMemoryFiles, diskFiles } from '../../components/component-base/files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { expectMode } from '../support/file-mode.ts'

describe('files on disk', () => {
  it('are written whole, for their owner alone', async () => {
    const folder = temporaryFolder('files')
    const path = join(folder, 'a', 'b', 'secret')
    await diskFiles.makeFolder(join(folder, 'a', 'b'))
    await diskFiles.write(path, 'one')
    await diskFiles.write(path, 'two')
    expect(readFileSync(path, 'utf8')).toBe('two')
    expectMode(path, 0o600)
    await expect(diskFiles.write(join(folder, 'none', 'x'), '')).rejects.toThrow('ENOENT')
  })
})

describe('files in memory', () => {
  it('are read as they were written, and never reach the disk', async () => {
    const files = createMemoryFiles()
    const path = join(files.root, 'pki', 'ca.crt')
    await files.makeFolder(join(files.root, 'pki'))
    await files.write(path, 'PEM')
    expect(await files.read(path)).toBe('PEM')
    expect(files.readNow(path)).toBe('PEM')
    expect(existsSync(files.root)).toBe(false)
  })

  it('are missing as files on disk are', async () => {
    const files = createMemoryFiles()
    const path = join(files.root, 'none')
    await expect(files.read(path)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(() => files.readNow(path)).toThrow('ENOENT')
  })

  it('tell who watches their folder of a change', async () => {
    const files = createMemoryFiles()
    const seen: (string | null)[] = []
    const end = files.watch(join(files.root, 'pki'), (name) => seen.push(name))
    await files.write(join(files.root, 'pki', 'ca.crt'), 'one')
    await files.write(join(files.root, 'elsewhere', 'ca.crt'), 'one')
    end()
    await files.write(join(files.root, 'pki', 'ca.crt'), 'two')
    expect(seen).toEqual(['ca.crt'])
  })

  it('are copied, so that one cluster does not change those of another', async () => {
    const files = createMemoryFiles()
    const path = join(files.root, 'a')
    await files.write(path, 'one')
    const copy = createMemoryFiles(files.all())
    await files.write(path, 'two')
    expect(copy.readNow(path)).toBe('one')
  })

  it('leave other paths to the disk', async () => {
    const files = createMemoryFiles()
    const path = join(temporaryFolder('files'), 'audit-policy.yaml')
    await files.write(path, 'on disk')
    expect(readFileSync(path, 'utf8')).toBe('on disk')
    expect(files.diskOf(path)).toBe(path)
  })
})
