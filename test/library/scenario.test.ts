/** Scenarios on clusters of the library, and the shipped ones on embedded clusters. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../components/component-base/clock.ts'
import { startScenarioCluster } from '../../library/embedded-scenarios.ts'
import { OptionError, ScenarioFailure, startCluster } from '../../library/index.ts'
import type { Cluster } from '../../library/index.ts'
import { runScenarios } from '../../scenarios/engine/runner.ts'
import { readScenario } from '../../scenarios/engine/scenario.ts'
import { shippedFiles } from '../../scenarios/engine/shipped-scenarios.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const clusters: Cluster[] = []
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.stop()
})

const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'web' } }

describe.each(['embedded', 'processes'] as const)('a cluster of the form %s', (form) => {
  it('runs steps and files, as often as the file’s matrix says, with variables of code', async () => {
    const cluster = await startCluster({ form, nodes: 0 })
    clusters.push(cluster)
    const [report] = await cluster.scenario(
      [
        { create: { ...configMap, data: { size: '${size}' } } },
        {
          name: 'it is there',
          expect: { kind: 'ConfigMap', name: 'web', cel: 'object.data.size == "3"' },
        },
        { happened: { kind: 'ConfigMap', name: 'web', event: 'created', times: 1 } },
      ],
      { variables: { size: '3' } },
    )
    expect(report?.steps.map(({ title, outcome }) => [title, outcome])).toEqual([
      ['create ConfigMap web', 'passed'],
      ['it is there', 'passed'],
      ['ConfigMap web created, exactly 1 times', 'passed'],
    ])
    const file = join(temporaryFolder('scenario'), 'more.yaml')
    writeFileSync(
      file,
      "description: d\nmatrix: { n: [a, b] }\nsteps:\n  - request: { as: { user: jane }, path: '/api/v1/nodes?${n}', expect: { status: 403 } }\n  - run: { command: 'cat $KUBECONFIG', expect: { stdout: 'server: ' } }\n",
    )
    expect((await cluster.scenario(file)).map(({ name }) => name)).toEqual([
      'more[n=a]',
      'more[n=b]',
    ])
  })
})

it('a step that fails rejects with its report, a fault in the steps with its place', async () => {
  const cluster = await startCluster({ nodes: 0 })
  clusters.push(cluster)
  const failing = cluster.scenario([
    { expect: { kind: 'ConfigMap', name: 'none', within: '10ms' } },
    { sleep: '1ms' },
  ])
  const failure = (await failing.catch((error: unknown) => error)) as ScenarioFailure
  expect(failure).toBeInstanceOf(ScenarioFailure)
  expect(failure.message).toMatch(
    /^steps: expect ConfigMap none: \n {2}it did not hold within 0\.01 s/,
  )
  expect(failure.report.steps.map(({ outcome }) => outcome)).toEqual(['failed', 'not run'])
  const options = { variabels: {} } as never
  await expect(cluster.scenario([{ sleep: '1ms' }], options)).rejects.toThrow(
    /variabels.*variables/,
  )
  const wrong = await cluster.scenario([{ slep: '1ms' }]).catch((error: unknown) => error)
  expect(wrong).toBeInstanceOf(OptionError)
  expect(String(wrong)).toContain(
    'scenario: steps:1: steps[0].slep: unknown step; did you mean sleep?',
  )
})

describe('scenarios that ship, on embedded clusters in virtual time', () => {
  it.each(shippedFiles().map((file) => readScenario(file)))('$name passes', async (scenario) => {
    const [result] = await runScenarios([scenario], {
      clock: systemClock,
      signal: new AbortController().signal,
      stateRoot: temporaryFolder('embedded-scenarios'),
      keep: false,
      startEmbedded: startScenarioCluster,
    })
    const failed = result?.steps.find(({ outcome }) => outcome === 'failed')
    const why = [...(failed?.failure ?? []), ...(result?.failure ?? [])].join('\n')
    expect(why).toBe('')
    expect(result?.outcome).toBe('passed')
  })
})
