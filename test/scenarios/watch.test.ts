/** `skiff scenario watch`: a run at each save, of included files too. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { CommandContext } from '../../cluster/cli/command.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { processCluster } from '../../scenarios/engine/process-cluster.ts'
import { watchCommand } from '../../scenarios/engine/watch-command.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { playedProcesses } from './play.ts'

test('a save runs the scenario again, one during a run ends that run, and faults are printed', async () => {
  const folder = temporaryFolder('watch')
  const [file, part] = [join(folder, 'main.yaml'), join(folder, 'part.yaml')]
  const write = (path: string, sleep: string): void =>
    writeFileSync(path, `description: d\nsteps:\n  - ${sleep}\n`)
  write(part, 'sleep: 1ms')
  write(file, 'include: { file: part.yaml }')
  let shown = ''
  const stop = new AbortController()
  const context = {
    terminal: {
      out: (text: string) => void (shown += text),
      err: (text: string) => void (shown += text),
      errColors: false,
    },
    clock: systemClock,
    signal: stop.signal,
    stateRoot: folder,
  } as unknown as CommandContext
  const cluster = processCluster(playedProcesses(folder))
  const command = watchCommand(async () => async () => ({
    cluster,
    clock: systemClock,
    letGo: async () => {},
  }))
  const flags = { cluster: '', dialect: '', embedded: true }
  const running = command.run(context, { flags: flags as never, args: [file] })
  const count = (text: string): number => shown.split(text).length - 1
  await eventually(() => expect(count('waiting for a change')).toBe(1))
  expect(shown).toContain('✓ include part.yaml')
  write(part, 'sleep: 1h')
  await eventually(() => expect(count('main\n')).toBe(2))
  write(part, 'slep: 1ms')
  await eventually(() => expect(shown).toContain('unknown step; did you mean sleep?'))
  expect(shown).toContain('part.yaml:3:')
  write(part, 'sleep: 2ms')
  await eventually(() => expect(count('1 passed, 0 failed')).toBe(2))
  stop.abort(new Error('interrupted'))
  await running
})
