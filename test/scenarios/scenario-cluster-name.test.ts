import { expect, test } from 'vitest'
import { scenarioClusterName } from '../../scenarios/engine/scenario-cluster-name.ts'
import { statePaths } from '../../cluster/state/state-dir.ts'

test.each([
  ['node-loss', 'scenario-node-loss'],
  ['x'.repeat(80), `scenario-${'x'.repeat(41)}`],
  [`${'x'.repeat(40)}-y`, `scenario-${'x'.repeat(40)}`],
])('a cluster is named after its scenario: %s', (scenario, name) => {
  expect(scenarioClusterName(scenario)).toBe(name)
})

test('whatever the letters of a scenario, its name is that of a cluster, and its own', () => {
  const scenarios = [
    'сцена один',
    'сцена два',
    '集群',
    'Node Loss',
    'node loss',
    'é'.repeat(80),
    '-',
  ]
  const names = scenarios.map(scenarioClusterName)
  expect(new Set(names).size).toBe(scenarios.length)
  for (const name of names) expect(statePaths('/state', name).dir).toContain(name)
  expect(scenarioClusterName('Node Loss')).toMatch(/^scenario-node-loss-[0-9a-f]{8}$/)
})
