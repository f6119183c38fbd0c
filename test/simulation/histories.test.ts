/** The history of a seed does not depend on the machine: two processes that differ as far as one machine allows print the same hashes. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { stories } from './stories.ts'

const script = join(import.meta.dirname, '../../scripts/histories.ts')
const run = promisify(execFile)

async function histories(
  flags: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<string[]> {
  const env = { ...process.env, ...environment }
  const { stdout } = await run(process.execPath, [...flags, script], { env })
  return stdout.trim().split('\n')
}

it('a slow machine with little memory, in another zone and language, writes the same', async () => {
  const slow = ['--no-opt', '--max-semi-space-size=1']
  const elsewhere = { TZ: 'Asia/Kathmandu', LC_ALL: 'tr_TR.UTF-8', UV_THREADPOOL_SIZE: '1' }
  const [here, there] = await Promise.all([
    histories([], { TZ: 'UTC' }),
    histories(slow, elsewhere),
  ])
  expect(here.map((line) => line.split(' ')[0])).toEqual(Object.keys(stories))
  expect(there).toEqual(here)
}, 300_000)
