/** Log rotation: what becomes of a log that is full, of whoever appends to it, and of `skiff logs`. */
import { appendFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { logs } from '../../../cluster/cli/logs.ts'
import type { Terminal } from '../../../cluster/cli/terminal.ts'
import { runCli } from '../../../cluster/cli/run-cli.ts'
import { startChild } from '../../../cluster/supervisor/child-process.ts'
import {
  fullLogBytes,
  keepLogBounded,
  olderLog,
  rotationCheckMs,
} from '../../../cluster/supervisor/log-rotation.ts'
import { lastLines } from '../../../cluster/log-tail.ts'
import { logOf, statePaths } from '../../../cluster/state/state-dir.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const filler = `${'x'.repeat(1023)}\n`.repeat(fullLogBytes / 1024)

function bounded(path: string, clock = new FakeClock()): FakeClock {
  onTestFinished(keepLogBounded(path, clock))
  return clock
}

test('a full log is set aside, and one such file is kept', async () => {
  const log = join(temporaryFolder('logs'), 'thing.log')
  writeFileSync(log, `first\n${filler}`)
  const clock = bounded(log)
  expect(statSync(log).size).toBe(0)
  expect(readFileSync(olderLog(log), 'utf8') === `first\n${filler}`).toBe(true)
  appendFileSync(log, `second\n${filler}`)
  await clock.step(rotationCheckMs)
  expect(lastLines(log, 1)).toEqual([])
  expect(readFileSync(olderLog(log), 'utf8') === `second\n${filler}`).toBe(true)
})

test('a log that is not full, or not there, stays as it is', async () => {
  const log = join(temporaryFolder('logs'), 'thing.log')
  const clock = bounded(log)
  await clock.step(rotationCheckMs)
  const content = filler.slice(1)
  writeFileSync(log, content)
  await clock.step(rotationCheckMs)
  expect(statSync(log).size).toBe(content.length)
  expect(statSync(olderLog(log), { throwIfNoEntry: false })).toBeUndefined()
})

test('a log that cannot be set aside keeps its lines, and is tried again', async () => {
  const log = join(temporaryFolder('logs'), 'thing.log')
  mkdirSync(olderLog(log))
  writeFileSync(log, filler)
  const clock = bounded(log)
  expect(statSync(log).size).toBe(filler.length)
  await clock.step(rotationCheckMs)
  expect(statSync(log).size).toBe(filler.length)
})

test('a child goes on logging where its log was set aside under it', async () => {
  const clock = new FakeClock()
  const logFile = join(temporaryFolder('logs'), 'thing.log')
  const child = startChild(
    {
      name: 'thing',
      command: process.execPath,
      args: [join(import.meta.dirname, '..', 'fixtures', 'child.js'), 'ignore-term'],
      logFile,
      stopTimeoutMs: 1000,
    },
    clock,
  )
  onTestFinished(async () => {
    child.signal('SIGKILL')
    await child.exited
  })
  await child.ready
  appendFileSync(logFile, filler)
  await clock.step(rotationCheckMs)
  child.signal('SIGTERM')
  await eventually(() => expect(readFileSync(logFile, 'utf8')).toBe('TERM ignored\n'))
  expect(statSync(olderLog(logFile)).size).toBe(filler.length)
})

test('the last lines of a run whose log was set aside since are those after that', () => {
  const log = join(temporaryFolder('logs'), 'thing.log')
  writeFileSync(log, 'why\n')
  expect(lastLines(log, 15, fullLogBytes)).toEqual(['why'])
})

test('skiff logs shows the lines before a rotation, and -f misses none over it', async () => {
  const stateRoot = temporaryFolder('state')
  const paths = statePaths(stateRoot, 'lab')
  mkdirSync(paths.logs, { recursive: true })
  const log = logOf(paths, 'thing')
  writeFileSync(olderLog(log), 'one\ntwo\n')
  writeFileSync(log, 'three\n')
  let shown = ''
  const terminal = { out: (text: string) => void (shown += text) } as Terminal
  const interrupt = new AbortController()
  const ended = runCli(
    [{ name: 'logs', summary: '', load: async () => [logs] }],
    ['logs', '--name=lab', '--tail=2', '-f'],
    {
      terminal,
      clock: new FakeClock(),
      stateRoot,
      environment: {},
      program: 'skiff',
      signal: interrupt.signal,
    },
  )
  await eventually(() => expect(shown).toBe('two\nthree\n'))
  appendFileSync(log, filler)
  await eventually(() => expect(shown.length).toBe('two\nthree\n'.length + filler.length))
  shown = ''
  // All at once: what was written before is in the older file when the follower looks.
  appendFileSync(log, 'before\n')
  bounded(log)
  appendFileSync(log, 'after\n')
  await eventually(() => expect(shown).toBe('before\nafter\n'))
  interrupt.abort()
  await ended
})
