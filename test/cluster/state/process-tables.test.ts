/** Process tables: what each system says about real processes, and what is read from its output. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  endProcesses,
  identify,
  isAlive,
  lookAt,
  processesMarked,
  signalProcess,
} from '../../../cluster/state/process-identity.ts'
import { pidsAlone } from '../../../cluster/state/processes/pids-alone.ts'
import { procFiles } from '../../../cluster/state/processes/proc-files.ts'
import type { ProcessTable } from '../../../cluster/state/processes/process-table.ts'
import { psListing } from '../../../cluster/state/processes/ps-listing.ts'
import { processTableOf } from '../../../cluster/state/processes/system-processes.ts'
import { windowsProcesses } from '../../../cluster/state/processes/windows-processes.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testOn } from '../../support/test-on.ts'

const clock = systemClock

/** A process that does nothing until it is ended. */
function idle(environment: NodeJS.ProcessEnv = {}): ChildProcess & { readonly pid: number } {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
    detached: true,
    stdio: 'ignore',
    env: { ...process.env, ...environment },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  if (child.pid === undefined) throw new Error('the process did not start')
  return child as ChildProcess & { readonly pid: number }
}

async function ended(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** What PowerShell would print, from the processes of this machine. */
const powerShell = (command: string): string => {
  const pid = Number(/-Id (\d+)/.exec(command)?.[1])
  return `${procFiles('/proc').startTimeOf(pid) ?? ''}\r\n`
}

const tables: readonly (readonly [string, ProcessTable])[] = [
  ['the files of /proc', procFiles('/proc')],
  ['ps', psListing('linux')],
  ['PowerShell', windowsProcesses(powerShell)],
  ['pids alone', pidsAlone()],
]

describe.each(tables)('by %s', (name, table) => {
  const here = testOn('linux', `processes by ${name}`)
  here('a process is known from its start to its end', async () => {
    const child = idle()
    const identity = identify(child.pid, table)
    expect(identity).toMatchObject({ pid: child.pid })
    expect(isAlive(identity ?? { pid: 0, startTime: '' }, table)).toBe(true)
    await ended(child)
    expect(identify(child.pid, table)).toBeUndefined()
    expect(isAlive(identity ?? { pid: 0, startTime: '' }, table)).toBe(false)
  })
  here('its end is seen by whoever looks again and again', async () => {
    const child = idle()
    const identity = identify(child.pid, table)
    if (identity === undefined) throw new Error('it runs')
    const runs = lookAt(identity, new FakeClock(), table)
    expect([runs(), runs()]).toEqual([true, true])
    await ended(child)
    expect(runs()).toBe(false)
  })
  here('processes are ended, also one that ignores TERM', async () => {
    const meek = idle()
    const stubborn = spawn(
      process.execPath,
      ['-e', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up')"],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    )
    onTestFinished(() => void stubborn.kill('SIGKILL'))
    await once(stubborn.stdout, 'data')
    const exits = Promise.all([once(meek, 'exit'), once(stubborn, 'exit')])
    const both = [meek.pid, stubborn.pid ?? 0].flatMap((pid) => identify(pid, table) ?? [])
    expect(await endProcesses(both, { clock, graceMs: 200, table })).toBe(2)
    expect((await exits).map(([, signal]) => signal as string)).toEqual(['SIGTERM', 'SIGKILL'])
  })
})

describe('a process that got the pid of one that has ended', () => {
  const here = testOn('linux', 'pids that were used before')
  here.each(tables.slice(0, 3))('by %s: is not taken for it, and gets no signal', (_, table) => {
    const child = idle()
    const earlier = { pid: child.pid, startTime: 'long ago' }
    expect(isAlive(earlier, table)).toBe(false)
    expect(signalProcess(earlier, 'SIGKILL', table)).toBe(false)
    expect(child.signalCode).toBeNull()
  })
})

describe('a cluster mark in the environment', () => {
  const here = testOn('linux', 'marks in environments')
  here.each(tables.slice(0, 2))('by %s: finds a process', async (_, table) => {
    const id = clock.uuid()
    const child = idle({ SKIFF_CLUSTER_ID: id })
    await eventually(() =>
      expect(processesMarked(id, table).map(({ pid }) => pid)).toEqual([child.pid]),
    )
    expect(processesMarked(id.slice(1), table)).toEqual([])
  })
  test.each(tables.slice(2))('by %s: shows nothing', (_, table) => {
    expect(processesMarked(clock.uuid(), table)).toEqual([])
  })
})

describe('a process group', () => {
  const here = testOn('linux', 'process groups')
  here.each(tables)('by %s: lives as long as a process in it', async (_, table) => {
    const child = idle()
    await eventually(() => expect(table.hasGroup(child.pid)).toBe(true))
    await ended(child)
    expect(table.hasGroup(child.pid)).toBe(false)
  })
})

describe('the output of ps', () => {
  const started = 'Mon Nov 23 05:55:01 2026    '
  test('is asked for in one language and time zone, a column at a time, and for environments as BSD does', () => {
    const asked: (readonly string[])[] = []
    const table = psListing('darwin', (words) => {
      asked.push(words)
      return ''
    })
    table.startTimeOf(7)
    table.withVariable('A', 'b')
    expect(asked).toEqual([
      ['-o', 'stat=', '-o', 'lstart=', '-p', '7'],
      ['-A', '-E', '-ww', '-o', 'pid=', '-o', 'command='],
    ])
  })
  test.each([
    [`Ss   ${started}\n`, started.trim()],
    [`Z+   ${started}\n`, undefined],
    ['', undefined],
  ])('%j: the process started at %s', (output, expected) => {
    expect(psListing('darwin', () => output).startTimeOf(7)).toBe(expected)
  })
  test('says the same whatever the language and the time zone of the user', () => {
    const before = { TZ: process.env['TZ'], LC_ALL: process.env['LC_ALL'] }
    const seen = ['Asia/Tokyo', 'America/Lima'].map((zone) => {
      Object.assign(process.env, { TZ: zone, LC_ALL: 'fr_FR.UTF-8' })
      return psListing('linux').startTimeOf(process.pid)
    })
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    expect(seen[0]).toBe(seen[1])
  })
  test('finds a mark as a whole word only', () => {
    const rows = '   12 node a.js SKIFF=one HOME=/\n   13 node b.js SKIFF=one-more\n'
    expect(psListing('darwin', () => rows).withVariable('SKIFF', 'one')).toEqual([12])
  })
})

test('where a look is slow, a process is looked at every five seconds, and its pid in between', async () => {
  let looks = 0
  const table: ProcessTable = {
    ...pidsAlone(),
    isSlow: true,
    startTimeOf: () => {
      looks += 1
      return 'then'
    },
  }
  const now = new FakeClock()
  const runs = lookAt({ pid: process.pid, startTime: 'then' }, now, table)
  for (let at = 0; at < 100; at += 1) {
    expect(runs()).toBe(true)
    await now.step(100)
  }
  expect(looks).toBe(2)
})

test('each system has its table; a Linux without /proc has pids alone', () => {
  const empty = temporaryFolder('proc')
  const of = (platform: NodeJS.Platform, procFolder: string): string =>
    processTableOf({ platform, procFolder }).startTimeOf.toString()
  expect(of('linux', empty)).toBe(pidsAlone().startTimeOf.toString())
  expect(of('darwin', empty)).toBe(psListing('darwin').startTimeOf.toString())
  expect(of('win32', empty)).toBe(windowsProcesses().startTimeOf.toString())
  if (existsSync(join('/proc', 'self', 'stat')))
    expect(of('linux', '/proc')).toBe(procFiles('/proc').startTimeOf.toString())
})
