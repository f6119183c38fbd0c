/** `skiff logs -f`: what it shows, and when it ends. `log-rotation.test.ts` has what rotation does to it. */
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { logs } from '../../../cluster/cli/logs.ts'
import { runCli } from '../../../cluster/cli/run-cli.ts'
import type { Terminal } from '../../../cluster/cli/terminal.ts'
import { acquireLock, releaseLock } from '../../../cluster/state/lock.ts'
import { logOf, statePaths } from '../../../cluster/state/state-dir.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Follows the logs of a cluster that does not run yet, of which one component has logged a line. */
async function followed() {
  const stateRoot = temporaryFolder('state')
  const paths = statePaths(stateRoot, 'lab')
  mkdirSync(paths.logs, { recursive: true })
  const log = logOf(paths, 'thing')
  writeFileSync(log, 'one\n')
  const shown: string[] = []
  const show = (text: string): void => void shown.push(text)
  const clock = new FakeClock()
  const { signal } = new AbortController()
  const commands = [{ name: 'logs', summary: '', load: async () => [logs] }]
  const ended = runCli(commands, ['logs', '--name=lab', '-f'], {
    terminal: { out: show, err: show } as Terminal,
    ...{ clock, stateRoot, environment: {}, program: 'skiff', signal },
  })
  const exit = { code: undefined as number | undefined }
  const over = ended.then((code) => (exit.code = code))
  await eventually(() => expect(shown).toEqual(['one\n']))
  return { paths, log, shown, clock, exit, over }
}

test('skiff logs -f ends when the cluster stops, with what was logged last, also by what was added, and not before it ran', async () => {
  const { paths, log, shown, clock, exit, over } = await followed()
  await clock.step(5000)
  acquireLock(paths, clock)
  await clock.step(5000)
  expect(exit.code).toBeUndefined()
  writeFileSync(logOf(paths, 'new'), 'first\n')
  await eventually(() => expect(shown).toHaveLength(2))
  appendFileSync(log, 'last\n')
  releaseLock(paths)
  await clock.step(1000)
  await over
  expect(exit.code).toBe(0)
  expect(shown).toEqual([
    ...['one\n', 'new   first\n', 'thing last\n'],
    'the cluster "lab" has stopped\n',
  ])
})

test('skiff logs -f ends when the cluster is removed, though it did not run', async () => {
  const { paths, shown, clock, exit, over } = await followed()
  rmSync(paths.dir, { recursive: true })
  await clock.step(1000)
  await over
  expect(exit.code).toBe(0)
  expect(shown).toEqual(['one\n', 'the cluster "lab" has stopped\n'])
})
