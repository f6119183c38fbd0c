/** The field seLinuxChangePolicy of pods and templates (the gate SELinuxChangePolicy). */
import { expect, it } from 'vitest'
import { defaultFeatureGates } from '../../../../components/api/feature-gates.ts'
import { strategyRuns } from '../../../support/strategy-runs.ts'

const gates = { ...defaultFeatureGates, SELinuxChangePolicy: true }

function podSpec(seLinuxChangePolicy?: string, more: object = {}) {
  const containers = [{ name: 'c', image: 'i' }]
  return { containers, securityContext: { seLinuxChangePolicy }, ...more }
}

it('a pod keeps its policy with the gate, and loses it without, unless it had one', () => {
  const [off, on] = [strategyRuns('pods'), strategyRuns('pods', { gates })]
  const wanted = { spec: podSpec('Recursive') }
  const context = { securityContext: { seLinuxChangePolicy: 'Recursive' } }
  expect(on.created(wanted)['spec']).toMatchObject(context)
  expect(off.created(wanted)['spec'].securityContext).toEqual({})
  expect(off.updated(on.created(wanted), wanted)['spec']).toMatchObject(context)
})

it('a template keeps its policy with the gate, and loses it without', () => {
  const labels = { app: 'x' }
  const template = { metadata: { labels }, spec: podSpec('Recursive') }
  const wanted = { spec: { selector: { matchLabels: labels }, template } }
  const policyOf = (runs: ReturnType<typeof strategyRuns>): unknown =>
    runs.created(wanted)['spec'].template.spec.securityContext.seLinuxChangePolicy
  expect(policyOf(strategyRuns('deployments', { gates }))).toBe('Recursive')
  expect(policyOf(strategyRuns('deployments'))).toBeUndefined()
})

it.each([
  [podSpec('Recursive'), []],
  [
    podSpec('MountOption'),
    [
      'spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"',
    ],
  ],
  [
    podSpec('Recursive', { os: { name: 'windows' } }),
    ['spec.securityContext.seLinuxChangePolicy: Forbidden: cannot be set for a windows pod'],
  ],
])('%j has the faults %j', (spec, faults) => {
  expect(strategyRuns('pods', { gates }).createFaults({ spec })).toEqual(faults)
})
