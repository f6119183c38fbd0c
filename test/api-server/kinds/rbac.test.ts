import { describe, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { strategyRuns } from '../../support/strategy-runs.ts'

const roles = strategyRuns('roles')
const clusterRoles = strategyRuns('clusterRoles')
const bindings = strategyRuns('roleBindings')
const clusterBindings = strategyRuns('clusterRoleBindings')
const group = 'rbac.authorization.k8s.io'

describe('rules', () => {
  test.each([
    [
      { verbs: [] },
      [
        'rules[0].verbs: Required value: verbs must contain at least one value',
        'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
        'rules[0].resources: Required value: resource rules must supply at least one resource',
      ],
    ],
    [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }, []],
    [
      { verbs: ['get'], nonResourceURLs: ['/x'], resources: ['pods'] },
      [
        'rules[0].nonResourceURLs: Invalid value: []string{"/x"}: namespaced rules cannot apply to non-resource URLs',
        'rules[0].nonResourceURLs: Invalid value: []string{"/x"}: rules cannot apply to both regular resources and non-resource URLs',
      ],
    ],
  ])('%j in a Role', (rule, faults) => {
    expect(roles.createFaults({ rules: [rule] })).toEqual(faults)
  })

  test('of a ClusterRole may name URLs', () => {
    const rules = [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }]
    expect(clusterRoles.createFaults({ rules })).toEqual([])
  })

  test('may be gathered by selectors, of which there is at least one', () => {
    expect(clusterRoles.createFaults({ aggregationRule: {} })).toEqual([
      'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
    ])
    const bad = { clusterRoleSelectors: [{ matchExpressions: [{ key: 'a', operator: 'In' }] }] }
    expect(clusterRoles.createFaults({ aggregationRule: bad })).toEqual([
      "aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ])
  })

  test('belong to roles whose names are any path segments', () => {
    expect(clusterRoles.createFaults({ metadata: { name: 'system:Node_1' } })).toEqual([])
    expect(clusterRoles.createFaults({ metadata: { name: 'a%b' } })).toEqual([
      `metadata.name: Invalid value: "a%b": may not contain '%'`,
    ])
  })
})

describe('bindings', () => {
  const roleRef = { apiGroup: group, kind: 'Role', name: 'r' }

  test('get the group of users, groups and the role, but not of service accounts', () => {
    const subjects = [
      { kind: 'User', name: 'u' },
      { kind: 'Group', name: 'g' },
      { kind: 'ServiceAccount', name: 's', namespace: 'ns' },
    ]
    const made = bindings.created({ roleRef: { kind: 'Role', name: 'r' }, subjects })
    expect(made['roleRef']).toEqual(roleRef)
    expect(made['subjects'].map((subject: { apiGroup?: string }) => subject.apiGroup)).toEqual([
      group,
      group,
      undefined,
    ])
    const svc = strategyRuns('roleBindings', { dialect: dialects.svc })
    expect(svc.created({ roleRef: { kind: 'Role', name: 'r' } })['roleRef'].apiGroup).toBe(
      'rbac.authorization.svc.io',
    )
  })

  test.each([
    [
      { roleRef: { apiGroup: 'apps', kind: 'Deployment', name: '' } },
      [
        `roleRef.apiGroup: Unsupported value: "apps": supported values: "${group}"`,
        'roleRef.kind: Unsupported value: "Deployment": supported values: "Role", "ClusterRole"',
        'roleRef.name: Required value',
      ],
    ],
    [{ roleRef, subjects: [{ kind: 'User', name: '' }] }, ['subjects[0].name: Required value']],
    [
      { roleRef, subjects: [{ kind: 'ServiceAccount', name: 'a', apiGroup: 'x' }] },
      ['subjects[0].apiGroup: Unsupported value: "x": supported values: ""'],
    ],
    [
      { roleRef, subjects: [{ kind: 'Robot', name: 'a' }] },
      [
        'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
      ],
    ],
  ])('%j', (binding, faults) => {
    expect(bindings.createFaults(binding)).toEqual(faults)
  })

  test('of the cluster name ClusterRoles, and the namespace of service accounts', () => {
    const subjects = [{ kind: 'ServiceAccount', name: 'a' }]
    expect(clusterBindings.createFaults({ roleRef, subjects })).toEqual([
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
      'subjects[0].namespace: Required value',
    ])
  })

  test('keep their role', () => {
    const old = bindings.created({ roleRef })
    expect(bindings.updateFaults(old, { roleRef: { kind: 'Role', name: 'other' } })).toEqual([
      `roleRef: Invalid value: rbac.RoleRef{APIGroup:"${group}", Kind:"Role", Name:"other"}: cannot change roleRef`,
    ])
  })
})
