/** The action: what a job that uses it gets, and that nothing of it outlives the job. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../e2e/program.ts'
import { eventually } from '../support/eventually.ts'
import { inTurn } from '../support/start-turn.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { packedOnce, root, userEnvironment } from './packed.ts'

interface Action {
  readonly inputs: Readonly<Record<string, { readonly default?: string }>>
  readonly runs: {
    readonly steps: readonly {
      readonly run: string
      readonly env: Readonly<Record<string, string>>
    }[]
  }
}

/** The shells that the service would run for these inputs. */
function shellsOf(inputs: Readonly<Record<string, string>>): object[] {
  const action = load(readFileSync(join(root, 'action.yml'), 'utf8')) as Action
  const values: Record<string, string> = { 'github.action_path': root }
  for (const [name, { default: value = '' }] of Object.entries(action.inputs)) {
    values[`inputs.${name}`] = inputs[name] ?? value
  }
  const filled = (text: string): string =>
    text.replaceAll(/\$\{\{ (\S+) \}\}/g, (_, name: string) => {
      const value = values[name]
      if (value === undefined) throw new Error(`the action reads ${name}`)
      return value
    })
  return action.runs.steps.map(({ run: script, env }) => ({
    script: filled(script),
    env: Object.fromEntries(Object.entries(env).map(([name, text]) => [name, filled(text)])),
  }))
}

test('a job that uses the action finds a cluster in KUBECONFIG, which is gone soon after the job', async () => {
  const tarball = await packedOnce()
  const home = temporaryFolder('job')
  const file = (name: string): string => join(home, name)
  for (const name of ['env', 'path', 'output']) writeFileSync(file(name), '')
  mkdirSync(file('runner'))
  writeFileSync(
    file('shells.json'),
    JSON.stringify(shellsOf({ version: tarball, nodes: '1', flags: '--wait 2m' })),
  )
  const env = {
    ...userEnvironment(home),
    npm_config_offline: 'true',
    RUNNER_TEMP: file('runner'),
    GITHUB_ENV: file('env'),
    GITHUB_PATH: file('path'),
    GITHUB_OUTPUT: file('output'),
  }
  const script = join(import.meta.dirname, 'fixtures', 'runner.ts')
  const runner = spawn(process.execPath, [script, file('shells.json')], { cwd: home, env })
  onTestFinished(() => void runner.kill())
  const [said] = (await inTurn(async () => await once(runner.stdout, 'data'))) as [Buffer]
  expect(said.toString()).toBe('done\n')

  const kubeconfig = /^KUBECONFIG=(.+)$/m.exec(readFileSync(file('env'), 'utf8'))?.[1] ?? ''
  const output = readFileSync(file('output'), 'utf8')
  expect(output).toContain(`kubeconfig=${kubeconfig}\n`)
  expect(output).toMatch(/^server=https:\/\/127\.0\.0\.1:\d+$/m)
  expect(readFileSync(kubeconfig, 'utf8')).toContain('client-certificate')
  const skiff = join(readFileSync(file('path'), 'utf8').trim(), '../kube-skiff/bin/skiff.js')
  const status = await run(process.execPath, [skiff, 'status'], { env, timeoutMs: 60_000 })
  expect(status).toMatchObject({ code: 0, stderr: '' })

  runner.stdin.end()
  await once(runner, 'exit')
  const clusters = join(home, '.local', 'state', 'skiff', 'clusters')
  await eventually(() => {
    expect(existsSync(clusters) ? readdirSync(clusters) : []).toEqual([])
  }, 20_000)
})
