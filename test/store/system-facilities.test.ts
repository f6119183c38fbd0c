/** Facilities of Linux that the store has no need of: the table of locks, and folders that can be synced. */
import { DatabaseSync } from 'node:sqlite'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { lockOwner } from '../../components/store/lock-owner.ts'
import { syncFolder } from '../../components/store/sync-folder.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testOn } from '../support/test-on.ts'

testOn('linux', 'the table of locks')('a lock has an owner, where the system shows it', () => {
  const path = join(temporaryFolder('locks'), 'state.db')
  const db = new DatabaseSync(path)
  onTestFinished(() => db.close())
  db.exec('PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE a (b)')
  expect(lockOwner(path)).toBe(process.pid)
  expect(lockOwner(path, join(path, 'locks'))).toBeUndefined()
})

test('without a table of locks the owner is unknown', () => {
  const folder = temporaryFolder('locks')
  const path = join(folder, 'state.db')
  writeFileSync(path, '')
  expect(lockOwner(path, join(folder, 'locks'))).toBeUndefined()
  mkdirSync(join(folder, 'locks'))
  expect(lockOwner(path, join(folder, 'locks'))).toBeUndefined()
})

test('a folder is synced where it can be opened; Windows cannot', () => {
  const missing = join(temporaryFolder('sync'), 'missing')
  expect(() => syncFolder(missing, 'linux')).toThrow('ENOENT')
  expect(() => syncFolder(missing, 'darwin')).toThrow('ENOENT')
  syncFolder(missing, 'win32')
})
