/** One supervisor per state directory: it holds the lock for its whole life, and the control socket is its own. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { createConnection, createServer } from 'node:net'
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { connectControl } from '../../../cluster/control-client.ts'
import { serveControl } from '../../../cluster/supervisor/control-server.ts'
import { launchCluster } from '../../../cluster/launch.ts'
import { readStatusLines } from '../../../cluster/lines.ts'
import { acquireLock, lockHolder } from '../../../cluster/state/lock.ts'
import { createStateDir, statePaths } from '../../../cluster/state/state-dir.ts'
import type { StatePaths } from '../../../cluster/state/state-dir.ts'
import { stopCluster } from '../../../cluster/take-down.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { fixtureLaunch, fixturePrograms, temporaryStateRoot } from '../temporary-state.ts'

interface Supervisor {
  readonly process: ChildProcess
  /** `ready`, or what it said when it ended instead. */
  readonly outcome: Promise<string>
}

/** A supervisor as somebody starts it by hand, without the lock. */
function superviseByHand(paths: StatePaths): Supervisor {
  const { supervisor, folder } = fixturePrograms
  const args = [supervisor, `--state-dir=${paths.dir}`, `--programs-dir=${folder}`]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const outcome = new Promise<string>((resolve) => {
    void readStatusLines(child.stdio[3] as Readable, (status) => {
      if (status['ready'] === true) resolve('ready')
    })
    child.once('close', (code) => resolve(`${code}: ${errors}`))
  })
  return { process: child, outcome }
}

async function answers(paths: StatePaths): Promise<boolean> {
  const control = await connectControl(paths)
  const { components } = await control.call('status', {})
  control.close()
  return components.length > 0
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  await new Promise((resolve) => child.once('exit', resolve))
}

/** A cluster without a process: what a stop leaves. */
async function stoppedCluster(): Promise<StatePaths> {
  const { paths, control } = await launchCluster(fixtureLaunch(temporaryStateRoot(), { nodes: 0 }))
  await stopCluster(paths, { clock: systemClock })
  await control.closed
  return paths
}

test('a second supervisor refuses to start; the first one keeps the lock and the control socket', async () => {
  const first = await launchCluster(fixtureLaunch(temporaryStateRoot(), { nodes: 0 }))
  const holder = lockHolder(first.paths)
  const socket = statSync(first.paths.socket).ino
  const second = superviseByHand(first.paths)
  expect(await second.outcome).toContain(`1: supervisor: pid ${holder?.pid} holds `)
  expect(lockHolder(first.paths)).toEqual(holder)
  expect(statSync(first.paths.socket).ino).toBe(socket)
  expect(await answers(first.paths)).toBe(true)
})

test('without its lock file the first supervisor still keeps the control socket', async () => {
  const first = await launchCluster(fixtureLaunch(temporaryStateRoot(), { nodes: 0 }))
  const socket = statSync(first.paths.socket).ino
  rmSync(first.paths.lock)
  const second = superviseByHand(first.paths)
  expect(await second.outcome).toContain('another supervisor listens on control.sock')
  expect(statSync(first.paths.socket).ino).toBe(socket)
  expect(await answers(first.paths)).toBe(true)
})

test('of supervisors that start at the same time one supervises, the others end', async () => {
  const paths = await stoppedCluster()
  const all = Array.from({ length: 4 }, () => superviseByHand(paths))
  const outcomes = await Promise.all(all.map((one) => one.outcome))
  const winners = all.filter((_, index) => outcomes[index] === 'ready')
  expect(outcomes.filter((outcome) => outcome !== 'ready').length).toBe(3)
  expect(lockHolder(paths)?.pid).toBe(winners[0]?.process.pid)
  expect(await answers(paths)).toBe(true)
})

test('after kill -9 of a supervisor the next one takes over its lock and its socket', async () => {
  const paths = await stoppedCluster()
  const first = superviseByHand(paths)
  expect(await first.outcome).toBe('ready')
  first.process.kill('SIGKILL')
  await ended(first.process)
  expect(existsSync(paths.socket)).toBe(true)
  const second = superviseByHand(paths)
  expect(await second.outcome).toBe('ready')
  expect(lockHolder(paths)?.pid).toBe(second.process.pid)
  expect(await answers(paths)).toBe(true)
})

test('a supervisor that is stopped by SIGSTOP keeps its socket', async () => {
  const paths = await stoppedCluster()
  const first = superviseByHand(paths)
  expect(await first.outcome).toBe('ready')
  first.process.kill('SIGSTOP')
  rmSync(paths.lock)
  const second = superviseByHand(paths)
  expect(await second.outcome).toContain('another supervisor listens on control.sock')
  first.process.kill('SIGCONT')
  expect(await answers(paths)).toBe(true)
})

test('a socket that has a server is not replaced; one that a dead server left is', async () => {
  const paths = statePaths(temporaryStateRoot(), 'lab')
  createStateDir(paths)
  const handlers = { status: async () => ({ components: [] }) } as never
  const first = createServer()
  await new Promise<void>((resolve) => first.listen(paths.socket, resolve))
  await expect(serveControl(paths.socket, handlers)).rejects.toMatchObject({
    kind: 'already-exists',
  })
  await new Promise((resolve) => first.close(resolve))
  writeFileSync(paths.socket, '') // what is left of a server that was killed
  const second = await serveControl(paths.socket, handlers)
  const socket = createConnection(paths.socket)
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.destroy()
  await second.close()
})

test('of processes that take over the lock of a dead one at the same time exactly one has it, every time', async () => {
  const paths = statePaths(temporaryStateRoot(), 'lab')
  createStateDir(paths)
  const folder = join(import.meta.dirname, '../../../cluster/state')
  const code =
    `const { acquireLock } = await import(${JSON.stringify(join(folder, 'lock.ts'))});` +
    `const { pathsIn } = await import(${JSON.stringify(join(folder, 'state-dir.ts'))});` +
    `const { systemClock } = await import(${JSON.stringify(join(folder, '../../components/component-base/clock.ts'))});` +
    `const paths = pathsIn(${JSON.stringify(paths.dir)});` +
    `for await (const line of process.stdin) process.stdout.write(acquireLock(paths, systemClock).ok ? 'y' : 'n')`
  const takers = Array.from({ length: 3 }, () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', code])
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  })
  const dead = { pid: 1, startTime: 'before the world began' }
  for (let round = 0; round < 30; round += 1) {
    writeFileSync(paths.lock, JSON.stringify({ ...dead, startTime: `${dead.startTime} ${round}` }))
    const said = takers.map(
      (child) =>
        new Promise<string>((resolve) => {
          child.stdout.once('data', (data: Buffer) => resolve(data.toString()))
        }),
    )
    for (const child of takers) child.stdin.write('\n')
    const all = await Promise.all(said)
    expect(all.toSorted()).toEqual(['n', 'n', 'y'])
    expect(lockHolder(paths)?.pid).toBe(takers[all.indexOf('y')]?.pid)
  }
  expect(acquireLock(paths, systemClock)).toMatchObject({ ok: false })
  for (const child of takers) child.kill('SIGKILL')
  await eventually(() => expect(lockHolder(paths)).toBeUndefined())
})
