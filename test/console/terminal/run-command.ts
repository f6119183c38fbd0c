/** Runs a command line of `skiff` in this process, as one that writes to no terminal. */
import { runCli } from '../../../cluster/cli/run-cli.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { skiffCommands } from '../../../scripts/skiff/commands.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

export async function skiff(...words: readonly string[]): Promise<Ran> {
  const text = { out: '', err: '' }
  const code = await runCli(skiffCommands, words, {
    terminal: {
      out: (more) => void (text.out += more),
      err: (more) => void (text.err += more),
      isInteractive: false,
      outColors: false,
      errColors: false,
      columns: 100,
    },
    clock: systemClock,
    stateRoot: temporaryFolder('no-clusters'),
    environment: {},
    program: 'skiff',
    signal: new AbortController().signal,
  })
  return { code, ...text }
}
