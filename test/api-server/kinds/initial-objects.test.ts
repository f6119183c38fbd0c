/** What every cluster starts with goes through the same rules as anything else. */
import { describe, expect, test } from 'vitest'
import { policyObjects } from '../../../components/api/bootstrap-policy/policy-objects.ts'
import { systemPriorityClasses } from '../../../components/api/bootstrap-policy/system-objects.ts'
import { defaultFeatureGates } from '../../../components/api/feature-gates.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { strategyRuns } from '../../support/strategy-runs.ts'

describe.each(Object.values(dialects))('in dialect $name', (dialect) => {
  const policy = policyObjects(dialect, {
    servesMetrics: true,
    gates: defaultFeatureGates,
  })

  test.each(['clusterRoles', 'clusterRoleBindings', 'roles', 'roleBindings'] as const)(
    'the initial %s are valid and stay as they are',
    (name) => {
      const runs = strategyRuns(name, { dialect })
      expect(policy[name].length).toBeGreaterThan(0)
      for (const object of policy[name]) {
        expect(runs.createFaults(object)).toEqual([])
        expect(runs.updateFaults(runs.created(object), object)).toEqual([])
      }
    },
  )

  test('the priority classes of the system are valid', () => {
    const runs = strategyRuns('priorityClasses', { dialect })
    for (const object of systemPriorityClasses(dialect)) {
      expect(runs.createFaults(object)).toEqual([])
    }
  })
})
