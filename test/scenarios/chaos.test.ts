/** The step chaos, on an embedded cluster in the scenario's own time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startScenarioCluster } from '../../library/embedded-scenarios.ts'
import { runScenario } from '../../scenarios/engine/run-scenario.ts'
import type { ScenarioResult } from '../../scenarios/engine/scenario-result.ts'
import { parseScenario } from '../../scenarios/engine/scenario.ts'

const head = 'description: chaos\ncluster: { nodes: 2 }\ntimeout: 2h\nsteps:\n'
const { signal } = new AbortController()
const scenarioOf = (steps: string) => parseScenario(`${head}${steps}`, 'chaos.yaml')

let started: Awaited<ReturnType<typeof startScenarioCluster>>
beforeAll(async () => {
  started = await startScenarioCluster(scenarioOf('  - sleep: 1s\n'), signal)
})
afterAll(async () => {
  await started.letGo()
})

const play = (steps: string): Promise<ScenarioResult> =>
  runScenario(scenarioOf(steps), { cluster: started.cluster, clock: started.clock, signal })

const pressure = `
      mix:
        every: 20s
        faults: [{ fault: { kind: node, fault: { node: '*', is: memory-pressure } }, for: [30s, 1m] }]`

describe('the step chaos', () => {
  it('passes when nothing happened that must never, and tells its seed and its faults', async () => {
    const result = await play(`
  - chaos:
      for: 5m
      seed: 7${pressure}
      holds:
        - { kind: Node, count: 2, where: 'metadata.name matches "node-.*"' }
      never:
        - { kind: Node, where: 'status.conditions[type=Ready].status == Unknown' }
      during:
        - sleep: 1m
`)
    expect(result.outcome, JSON.stringify(result)).toBe('passed')
    const [step] = result.steps
    expect(step?.notes.join('\n')).toMatch(
      /^chaos with seed 7: [1-9]\d* faults, which fired [1-9]\d* times/,
    )
    expect(step?.durationMs).toBeGreaterThanOrEqual(300_000)
    expect(await activeFaults()).toEqual([])
  })

  it('that breaks a rule names its seed, the faults that held and how to replay it, and heals them', async () => {
    const rule = `
      never:
        - { kind: Node, where: 'status.conditions[type=MemoryPressure].status == True' }`
    const told = async (seed: string): Promise<string> => {
      const result = await play(`
  - chaos:
      for: 30m${seed}${pressure}${rule}
`)
      expect(result.outcome).toBe('failed')
      expect(await activeFaults()).toEqual([])
      return result.steps[0]?.failure.join('\n') ?? ''
    }
    const drawn = await told('')
    const [, seed = ''] = /chaos with seed (\d+): it was so, and must never be/.exec(drawn) ?? []
    expect(drawn).toContain(`to replay it: give the step the field seed: ${seed}`)
    expect(drawn).toMatch(/faults that held then:\n +chaos-\d+-1 \(node\)/)
    const again = await told(`\n      seed: ${seed}`)
    // The same fault on the same node.
    const faultIn = (text: string) => /chaos-\d+-1 \(node\).*/.exec(text)?.[0]
    expect(faultIn(again)).toBe(faultIn(drawn))
  })

  it('fails with what its monitors saw', async () => {
    const result = await play(`
  - chaos:
      for: 5m
      seed: 7${pressure}
      monitors:
        - kind: nodes
          expression: object.status.conditions.all(c, c.type != 'MemoryPressure' || c.status != 'True')
`)
    expect(result.steps[0]?.failure.join('\n')).toMatch(/chaos with seed 7: monitor /)
  })

  it.each([
    ['seed: -1', 'seed: must be a whole number from 0 to 4294967295'],
    ['mix: { every: 1s, faults: [{ fault: { kind: bad } }] }', 'mix.faults[0].fault.kind'],
    ['never: [{ kind: Pod, for: 1s }]', 'never[0].for'],
  ])('refuses %s before anything runs', (field, why) => {
    expect(() => scenarioOf(`  - chaos:\n      for: 1m\n      ${field}\n`)).toThrow(why)
  })
})

async function activeFaults() {
  const all = await started.cluster.lab.faults.list()
  return all.filter(({ ended }) => ended === undefined)
}
