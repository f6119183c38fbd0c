/** State directory: where it is, who owns it, and what is said when it cannot be used. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ClusterError } from '../../../cluster/cluster-error.ts'
import { identify, isAlive, signalProcess } from '../../../cluster/state/process-identity.ts'
import { acquireLock, handOverLock, lockHolder, releaseLock } from '../../../cluster/state/lock.ts'
import {
  createStateDir,
  listClusters,
  readJsonFile,
  statePaths,
  stateRoot,
  withClearErrors,
  writePrivateFile,
} from '../../../cluster/state/state-dir.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { temporaryStateRoot } from '../temporary-state.ts'
import { expectMode } from '../../support/file-mode.ts'

const dead = { pid: 1, startTime: 'before the world began' }

function failure(work: () => unknown): ClusterError {
  try {
    work()
  } catch (error) {
    expect(error).toBeInstanceOf(ClusterError)
    return error as ClusterError
  }
  throw new Error('nothing failed')
}

describe('where it is', () => {
  test('in XDG_STATE_HOME, else in ~/.local/state; a relative XDG path does not count', () => {
    expect(stateRoot({ XDG_STATE_HOME: '/x', HOME: '/h' })).toBe('/x/skiff')
    expect(stateRoot({ HOME: '/h' })).toBe('/h/.local/state/skiff')
    expect(stateRoot({ XDG_STATE_HOME: 'x', HOME: '/h' })).toBe('/h/.local/state/skiff')
    expect(statePaths('/x/skiff', 'lab').dir).toBe('/x/skiff/clusters/lab')
  })
  test('each cluster has one of its own, for its owner alone', () => {
    const root = temporaryStateRoot()
    expect(listClusters(root)).toEqual([])
    const paths = statePaths(root, 'lab')
    expect(createStateDir(paths)).toBe(true)
    expect(createStateDir(paths)).toBe(false)
    expectMode(paths.dir, 0o700)
    mkdirSync(join(root, 'clusters', '.old'))
    expect(listClusters(root)).toEqual(['lab'])
  })
  test.each(['', 'Lab', 'a/b', '..', 'a_b', '-a', 'a-', 'x'.repeat(51)])(
    '"%s" is no name',
    (name) => {
      expect(failure(() => statePaths('/x/skiff', name)).kind).toBe('usage')
    },
  )
})

describe('the lock', () => {
  test('is had by one; the other learns who has it', () => {
    const paths = statePaths(temporaryStateRoot(), 'lab')
    createStateDir(paths)
    expect(acquireLock(paths, systemClock)).toEqual({ ok: true })
    expect(acquireLock(paths, systemClock)).toMatchObject({
      ok: false,
      holder: { pid: process.pid },
    })
    releaseLock(paths)
    expect(acquireLock(paths, systemClock)).toEqual({ ok: true })
  })
  test('of a dead process, or of one whose pid somebody else has now, is taken over', () => {
    const paths = statePaths(temporaryStateRoot(), 'lab')
    createStateDir(paths)
    acquireLock(paths, systemClock)
    handOverLock(paths, dead)
    expect(lockHolder(paths)).toBeUndefined()
    expect(acquireLock(paths, systemClock)).toEqual({ ok: true })
    expect(lockHolder(paths)?.pid).toBe(process.pid)
  })
  test("that says nothing is nobody's", () => {
    const paths = statePaths(temporaryStateRoot(), 'lab')
    createStateDir(paths)
    writeFileSync(paths.lock, '{"pi')
    expect(acquireLock(paths, systemClock)).toEqual({ ok: true })
  })
  test.each(['', 'null', '7', '{', '[]', '{}'])(
    'a lock that says nothing is nobody’s: %s',
    (text) => {
      const paths = statePaths(temporaryStateRoot(), 'lab')
      createStateDir(paths)
      writeFileSync(paths.lock, text)
      expect(lockHolder(paths)).toBeUndefined()
      expect(acquireLock(paths, systemClock)).toEqual({ ok: true })
    },
  )
})

describe('what cannot be used', () => {
  const system = (code: string) => () => {
    throw Object.assign(new Error(code), { code })
  }
  test.each([
    ['EACCES', 'permission', 'permission denied for the state directory /d (EACCES)'],
    ['EROFS', 'permission', 'permission denied for the state directory /d (EROFS)'],
    ['ENOSPC', 'failed', 'no space left for the state directory /d'],
    ['ENOTDIR', 'failed', 'a part of the path /d is not a directory'],
  ])('%s is said in one line, with a hint', (code, kind, message) => {
    const error = failure(() => withClearErrors('/d', system(code)))
    expect(error.kind).toBe(kind)
    expect(error.message).toBe(message)
    expect(error.hint).toContain('XDG_STATE_HOME')
  })
  test('a file where the directory should be is said too', () => {
    const root = temporaryStateRoot()
    mkdirSync(join(root, 'clusters'))
    writeFileSync(join(root, 'clusters', 'lab'), '')
    const error = failure(() => createStateDir(statePaths(root, 'lab')))
    expect(error.message).toContain('is not a directory')
    // The folder's own clean-up would take it for a cluster.
    rmSync(join(root, 'clusters', 'lab'))
  })
  test('a damaged file is named; a missing one is undefined', () => {
    const paths = statePaths(temporaryStateRoot(), 'lab')
    createStateDir(paths)
    expect(readJsonFile(paths.config)).toBeUndefined()
    writeFileSync(paths.config, '{')
    expect(failure(() => readJsonFile(paths.config)).message).toBe(
      `${paths.config} is damaged: it is not JSON`,
    )
  })
})

test('a private file is replaced whole and is for its owner alone', () => {
  const paths = statePaths(temporaryStateRoot(), 'lab')
  createStateDir(paths)
  writePrivateFile(paths.config, 'one')
  writePrivateFile(paths.config, 'two')
  expect(readFileSync(paths.config, 'utf8')).toBe('two')
  expectMode(paths.config, 0o600)
})

test('a process is itself only with its own start time, and no other is signalled', () => {
  const self = identify(process.pid)
  expect(self).toBeDefined()
  expect(isAlive(self ?? dead)).toBe(true)
  expect(signalProcess({ pid: process.pid, startTime: 'another' }, 'SIGKILL')).toBe(false)
})

test('a directory that is removed goes in one step: nobody finds it without its lock', async () => {
  const root = temporaryStateRoot()
  const paths = statePaths(root, 'lab')
  createStateDir(paths)
  expect(acquireLock(paths, systemClock)).toEqual({ ok: true })
  for (let file = 0; file < 5000; file += 1) writeFileSync(join(paths.logs, `${file}.log`), '')
  const module = join(import.meta.dirname, '../../../cluster/state/state-dir.ts')
  const code =
    `const { pathsIn, removeStateDir } = await import(${JSON.stringify(module)});` +
    `removeStateDir(pathsIn(${JSON.stringify(paths.dir)}))`
  const remover = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'inherit' })
  const ended = new Promise((resolve) => remover.once('exit', resolve))
  let isHalfGone = false
  while (existsSync(paths.dir)) {
    if (!existsSync(paths.lock) && existsSync(paths.dir)) isHalfGone = true
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  }
  expect(isHalfGone).toBe(false)
  expect(await ended).toBe(0)
  expect(existsSync(root)).toBe(false)
})
