/** Running a scenario: how it ends when a step, or what is left to tidy up, does not. */
import { expect, test } from 'vitest'
import type { Cluster } from '../../cluster/cluster.ts'
import { processCluster } from '../../scenarios/engine/process-cluster.ts'
import { junitReport } from '../../scenarios/engine/reports.ts'
import { runScenario } from '../../scenarios/engine/run-scenario.ts'
import type { ScenarioCluster } from '../../scenarios/engine/scenario-cluster.ts'
import type { Scenario } from '../../scenarios/engine/scenario.ts'
import type { StepContext } from '../../scenarios/engine/step.ts'
import { ScenarioStep } from '../../scenarios/engine/step.ts'
import { FakeClock } from '../support/fake-clock.ts'

const cluster = processCluster({
  config: { dialect: 'kubernetes', caHash: 'sha256:0' },
  server: 'https://127.0.0.1:6443',
  paths: {},
  lab: { faults: { list: async () => [] } },
} as unknown as Cluster)

function scenarioOf(...runs: ((context: StepContext) => Promise<void>)[]): Scenario {
  const steps = runs.map((run, index) => {
    const title = `step ${index + 1}`
    const kind = {
      name: 'stub',
      summary: '',
      shape: {} as never,
      title: () => title,
      run: (_: unknown, context: StepContext) => run(context),
    }
    return new ScenarioStep({ kind, params: {}, title, path: [] })
  })
  return {
    name: 's',
    file: 's.yaml',
    description: '',
    timeoutMs: 5000,
    variables: {},
    steps,
  } as never
}

test('a step that never ends is given up soon after the time of the scenario is over', async () => {
  const clock = new FakeClock()
  const { signal } = new AbortController()
  const hanging = scenarioOf(() => new Promise(() => {}))
  const running = runScenario(hanging, { cluster, clock, signal })
  await clock.step(10_000)
  expect(await running).toMatchObject({
    outcome: 'failed',
    steps: [{ outcome: 'failed', failure: ['the scenario took longer than 5 s'] }],
  })
})

test('what cannot be tidied up fails the scenario, and the rest is tidied up all the same', async () => {
  const tidied: string[] = []
  const { signal } = new AbortController()
  const leaving = scenarioOf(async ({ onEnd }) => {
    onEnd(async () => void tidied.push('first'))
    onEnd(() => Promise.reject(new Error('it would not go')))
  })
  const result = await runScenario(leaving, { cluster, clock: new FakeClock(), signal })
  expect(tidied).toEqual(['first'])
  expect(result).toMatchObject({ outcome: 'failed', failure: ['cleanup: it would not go'] })
  expect(junitReport([result])).toContain('<testcase name="cleanup"')
})

test('a failed step shows the faults that are active, and no others', async () => {
  const { signal } = new AbortController()
  const spec = { kind: 'store', fault: { full: true } } as const
  const faults = {
    list: async () => [
      { name: 'full-disk', spec, fired: 3, sinceMs: 0 },
      { name: 'former', spec, fired: 1, sinceMs: 0, ended: 'healed' },
    ],
  }
  const broken = { ...cluster, lab: { faults } } as unknown as ScenarioCluster
  const failing = scenarioOf(() => Promise.reject(new Error('it broke')))
  const result = await runScenario(failing, { cluster: broken, clock: new FakeClock(), signal })
  expect(result.steps[0]?.failure).toEqual([
    'it broke',
    'active faults:',
    '  full-disk (store): fired 3 times, {"full":true}',
  ])
})
