/** Scenario cluster name: the name of a scenario's cluster, which becomes a DNS label whatever the letters of the scenario's file. */
import { createHash } from 'node:crypto'

const mostLetters = 50

/** `scenario-NAME`. Letters that no label has become dashes; a digest then keeps scenarios of different names apart. */
export function scenarioClusterName(scenario: string): string {
  const label = scenario.toLowerCase().replaceAll(/[^a-z0-9-]+/g, '-')
  const digest = createHash('sha256').update(scenario).digest('hex').slice(0, 8)
  const end = label === scenario ? '' : `-${digest}`
  const start = `scenario-${label}`.slice(0, mostLetters - end.length).replace(/-+$/, '')
  return `${start}${end}`
}
