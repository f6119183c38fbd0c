/** Commands of the supervisor to a component that runs as a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Duplex, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { startChild } from '../../../cluster/supervisor/child-process.ts'
import type { Child } from '../../../cluster/supervisor/child-process.ts'
import { startsWhenToldVariable } from '../../../components/component-base/component.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const base = join(import.meta.dirname, '../../../components/component-base')
const folder = temporaryFolder('child-commands')
let child: Child
afterEach(async () => {
  child.signal('SIGKILL')
  await child.exited
})

/** A component with the commands `double`, `refuse` and `never`. */
function componentFile(): string {
  const program = join(folder, 'component.ts')
  writeFileSync(
    program,
    `import { runComponent } from ${JSON.stringify(join(base, 'component.ts'))}
await runComponent({
  name: 'thing',
  flags: {},
  run: async ({ commands, signal, ready }) => {
    commands.on('double', async ({ value }) => ({ value: 2 * value }))
    commands.on('refuse', async () => { throw new Error('value must be even') })
    commands.on('never', () => new Promise(() => {}))
    ready()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  },
})
`,
  )
  return program
}

async function start(environment: Record<string, string> = {}): Promise<Child> {
  child = startChild(
    {
      name: 'thing',
      command: process.execPath,
      args: [componentFile()],
      environment,
      logFile: join(folder, 'thing.log'),
      stopTimeoutMs: 20_000,
    },
    systemClock,
  )
  if (environment[startsWhenToldVariable] === undefined) await child.ready
  return child
}

test('a component answers commands while it runs, several at once', async () => {
  const { command } = await start()
  const answers = await Promise.all([1, 2, 3].map((value) => command('double', { value })))
  expect(answers).toEqual([{ value: 2 }, { value: 4 }, { value: 6 }])
})

test('a refused and an unknown command reject with the reason', async () => {
  const { command } = await start()
  await expect(command('refuse', {})).rejects.toMatchObject({
    why: 'refused',
    message: 'value must be even',
  })
  await expect(command('fly', {})).rejects.toMatchObject({
    why: 'unknown',
    message: 'unknown command fly',
  })
})

test('what a component has not answered when it ends is rejected, and so is what comes later', async () => {
  const { command, signal, exited } = await start()
  const unanswered = expect(command('never', {})).rejects.toMatchObject({ why: 'ended' })
  signal('SIGKILL')
  await unanswered
  await exited
  await expect(command('double', { value: 1 })).rejects.toMatchObject({
    why: 'ended',
    message: 'thing has ended',
  })
})

test('the channel keeps no component alive that has been stopped', async () => {
  const { stop } = await start()
  expect(await stop()).toEqual({ code: 0, signal: undefined })
})

test('a component that starts when told waits for it, and is stopped before as any other', async () => {
  const { ready, command, stop } = await start({ [startsWhenToldVariable]: '1' })
  await expect(command('double', { value: 1 })).rejects.toMatchObject({ why: 'unknown' })
  await command('start', {})
  await ready
  expect(await command('double', { value: 1 })).toEqual({ value: 2 })
  await stop()
  const waiting = await start({ [startsWhenToldVariable]: '1' })
  await expect(waiting.command('double', {})).rejects.toMatchObject({ why: 'unknown' })
  expect(await waiting.stop()).toEqual({ code: 0, signal: undefined })
})

test('a component that waits for its start ends with the process that would tell it', async () => {
  const waiting = spawn(process.execPath, [componentFile()], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: { ...process.env, [startsWhenToldVariable]: '1' },
  })
  const said = text(waiting.stderr as Readable)
  const channel = waiting.stdio[3] as Duplex
  channel.write(`${JSON.stringify({ command: 'double', id: 1, params: {} })}\n`)
  await once(channel, 'data')
  channel.destroy()
  expect(await once(waiting, 'exit')).toEqual([1, null])
  expect(await said).toContain('thing: the process that started it is gone')
})
