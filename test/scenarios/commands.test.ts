/** Commands of a scenario: run to their end, or kept running; nothing of them is left, however the scenario ends. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../components/component-base/clock.ts'
import { processesMarked } from '../../cluster/state/process-identity.ts'
import { builtOnce } from '../e2e/built.ts'
import { processesIn } from '../e2e/machine.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { play } from './play.ts'

let folder: string
let id: string
beforeAll(builtOnce)
beforeEach(() => {
  folder = temporaryFolder('commands')
  id = systemClock.uuid()
})

const failureOf = (result: Awaited<ReturnType<typeof play>>): string =>
  [...result.failure, ...result.steps.flatMap((step) => step.failure)].join('\n')

test('a command has the kubeconfig, the environment it is given, and the scenario’s folder', async () => {
  writeFileSync(join(folder, 'tool.sh'), '#!/bin/sh\necho "$KUBECONFIG|$COLOR|$1"; cat\n', {
    mode: 0o755,
  })
  const result = await play(
    folder,
    `
  - run:
      command: [./tool.sh, 7]
      env: { COLOR: true }
      input: text for it
      expect: { stdout: 'kubeconfig|true|7' }
      save: { said: stdout }
  - run: { command: 'test "$SAID" = "${'${said}'}"', env: { SAID: '${'${said}'}' } }
`,
  )
  expect(failureOf(result)).toBe('')
  expect(result.steps[1]?.title).toContain(`${join(folder, 'kubeconfig')}|true|7\ntext for it`)
  expect(readdirSync(join(folder, 'logs'))).toEqual([])
})

test('a TypeScript file runs with the paths of its own tsconfig, and with enums', async () => {
  mkdirSync(join(folder, 'lib'))
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { paths: { '@lib/*': ['./lib/*'] } } }),
  )
  writeFileSync(join(folder, 'lib', 'phase.ts'), "export enum Phase { Ready = 'is ready' }\n")
  writeFileSync(
    join(folder, 'operator.ts'),
    "import { Phase } from '@lib/phase'\nconsole.log(process.argv[2], Phase.Ready)\n",
  )
  const result = await play(
    folder,
    `  - run: { command: [operator.ts, web], expect: { stdout: web is ready } }\n` +
      `  - run: { command: [./operator.ts, db], expect: { stdout: db is ready } }\n`,
  )
  expect(failureOf(result)).toBe('')
})

test('another exit code, output or error than expected fails, and shows what it said', async () => {
  const result = await play(
    folder,
    `  - run: 'echo out; echo err >&2; exit 3'\n`
      .replace("run: '", "run: { command: '")
      .replace("3'", "3' }"),
  )
  expect(result.steps[0]?.failure).toEqual([
    'echo out; echo err >&2; exit 3 had another outcome than expected',
    'expected:',
    '  exit code 0',
    'there was:',
    '  it ended with exit code 3',
    '  out',
    '  err',
  ])
  const missing = await play(folder, `  - run: { command: [no-such-program-here] }\n`)
  expect(failureOf(missing)).toContain('it could not be started: spawn no-such-program-here ENOENT')
})

test('a command that takes too long is ended with everything it has started', async () => {
  const result = await play(
    folder,
    `  - run: { command: 'sleep 1000 & sleep 1000', within: 300ms }\n`,
    { id },
  )
  expect(failureOf(result)).toBe('sleep 1000 & sleep 1000 had not ended after 0.3 s')
  expect(processesMarked(id)).toEqual([])
})

test('a process is kept until the end of the scenario, and ended with its whole group', async () => {
  const result = await play(
    folder,
    `
  - process: { name: operator, command: 'sleep 1000 & sleep 1000 & echo ready to serve; wait', ready: 'ready to \\w+' }
  - run: { command: 'ps -o pid= -C sleep | wc -l' , save: { count: stdout } }
`,
    { id },
  )
  expect(failureOf(result)).toBe('')
  expect(processesMarked(id)).toEqual([])
  expect(readFileSync(join(folder, 'logs', 'process-operator.log'), 'utf8')).toBe(
    'ready to serve\n',
  )
})

test('what a process wrote is in the report of a failure, and only of one', async () => {
  const steps = `
  - process: { name: operator, command: 'echo reconciling; sleep 1000', ready: reconciling }
  - run: { command: 'exit 1' }
`
  const failed = await play(folder, steps, { id })
  expect(failed.steps[1]?.failure.slice(-2)).toEqual(['output of operator:', '  reconciling'])
  const passed = await play(folder, steps.replace('exit 1', 'exit 0'), { id })
  expect(JSON.stringify(passed)).not.toContain('output of operator')
  expect(processesMarked(id)).toEqual([])
})

test('a process that ends by itself fails the step that is running, at once', async () => {
  const result = await play(
    folder,
    `
  - process: { name: operator, command: 'echo up; read line < go; echo no more; exit 4', ready: up }
  - together:
      release: [run: { command: 'echo > go' }]
      wait: [sleep: 100s]
`.replace('  - process', `  - run: { command: 'mkfifo go' }\n  - process`),
    { id },
  )
  expect(result.outcome).toBe('failed')
  expect(failureOf(result)).toContain('process operator ended with exit code 4')
  expect(failureOf(result)).toContain('  no more')
  expect(result.durationMs).toBeLessThan(60_000)
})

test('a process that is never ready, or ends before, fails its own step with its output', async () => {
  const silent = await play(
    folder,
    `  - process: { name: w, command: 'echo hm; sleep 1000', ready: yes, within: 300ms }\n`,
    { id },
  )
  expect(failureOf(silent)).toContain('process w was not ready after 0.3 s')
  expect(failureOf(silent)).toContain('  hm')
  const ended = await play(folder, `  - process: { name: w, command: 'exit 5', ready: up }\n`)
  expect(failureOf(ended)).toContain('process w ended with exit code 5')
  expect(processesMarked(id)).toEqual([])
})

test('a process can be stopped or killed by a step, and started again', async () => {
  const result = await play(
    folder,
    `
  - process: { name: operator, command: 'echo one; sleep 1000', ready: one }
  - process: { kill: operator }
  - process: { name: operator, command: 'echo two; sleep 1000', ready: two }
  - process: { stop: operator }
  - fails: 'there is no process "operator"; processes: none'
    process: { stop: operator }
`,
    { id },
  )
  expect(failureOf(result)).toBe('')
  expect(processesMarked(id)).toEqual([])
})

test('an interrupted scenario leaves no process', async () => {
  const stop = new AbortController()
  const playing = play(
    folder,
    `
  - process: { name: kept, command: 'sleep 1000 & sleep 1000' }
  - run: { command: 'touch running; sleep 1000' }
`,
    { id, signal: stop.signal },
  )
  await eventually(() => expect(existsSync(join(folder, 'running'))).toBe(true))
  expect(processesMarked(id).length).toBeGreaterThanOrEqual(4)
  stop.abort(new Error('interrupted'))
  await expect(playing).rejects.toThrow('interrupted')
  expect(processesMarked(id)).toEqual([])
})

test('a runner that is killed leaves no process, also none that ignores TERM', async () => {
  const script = join(import.meta.dirname, 'fixtures', 'runner.ts')
  const runner = spawn(process.execPath, [script, folder, id], { stdio: 'inherit' })
  onTestFinished(() => void runner.kill('SIGKILL'))
  await eventually(() => expect(existsSync(join(folder, 'running'))).toBe(true))
  expect(processesMarked(id).length).toBeGreaterThanOrEqual(4)
  runner.kill('SIGKILL')
  await eventually(() => expect(processesMarked(id)).toEqual([]))
  await eventually(() => expect(processesIn(folder)).toEqual([]))
})
