import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clusterCommands } from '../../../cluster/cli/commands.ts'
import { exitCodes } from '../../../cluster/cli/exit-codes.ts'
import { runCli } from '../../../cluster/cli/run-cli.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** What `skiff fault add -f faults.yaml` says of a file that it refuses. */
async function refusal(text: string): Promise<string> {
  const folder = temporaryFolder('faults')
  const file = join(folder, 'faults.yaml')
  writeFileSync(file, text)
  let stderr = ''
  const code = await runCli(clusterCommands, ['fault', 'add', '-f', file], {
    terminal: {
      out: () => {},
      err: (line) => void (stderr += line),
      isInteractive: false,
      outColors: false,
      errColors: false,
      columns: 100,
    },
    clock: systemClock,
    stateRoot: join(folder, 'skiff'),
    environment: { HOME: folder },
    program: 'skiff',
    signal: new AbortController().signal,
  })
  expect(code).toBe(exitCodes.usage)
  return stderr.replaceAll(`${folder}/`, '')
}

const clock = (aheadMs: number): string =>
  `kind: clock\nfault: { part: node-1, aheadMs: ${aheadMs} }\n`

test('faults of a file that contradict each other are refused with both lines', async () => {
  expect(await refusal(`# two\n${clock(5)}---\n${clock(7)}`)).toContain(
    "faults.yaml:5 contradicts faults.yaml:2: both set node-1's clock",
  )
  const one = 'kind: store, fault: { fail: true }'
  expect(await refusal(`- { ${one} }\n\n- { ${one} }\n`)).toContain(
    'faults.yaml:3 contradicts faults.yaml:1: ',
  )
})

test('a wrong fault of a file is refused with its line', async () => {
  expect(await refusal(`${clock(5)}---\n${clock(0)}`)).toContain('invalid fault in faults.yaml:4: ')
  expect(await refusal('kind: [')).toContain('faults.yaml:1 is not YAML: ')
})
