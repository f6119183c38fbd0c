/** --config of the scheduler's process: a file that cannot be used ends the start with one line. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'

const folder = temporaryFolder('scheduler-config')

async function startWith(text: string): Promise<{ code: number; stderr: string; path: string }> {
  const path = join(folder, 'config.yaml')
  writeFileSync(path, text)
  const child = spawn(
    process.execPath,
    [resolve('components/scheduler/main.ts'), `--config=${path}`],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number]
  return { code, stderr, path }
}

const head = 'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n'

const cases: [string, string, string][] = [
  [
    'an invalid field',
    `${head}parallelism: -1\n`,
    'parallelism: Invalid value: -1: should be an integer value greater than zero',
  ],
  [
    'an unknown field',
    `${head}paralelism: 1\n`,
    'strict decoding error: unknown field "paralelism"',
  ],
  ['text that is no YAML', 'a: [', 'config.yaml: '],
]

test.each(cases)(
  '%s ends the process with one line that names the file',
  async (_title, text, message) => {
    const { code, stderr, path } = await startWith(text)
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect(stderr).toContain(`scheduler: --config ${path}: `)
    expect(stderr).toContain(message)
    expect(code).toBe(1)
  },
)

test('a sound file goes on to the connection', async () => {
  const { stderr } = await startWith(`${head}profiles:\n- schedulerName: mine\n`)
  expect(stderr).toContain('--kubeconfig is required')
})

test('flag values as a JSON object are still read', async () => {
  const { stderr } = await startWith('{"parallelism": "many"}')
  expect(stderr).toContain('parallelism')
})
