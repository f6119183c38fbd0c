/** Child process: which of ready, exit and timeout comes first, and how a process is brought to its end. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ChildStartError, startChild } from '../../../cluster/supervisor/child-process.ts'
import type { Child, ChildOptions } from '../../../cluster/supervisor/child-process.ts'
import { identify } from '../../../cluster/state/process-identity.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testOn } from '../../support/test-on.ts'

const fixture = join(import.meta.dirname, '..', 'fixtures', 'child.js')
let dir: string
const started: Child[] = []

beforeEach(() => {
  dir = temporaryFolder('skiff-child')
})

afterEach(async () => {
  for (const child of started.splice(0)) {
    child.signal('SIGKILL')
    await child.exited
  }
})

function start(behaviour: string, more: Partial<ChildOptions> = {}, clock = systemClock): Child {
  const child = startChild(
    {
      name: 'thing',
      command: process.execPath,
      args: [fixture, behaviour],
      logFile: join(dir, 'thing.log'),
      readyTimeoutMs: 20_000,
      stopTimeoutMs: 20_000,
      ...more,
    },
    clock,
  )
  started.push(child)
  return child
}

async function failure(child: Child): Promise<ChildStartError> {
  const error = await child.ready.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ChildStartError)
  return error as ChildStartError
}

test('a child is ready once it says so, with what else it says; its output is in the log', async () => {
  const child = start('ready')
  expect(await child.ready).toEqual({ ready: true, port: 4711 })
  expect(child.pid).toBeGreaterThan(0)
  expect(readFileSync(join(dir, 'thing.log'), 'utf8')).toBe('serving\n')
})

test('other lines on the channel, and a ready line in two pieces, do no harm', async () => {
  expect(await start('noise-then-ready').ready).toEqual({ ready: true })
})

test('a child that exits first is an error with its exit code and its last lines', async () => {
  const error = await failure(start('exit-early'))
  expect(error.reason).toBe('exit')
  expect(error.message).toBe('thing exited with code 3 before it was ready')
  expect(error.tail).toHaveLength(15)
  expect(error.tail.at(-1)).toBe('line 40')
})

test('the last lines are those of this run, not of an earlier one', async () => {
  await failure(start('exit-early'))
  const child = start('never-ready')
  child.signal('SIGKILL')
  const error = await failure(child)
  expect(error.message).toBe('thing was ended by SIGKILL before it was ready')
  expect(error.tail.join()).not.toContain('line 40')
})

test('a child that is not ready in time is killed', async () => {
  const clock = new FakeClock()
  const child = start('never-ready', { readyTimeoutMs: 5000 }, clock)
  await clock.step(5000)
  const error = await failure(child)
  expect(error.reason).toBe('timeout')
  expect(error.message).toBe('thing was not ready after 5 s')
  expect(await child.exited).toEqual({ code: undefined, signal: 'SIGKILL' })
})

test('a command that does not exist is an error that says so', async () => {
  const child = start('ready', { command: join(dir, 'missing') })
  const error = await failure(child)
  expect(error.reason).toBe('spawn')
  expect(error.message).toContain('ENOENT')
  expect(child.pid).toBeUndefined()
})

testOn('unix', 'SIGSTOP')('stop ends a child by TERM, also one that is paused', async () => {
  const child = start('ready')
  await child.ready
  child.signal('SIGSTOP')
  expect(await child.stop()).toEqual({ code: undefined, signal: 'SIGTERM' })
})

test('a child that ignores TERM is killed after the stop timeout, not before', async () => {
  const clock = new FakeClock()
  const child = start('ignore-term', { stopTimeoutMs: 3000 }, clock)
  await child.ready
  const stopping = child.stop()
  await clock.step(2999)
  await expect.poll(() => readFileSync(join(dir, 'thing.log'), 'utf8')).toContain('TERM ignored')
  await clock.step(1)
  expect(await stopping).toEqual({ code: undefined, signal: 'SIGKILL' })
})

test('where signals cannot stop a child, the end of its channel does', async () => {
  const child = start('channel-ends', { stopBy: 'channel' })
  await child.ready
  expect(await child.stop()).toEqual({ code: 0, signal: undefined })
})

test('a child that ignores the end of its channel is killed after the stop timeout', async () => {
  const clock = new FakeClock()
  const child = start('ignore-term', { stopBy: 'channel', stopTimeoutMs: 3000 }, clock)
  await child.ready
  const stopping = child.stop()
  await clock.step(3000)
  expect(await stopping).toEqual({ code: undefined, signal: 'SIGKILL' })
})

test('stop called twice is one stop', async () => {
  const child = start('ready')
  await child.ready
  expect(child.stop()).toBe(child.stop())
})

test('what keeps a child from becoming ready does not count against its time', async () => {
  const clock = new FakeClock()
  let unhinderedSinceMs: number | undefined
  const limits = { readyTimeoutMs: 30_000, unhinderedSinceMs: () => unhinderedSinceMs }
  const child = start('never-ready', limits, clock)
  await clock.step(300_000)
  expect(identify(child.pid ?? 0)).toBeDefined()
  unhinderedSinceMs = clock.now() + 10_000
  await clock.step(39_999)
  expect(identify(child.pid ?? 0)).toBeDefined()
  await clock.step(1)
  expect((await failure(child)).message).toBe('thing was not ready after 30 s')
})
