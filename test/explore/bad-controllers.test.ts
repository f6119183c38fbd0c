/** Controllers that end, hang, ignore signals or flood their output are reported as such, and nothing of them is left. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemClock } from '../../components/component-base/clock.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { FollowedClock } from '../../components/component-base/followed-clock.ts'
import { commandController } from '../../explore/controller-under-test.ts'
import type { ControllerUnderTest } from '../../explore/controller-under-test.ts'
import { explore } from '../../explore/explore.ts'
import type { ExploreReport } from '../../explore/explore.ts'
import { describeFinding } from '../../explore/finding.ts'
import { parseStory } from '../../explore/story.ts'
import { listProcesses } from '../support/process-list.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { tinyController } from './tiny-controller.ts'

const story = parseStory(
  `
quiet: 1s
within: 5s
steps:
  - create: { apiVersion: v1, kind: ConfigMap, metadata: { name: app-a }, data: { size: '1' } }
`,
  'story.yaml',
)

async function explored(
  controller: ControllerUnderTest,
  {
    clock = systemClock,
    signal = new AbortController().signal,
  }: { clock?: Clock; signal?: AbortSignal } = {},
): Promise<ExploreReport> {
  return await explore({
    story,
    controller,
    kinds: ['kill'],
    mixes: { count: 0, seed: 1 },
    jobs: 1,
    timeMs: Infinity,
    mostPlans: 100,
    stopsAtFirst: true,
    clock,
    signal,
  })
}

/** A program in a folder of its own: each instance adds its process id to the file `pids`. */
function program(source: string): { controller: ControllerUnderTest; pids: () => number[] } {
  const folder = temporaryFolder('controller')
  const code = `require('node:fs').appendFileSync('pids', process.pid + '\\n'); ${source}`
  const file = join(folder, 'pids')
  return {
    controller: commandController(`"${process.execPath}" -e "${code}"`, folder),
    pids: () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(Number) : []),
  }
}

function expectGone(pids: readonly number[]): void {
  expect(pids).not.toEqual([])
  expect(listProcesses().filter(({ pid }) => pids.includes(pid))).toEqual([])
}

/** A minute of this clock is ten seconds: for limits that are meant for real controllers. */
function fasterClock(): Clock {
  const nowMs = systemClock.now()
  return new FollowedClock(systemClock, { nowMs, atMs: nowMs, speed: 6 })
}

it('a controller that ends at once is reported with how it did, and its last words', async () => {
  const { controller, pids } = program(`console.error('no such flag: --colour'); process.exit(3)`)
  const { unfit, results } = await explored(controller)
  expect(unfit.map(describeFinding)).toEqual([
    'before the first step: the controller ended with exit code 3, again and again',
  ])
  expect(unfit[0]).toMatchObject({ output: ['no such flag: --colour'] })
  expect(results).toEqual([])
  expectGone(pids())
})

it('a command that cannot be started is reported so', async () => {
  const missing = commandController('./no-such-program', temporaryFolder('controller'))
  const { unfit } = await explored(missing)
  expect(unfit.map(describeFinding)).toEqual([
    expect.stringMatching(/^before the first step: the controller .*(?:no-such-program|127)/),
  ])
})

it('a controller that hangs and ignores SIGTERM is said to send no request, and is killed', async () => {
  const { controller, pids } = program(
    `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)`,
  )
  const { unfit } = await explored(controller, { clock: fasterClock() })
  expect(unfit.map(describeFinding)).toEqual([
    'before the first step: the controller sent no request within 30 s',
  ])
  expectGone(pids())
})

it('an interrupt ends an exploration whose controller hangs, and its controller', async () => {
  const { controller, pids } = program(
    `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)`,
  )
  const interrupt = new AbortController()
  const told = explored(controller, { signal: interrupt.signal })
  const rejected = expect(told).rejects.toThrow('interrupted')
  await expect.poll(pids).not.toEqual([])
  interrupt.abort(new Error('interrupted'))
  await rejected
  expectGone(pids())
})

it('a controller that floods its output is stopped at 50 MB', async () => {
  const { controller, pids } = program(
    `const line = 'x'.repeat(1 << 20); const flood = () => process.stdout.write(line, flood); flood()`,
  )
  const { unfit } = await explored(controller)
  expect(unfit.map(describeFinding)).toEqual([
    'before the first step: the controller wrote more than 50 MB to its output',
  ])
  expectGone(pids())
})

it('a controller that ends at each start once it was killed is found, and ends the plan', async () => {
  const { unfit, results } = await explored(tinyController({ leavesLock: true }))
  expect(unfit).toEqual([])
  expect(results.at(-1)?.findings.map(describeFinding)).toEqual([
    'before the first step: the controller ended with exit code 4, again and again',
  ])
})
