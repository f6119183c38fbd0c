import { expect, it, onTestFinished } from 'vitest'
import { join } from 'node:path'
import { rm } from 'node:fs/promises'
import { systemClock } from '../../components/component-base/clock.ts'
import { processCluster } from '../../scenarios/engine/process-cluster.ts'
import { runScenario } from '../../scenarios/engine/run-scenario.ts'
import { parseScenario } from '../../scenarios/engine/scenario.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { playedProcesses } from './play.ts'

/** What the steps do to the clock. */
async function playTime(steps: string): Promise<{ calls: unknown[]; titles: string[] }> {
  const folder = temporaryFolder('time')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const calls: unknown[] = []
  const note =
    (name: string) =>
    async (...args: unknown[]): Promise<void> =>
      void calls.push([name, ...args])
  const names = ['pause', 'resume', 'speed', 'advance', 'step', 'settle'] as const
  const time = Object.fromEntries(names.map((name) => [name, note(name)]))
  const processes = playedProcesses(folder)
  const cluster = processCluster({ ...processes, lab: { ...processes.lab, time } } as never)
  const file = join(folder, 'time.yaml')
  const result = await runScenario(parseScenario(`description: time\nsteps:\n${steps}`, file), {
    cluster,
    clock: systemClock,
    signal: new AbortController().signal,
  })
  expect(result.outcome, result.failure?.join('\n')).toBe('passed')
  return { calls, titles: result.steps.map(({ title }) => title) }
}

it('pauses, advances and resumes the clock of the cluster', async () => {
  const { calls, titles } = await playTime(`
  - time: { pause: true }
  - time: { advance: 6m }
  - time: { advanceTo: 2030-01-01T00:00:00Z }
  - time: { speed: 2.5 }
  - time: { step: true }
  - time: { settle: true, resume: true }
`)
  expect(calls).toEqual([
    ['pause'],
    ['advance', { ms: 360_000 }],
    ['advance', { toMs: Date.parse('2030-01-01T00:00:00Z') }],
    ['speed', 2.5],
    ['step'],
    ['settle'],
    ['resume'],
  ])
  expect(titles).toEqual([
    'pause the clock',
    'advance the clock by 360 s',
    'advance the clock to 2030-01-01T00:00:00Z',
    'run the clock 2.5 times as fast',
    'advance the clock to what is due next',
    'advance the clock until the cluster is at rest, resume the clock',
  ])
})

it.each([
  ['{ advance: -5m }', /advance: must be a duration such as 4s, 200ms or 7d, not "?-5m"?/],
  ['{ advanceTo: tomorrow }', /advanceTo: must be a time such as 2030-01-01T00:00:00Z/],
  ['{ speed: 5000 }', /speed: must be a number from 0\.01 to 1000/],
  ['{}', /says nothing; it needs one of pause, resume, speed, advance, advanceTo, step, settle/],
])('refuses %s before anything runs', (params, message) => {
  const text = `description: time\nsteps:\n  - time: ${params}\n`
  expect(() => parseScenario(text, 'time.yaml')).toThrow(message)
})
