import { describe, expect, test } from 'vitest'
import { resourcesOf } from '../../../components/api/resources.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { strategyOf } from '../../../components/api-server/registry/strategies.ts'
import { strategyRuns } from '../../support/strategy-runs.ts'

describe('Lease', () => {
  const leases = strategyRuns('leases')

  test.each([
    [{}, []],
    [
      { leaseDurationSeconds: 0, leaseTransitions: -1 },
      [
        'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
        'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0',
      ],
    ],
    [{ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0 }, []],
  ])('%j', (spec, faults) => {
    expect(leases.createFaults({ spec })).toEqual(faults)
    expect(leases.updateFaults(leases.created({}), { spec })).toEqual(faults)
  })

  test('drops the fields of coordinated election, which is off', () => {
    const made = leases.created({
      spec: { strategy: 'OldestEmulationVersion', preferredHolder: 'a' },
    })
    expect(made['spec']).toEqual({})
  })

  test('is updated only with a resourceVersion', () => {
    expect(strategyOf(resourcesOf(dialects.kubernetes).leases).allowUnconditionalUpdate).toBe(false)
  })
})

test('LeaseCandidate: versions that fit the strategy', () => {
  const candidates = strategyRuns('leaseCandidates')
  expect(
    candidates.createFaults({
      spec: {
        leaseName: 'l',
        strategy: 'OldestEmulationVersion',
        binaryVersion: '1.31.0',
        emulationVersion: '1.32.0',
      },
    }),
  ).toEqual([
    'spec.binaryVersion: Invalid value: "1.31.0": must be greater than or equal to `emulationVersion`',
  ])
  expect(candidates.createFaults({ spec: { binaryVersion: 'x' } })).toEqual([
    'spec.leaseName: Required value',
    'spec.binaryVersion: Invalid value: "x": must be a valid semantic version',
    'spec.strategy: Required value',
  ])
})

describe('PodDisruptionBudget', () => {
  const budgets = strategyRuns('podDisruptionBudgets')

  test('the mark of an empty selector of v1beta1 stands alone or not at all', () => {
    const key = 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match'
    const mark = { key, operator: 'Exists' }
    const other = { key: 'a', operator: 'Exists' }
    const selectorOf = (selector: object): unknown =>
      budgets.created({ spec: { selector } })['spec'].selector
    expect(selectorOf({ matchExpressions: [mark] })).toEqual({ matchExpressions: [mark] })
    expect(selectorOf({ matchLabels: { a: 'b' }, matchExpressions: [mark] })).toEqual({
      matchLabels: { a: 'b' },
    })
    expect(selectorOf({ matchExpressions: [other, mark] })).toEqual({ matchExpressions: [other] })
    const never = { key, operator: 'DoesNotExist' }
    expect(selectorOf({ matchExpressions: [never] })).toEqual({})
  })
  const selector = { matchLabels: { app: 'a' } }

  test.each([
    [{ minAvailable: 1, selector }, []],
    [
      { minAvailable: 1, maxUnavailable: '10%', selector },
      [/^spec: Invalid value: .*: minAvailable and maxUnavailable cannot be both set$/],
    ],
    [
      { maxUnavailable: -1 },
      [/^spec\.maxUnavailable: Invalid value: -1: must be greater than or equal to 0$/],
    ],
    [
      { minAvailable: '101%' },
      [/^spec\.minAvailable: Invalid value: .*: must not be greater than 100%$/],
    ],
    [
      { unhealthyPodEvictionPolicy: 'Never' },
      [
        /^spec\.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"$/,
      ],
    ],
  ])('%j', (spec, faults) => {
    expect(budgets.createFaults({ spec })).toEqual(
      faults.map((fault) => expect.stringMatching(fault)),
    )
  })

  test('starts with zeros; status counts are not negative', () => {
    const made = budgets.created({ spec: {}, status: { disruptionsAllowed: 5 } })
    expect(made['status']).toEqual({
      disruptionsAllowed: 0,
      currentHealthy: 0,
      desiredHealthy: 0,
      expectedPods: 0,
    })
    expect(
      budgets.updateFaults(made, { spec: {}, status: { currentHealthy: -1 } }, 'status'),
    ).toEqual(['status.currentHealthy: Invalid value: -1: must be greater than or equal to 0'])
  })
})

describe('PriorityClass', () => {
  const classes = strategyRuns('priorityClasses')

  test('preempts by default and is of generation 1', () => {
    const made = classes.created({ value: 5 })
    expect(made['preemptionPolicy']).toBe('PreemptLowerPriority')
    expect(made.metadata.generation).toBe(1)
  })

  test.each([
    [{ value: 1_000_000_000 }, []],
    [
      { value: 1_000_000_001, preemptionPolicy: 'Sometimes' },
      [
        'value: Forbidden: maximum allowed value of a user defined priority is 1000000000',
        'preemptionPolicy: Unsupported value: "Sometimes": supported values: "PreemptLowerPriority", "Never"',
      ],
    ],
    [
      { metadata: { name: 'system-x' }, value: 1 },
      [
        "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-x is not a known system priority class",
      ],
    ],
    [{ metadata: { name: 'system-node-critical' }, value: 2_000_001_000 }, []],
    [
      { metadata: { name: 'system-cluster-critical' }, value: 7 },
      [
        "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: value of system-cluster-critical PriorityClass must be 2000000000",
      ],
    ],
  ])('%j', (object, faults) => {
    expect(classes.createFaults(object)).toEqual(faults)
  })

  test('changes neither its value nor its policy', () => {
    const old = classes.created({ value: 5 })
    expect(classes.updateFaults(old, { value: 6, preemptionPolicy: 'Never' })).toEqual([
      'value: Forbidden: may not be changed in an update.',
      'preemptionPolicy: Invalid value: "Never": field is immutable',
    ])
    expect(classes.updateFaults(old, { value: 5, globalDefault: true, description: 'd' })).toEqual(
      [],
    )
  })

  test('of the system is never deleted', () => {
    const { refuseDelete } = strategyOf(resourcesOf(dialects.kubernetes).priorityClasses)
    const object = (name: string) => ({ metadata: { name } })
    expect(refuseDelete?.(object('system-node-critical'))).toMatch(/cannot be deleted/)
    expect(refuseDelete?.(object('mine'))).toBeUndefined()
  })
})
