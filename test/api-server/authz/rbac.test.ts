import * as fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Decision } from '../../../components/api-server/authz/authorizer.ts'
import { RbacIndex } from '../../../components/api-server/authz/rbac-index.ts'
import { rbacAuthorizer } from '../../../components/api-server/authz/rbac.ts'
import type {
  AuthorizationAttributes,
  UserInfo,
} from '../../../components/api-server/request/request.ts'
import { dialects } from '../../../components/api/dialect.ts'
import type { PolicyRule, Subject } from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { FakeReader } from '../../support/fake-reader.ts'
import { attributes, user } from './attributes.ts'

const dialect = dialects.kubernetes
const { roles, clusterRoles, roleBindings, clusterRoleBindings } = resourcesOf(dialect)
const apiGroup = 'rbac.authorization.k8s.io'

let reader: FakeReader
let authorizer: ReturnType<typeof rbacAuthorizer>

beforeEach(() => {
  reader = new FakeReader()
  authorizer = rbacAuthorizer(new RbacIndex(reader, dialect))
})

/** A Role with a namespace, a ClusterRole without. */
function putRole(name: string, rules: PolicyRule[], namespace?: string): void {
  const resource = namespace === undefined ? clusterRoles : roles
  reader.put(resource, { metadata: { name, ...(namespace && { namespace }) }, rules })
}

function putBinding(at: {
  name?: string
  namespace?: string
  role: string
  kind?: 'Role' | 'ClusterRole'
  subjects: Subject[]
}): void {
  const { name = 'b', namespace, role, kind = 'ClusterRole', subjects } = at
  reader.put(namespace === undefined ? clusterRoleBindings : roleBindings, {
    metadata: { name, ...(namespace && { namespace }) },
    subjects,
    roleRef: { apiGroup, kind, name: role },
  })
}

const userSubject = (name: string): Subject => ({ kind: 'User', apiGroup, name })
const groupSubject = (name: string): Subject => ({ kind: 'Group', apiGroup, name })
const decide = (given: Partial<AuthorizationAttributes> & { user: UserInfo }): Decision =>
  authorizer.authorize(attributes(given)) as Decision
const isAllowed = (given: Partial<AuthorizationAttributes> & { user: UserInfo }): boolean =>
  decide(given).decision === 'allow'

const jane = user('jane', 'devs', 'system:authenticated')
const readPods: PolicyRule = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }
const getPod = { user: jane, resource: 'pods', name: 'p' }

describe('RBAC', () => {
  test('what was there before the index is followed too: bindings that go take their rights along', () => {
    putRole('r', [readPods])
    const subjects = [userSubject('jane')]
    putBinding({ namespace: 'a', role: 'r', subjects })
    putBinding({ role: 'r', subjects })
    putBinding({ name: 'c', namespace: 'c', role: 'r', subjects })
    const index = new RbacIndex(reader, dialect)
    authorizer = rbacAuthorizer(index)
    const allowedIn = () =>
      ['a', 'b', 'c'].filter((namespace) => isAllowed({ ...getPod, namespace }))
    expect(allowedIn()).toEqual(['a', 'b', 'c'])
    reader.remove(clusterRoleBindings, '', 'b')
    expect(allowedIn()).toEqual(['a', 'c'])
    reader.remove(roleBindings, 'a', 'b')
    expect(allowedIn()).toEqual(['c'])
    putBinding({ name: 'c', namespace: 'c', role: 'r', subjects: [userSubject('bob')] })
    expect(allowedIn()).toEqual([])
    putBinding({ name: 'c', namespace: 'c', role: 'r', subjects })
    expect(allowedIn()).toEqual(['c'])
    reader.remove(clusterRoles, '', 'r')
    expect(allowedIn()).toEqual([])
    putRole('r', [readPods])
    expect(allowedIn()).toEqual(['c'])
    index.stop()
    reader.remove(roleBindings, 'c', 'c')
    expect(allowedIn()).toEqual(['c'])
  })

  test('[RBAC-020] a RoleBinding grants a Role in its own namespace only', () => {
    putRole('r', [readPods], 'a')
    putBinding({ namespace: 'a', role: 'r', kind: 'Role', subjects: [userSubject('jane')] })
    expect(isAllowed({ ...getPod, namespace: 'a' })).toBe(true)
    expect(isAllowed({ ...getPod, namespace: 'b' })).toBe(false)
    expect(isAllowed({ ...getPod, namespace: '' })).toBe(false)
  })

  test('[RBAC-021] a RoleBinding to a ClusterRole grants it in its own namespace only', () => {
    putRole('view', [readPods])
    putBinding({ namespace: 'a', role: 'view', subjects: [userSubject('jane')] })
    expect(isAllowed({ ...getPod, namespace: 'a' })).toBe(true)
    expect(isAllowed({ ...getPod, namespace: 'b' })).toBe(false)
  })

  test('[RBAC-022] a ClusterRoleBinding grants everywhere, cluster-wide objects and paths too', () => {
    putRole('r', [
      { apiGroups: [''], resources: ['pods', 'nodes'], verbs: ['get'] },
      { nonResourceURLs: ['/metrics'], verbs: ['get'] },
    ])
    putBinding({ role: 'r', subjects: [userSubject('jane')] })
    expect(isAllowed({ ...getPod, namespace: 'b' })).toBe(true)
    expect(isAllowed({ user: jane, resource: 'nodes' })).toBe(true)
    expect(isAllowed({ user: jane, path: '/metrics' })).toBe(true)
    expect(isAllowed({ user: jane, path: '/metrics/x' })).toBe(false)
  })

  test('[RBAC-014] rights of several roles add up', () => {
    putRole('one', [readPods])
    putRole('two', [{ apiGroups: [''], resources: ['pods'], verbs: ['delete'] }])
    putBinding({ name: '1', role: 'one', subjects: [userSubject('jane')] })
    putBinding({ name: '2', role: 'two', subjects: [groupSubject('devs')] })
    expect(isAllowed(getPod)).toBe(true)
    expect(isAllowed({ ...getPod, verb: 'delete' })).toBe(true)
    expect(isAllowed({ ...getPod, verb: 'create' })).toBe(false)
  })

  test('[RBAC-015] a star stands for every verb, group or resource, the others still restrict', () => {
    const cases: [
      PolicyRule,
      Partial<AuthorizationAttributes>,
      Partial<AuthorizationAttributes>,
    ][] = [
      [{ ...readPods, verbs: ['*'] }, { verb: 'frobnicate' }, { verb: 'get', resource: 'nodes' }],
      [{ ...readPods, apiGroups: ['*'] }, { group: 'x.test' }, { verb: 'delete' }],
      [
        { ...readPods, resources: ['*'] },
        { resource: 'nodes', subresource: 'x' },
        { group: 'apps' },
      ],
    ]
    for (const [rule, good, bad] of cases) {
      putRole('r', [rule])
      putBinding({ role: 'r', subjects: [userSubject('jane')] })
      expect(isAllowed({ ...getPod, ...good })).toBe(true)
      expect(isAllowed({ ...getPod, ...bad })).toBe(false)
    }
  })

  test('[RBAC-025] a sub-resource is a resource of its own', () => {
    putRole('r', [{ apiGroups: [''], resources: ['pods/log'], verbs: ['get'] }])
    putBinding({ role: 'r', subjects: [userSubject('jane')] })
    expect(isAllowed({ ...getPod, subresource: 'log' })).toBe(true)
    expect(isAllowed(getPod)).toBe(false)
    putRole('r', [readPods])
    expect(isAllowed({ ...getPod, subresource: 'log' })).toBe(false)
    putRole('r', [{ apiGroups: ['*'], resources: ['*/scale'], verbs: ['get'] }])
    expect(
      isAllowed({ user: jane, group: 'apps', resource: 'deployments', subresource: 'scale' }),
    ).toBe(true)
    expect(isAllowed({ user: jane, group: 'apps', resource: 'deployments' })).toBe(false)
  })

  test('[RBAC-017] empty resourceNames mean any name', () => {
    putRole('r', [{ ...readPods, resourceNames: [] }])
    putBinding({ role: 'r', subjects: [userSubject('jane')] })
    expect(isAllowed(getPod)).toBe(true)
    putRole('r', [{ ...readPods, resourceNames: ['p'] }])
    expect(isAllowed(getPod)).toBe(true)
    expect(isAllowed({ ...getPod, name: 'q' })).toBe(false)
    expect(isAllowed({ user: jane, verb: 'list', resource: 'pods' })).toBe(false)
  })

  test('a path that ends in a star covers what begins so', () => {
    putRole('r', [{ nonResourceURLs: ['/healthz/*'], verbs: ['get'] }])
    putBinding({ role: 'r', subjects: [userSubject('jane')] })
    expect(isAllowed({ user: jane, path: '/healthz/ping' })).toBe(true)
    expect(isAllowed({ user: jane, path: '/healthz' })).toBe(false)
    expect(isAllowed({ user: jane, path: '/healthz/ping', verb: 'post' })).toBe(false)
  })

  test('stars count at the end of a path alone, however many there are', () => {
    putRole('r', [{ nonResourceURLs: ['/logs/**', '/a*b*', '/c*d'], verbs: ['get'] }])
    putBinding({ role: 'r', subjects: [userSubject('jane')] })
    for (const [path, may] of [
      ['/logs/x', true],
      ['/logs', false],
      ['/a*bc', true],
      ['/axb', false],
      ['/c*d', true],
      ['/cxd', false],
      ['/c*de', false],
    ] as const) {
      expect(isAllowed({ user: jane, path }), path).toBe(may)
    }
  })

  test('a decision names what allows; without one, the roles that are missing', () => {
    expect(authorizer.name).toBe('RBAC')
    expect(decide(getPod)).toEqual({ decision: 'no-opinion', reason: '' })
    putBinding({ role: 'r', subjects: [groupSubject('devs')] })
    expect(decide(getPod)).toEqual({
      decision: 'no-opinion',
      reason: `RBAC: clusterrole.${apiGroup} "r" not found`,
    })
    putRole('r', [readPods])
    expect(decide(getPod)).toEqual({
      decision: 'allow',
      reason: 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to Group "devs"',
    })
    expect(decide({ ...getPod, verb: 'delete' })).toEqual({ decision: 'no-opinion', reason: '' })
    expect(authorizer.rulesFor?.(jane, 'a').resourceRules).toEqual([readPods])
    reader.remove(clusterRoles, '', 'r')
    expect(authorizer.rulesFor?.(jane, 'a').resourceRules).toEqual([])
  })

  test('an explanation shows what allows: the binding, the role and its rules that do', () => {
    const getNodes = { apiGroups: [''], resources: ['nodes'], verbs: ['get'] }
    putRole('r', [readPods, getNodes], 'a')
    putBinding({ namespace: 'a', role: 'r', kind: 'Role', subjects: [userSubject('jane')] })
    putRole('c', [getNodes])
    putBinding({ name: 'c', role: 'c', subjects: [groupSubject('devs')] })
    const asked = attributes({ ...getPod, namespace: 'a' })
    expect(authorizer.explain?.(asked)).toEqual({
      decision: authorizer.authorize(asked),
      detail: {
        grants: [
          {
            binding: { kind: 'RoleBinding', namespace: 'a', name: 'b' },
            role: { kind: 'Role', namespace: 'a', name: 'r' },
            subject: userSubject('jane'),
            rules: [readPods],
          },
        ],
      },
    })
    expect(authorizer.explain?.(attributes({ ...getPod, namespace: 'b' }))).toEqual({
      decision: { decision: 'no-opinion', reason: '' },
      detail: { missing: 'nothing bound to the user or its groups allows it' },
    })
    expect(authorizer.explain?.(attributes({ user: jane, resource: 'nodes' }))).toMatchObject({
      detail: {
        grants: [
          {
            binding: { kind: 'ClusterRoleBinding', name: 'c' },
            role: { kind: 'ClusterRole', name: 'c' },
          },
        ],
      },
    })
  })

  test('a ClusterRoleBinding ignores an account without a namespace', () => {
    putRole('r', [readPods])
    putBinding({ role: 'r', subjects: [{ kind: 'ServiceAccount', name: 'robot' }] })
    for (const name of ['system:serviceaccount::robot', 'system:serviceaccount:a:robot', 'robot']) {
      expect(isAllowed({ ...getPod, user: user(name) }), name).toBe(false)
    }
  })

  test('[RBAC-009] names of subjects are case-sensitive', () => {
    putRole('r', [readPods])
    putBinding({ role: 'r', subjects: [userSubject('Jane'), groupSubject('Devs')] })
    expect(isAllowed(getPod)).toBe(false)
    for (const [who, may] of [
      [user('Jane'), true],
      [user('JANE'), false],
      [user('x', 'Devs'), true],
      [user('x', 'devs'), false],
    ] as const) {
      expect(isAllowed({ ...getPod, user: who }), who.name).toBe(may)
    }
    putBinding({ role: 'r', subjects: [{ kind: 'ServiceAccount', name: 'Bot', namespace: 'a' }] })
    expect(isAllowed({ ...getPod, user: user('system:serviceaccount:a:Bot') })).toBe(true)
    expect(isAllowed({ ...getPod, user: user('system:serviceaccount:a:bot') })).toBe(false)
  })

  test('verbs, groups, resources, names and paths of rules are case-sensitive', () => {
    const rule = { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] }
    const asked = { user: jane, group: 'apps', resource: 'deployments', verb: 'get', name: 'web' }
    const cases: [object, boolean][] = [
      [{}, true],
      [{ verbs: ['Get'] }, false],
      [{ apiGroups: ['Apps'] }, false],
      [{ resources: ['Deployments'] }, false],
      [{ resourceNames: ['web'] }, true],
      [{ resourceNames: ['Web'] }, false],
    ]
    for (const [odd, may] of cases) {
      putRole('r', [{ ...rule, ...odd }])
      putBinding({ role: 'r', subjects: [userSubject('jane')] })
      expect(isAllowed(asked), JSON.stringify(odd)).toBe(may)
    }
    putRole('r', [{ nonResourceURLs: ['/Healthz'], verbs: ['get'] }])
    expect(isAllowed({ user: jane, path: '/healthz' })).toBe(false)
    expect(isAllowed({ user: jane, path: '/Healthz' })).toBe(true)
  })

  test('[RBAC-008] [RBAC-043] an account gains by its own name, its namespace group or the group of all', () => {
    const account = user(
      'system:serviceaccount:a:b',
      'system:serviceaccounts',
      'system:serviceaccounts:a',
    )
    const stranger = user('system:serviceaccount:c:b', 'system:serviceaccounts:c')
    const forms: Subject[] = [
      { kind: 'ServiceAccount', name: 'b', namespace: 'a' },
      groupSubject('system:serviceaccounts:a'),
      userSubject('system:serviceaccount:a:b'),
    ]
    putRole('r', [readPods])
    for (const subject of forms) {
      putBinding({ role: 'r', subjects: [subject] })
      expect(isAllowed({ ...getPod, user: account })).toBe(true)
      expect(isAllowed({ ...getPod, user: stranger })).toBe(false)
    }
    putBinding({ role: 'r', subjects: [groupSubject('system:serviceaccounts')] })
    expect(isAllowed({ ...getPod, user: account })).toBe(true)
  })

  test('the reason names binding, role and subject', () => {
    putRole('r', [readPods], 't1')
    putBinding({
      name: 'b',
      namespace: 't1',
      role: 'r',
      kind: 'Role',
      subjects: [userSubject('jane')],
    })
    expect(decide({ ...getPod, namespace: 't1' }).reason).toBe(
      'RBAC: allowed by RoleBinding "b/t1" of Role "r" to User "jane"',
    )
    putRole('cluster-admin', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }])
    putBinding({ name: 'admins', role: 'cluster-admin', subjects: [groupSubject('devs')] })
    expect(decide(getPod).reason).toBe(
      'RBAC: allowed by ClusterRoleBinding "admins" of ClusterRole "cluster-admin" to Group "devs"',
    )
    const sa: Subject = { kind: 'ServiceAccount', name: 'b', namespace: 'a' }
    putBinding({ name: 'admins', role: 'cluster-admin', subjects: [sa] })
    expect(decide({ ...getPod, user: user('system:serviceaccount:a:b') }).reason).toBe(
      'RBAC: allowed by ClusterRoleBinding "admins" of ClusterRole "cluster-admin" to ServiceAccount "b/a"',
    )
  })

  test('a denial names bound roles that do not exist', () => {
    putBinding({ name: '1', role: 'gone', subjects: [userSubject('jane')] })
    expect(decide(getPod).reason).toBe(
      'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
    )
    putBinding({
      name: '2',
      namespace: 'a',
      role: 'r',
      kind: 'Role',
      subjects: [userSubject('jane')],
    })
    expect(decide({ ...getPod, namespace: 'a' }).reason).toBe(
      'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "r" not found]',
    )
  })

  test('changes of roles and bindings count at once', () => {
    putBinding({ role: 'r', subjects: [userSubject('jane')] })
    expect(isAllowed(getPod)).toBe(false)
    putRole('r', [readPods])
    expect(isAllowed(getPod)).toBe(true)
    reader.remove(clusterRoles, '', 'r')
    expect(isAllowed(getPod)).toBe(false)
    putRole('r', [readPods])
    putBinding({ role: 'r', subjects: [userSubject('joe')] })
    expect(isAllowed(getPod)).toBe(false)
    expect(isAllowed({ ...getPod, user: user('joe') })).toBe(true)
    reader.remove(clusterRoleBindings, '', 'b')
    expect(isAllowed({ ...getPod, user: user('joe') })).toBe(false)
  })

  test('what was there before the index is read', () => {
    putRole('r', [readPods])
    putBinding({ role: 'r', subjects: [userSubject('jane')] })
    const later = rbacAuthorizer(new RbacIndex(reader, dialect))
    expect(later.authorize(attributes(getPod))).toMatchObject({ decision: 'allow' })
  })

  test("a user's rules are listed, resources and paths apart", () => {
    putRole('one', [readPods, { nonResourceURLs: ['/x'], verbs: ['get'] }])
    putRole('two', [{ ...readPods, resourceNames: ['p'] }], 'a')
    putBinding({ role: 'one', subjects: [userSubject('jane'), groupSubject('devs')] })
    putBinding({ namespace: 'a', role: 'two', kind: 'Role', subjects: [userSubject('jane')] })
    expect(authorizer.rulesFor?.(jane, 'a')).toEqual({
      resourceRules: [readPods, { ...readPods, resourceNames: ['p'] }],
      nonResourceRules: [{ nonResourceURLs: ['/x'], verbs: ['get'] }],
      incomplete: false,
      errors: [],
    })
    expect(authorizer.rulesFor?.(jane, 'b').resourceRules).toEqual([readPods])
  })
})

describe('the index against a slow model', () => {
  const names = ['a', 'b']
  const rule: fc.Arbitrary<PolicyRule> = fc.oneof(
    fc.record({
      apiGroups: fc.subarray(['', 'apps', '*'], { minLength: 1 }),
      resources: fc.subarray(['pods', 'pods/log', '*/log', '*', 'nodes'], { minLength: 1 }),
      verbs: fc.subarray(['get', 'list', '*'], { minLength: 1 }),
      resourceNames: fc.subarray(['x', 'y']),
    }),
    fc.record({
      nonResourceURLs: fc.subarray(['/m', '/m/*', '*', '/h']),
      verbs: fc.subarray(['get', '*'], { minLength: 1 }),
    }),
  )
  const subject: fc.Arbitrary<Subject> = fc.oneof(
    fc.record({
      kind: fc.constant('User'),
      name: fc.constantFrom('u', 'system:serviceaccount:a:s'),
    }),
    fc.record({ kind: fc.constant('Group'), name: fc.constantFrom('g', 'h') }),
    fc.record({
      kind: fc.constant('ServiceAccount'),
      name: fc.constantFrom('s', 't'),
      namespace: fc.constantFrom(...names),
    }),
  )
  const namespace = fc.constantFrom(undefined, ...names)
  const step = fc.oneof(
    fc.record({
      what: fc.constant('role' as const),
      name: fc.constantFrom(...names),
      namespace,
      rules: fc.option(fc.array(rule, { minLength: 1, maxLength: 3 }), { nil: undefined, freq: 6 }),
    }),
    fc.record({
      what: fc.constant('binding' as const),
      name: fc.constantFrom(...names),
      namespace,
      roleKind: fc.constantFrom('Role' as const, 'ClusterRole' as const),
      role: fc.constantFrom(...names),
      subjects: fc.option(fc.array(subject, { minLength: 1, maxLength: 3 }), {
        nil: undefined,
        freq: 6,
      }),
    }),
  )
  const question = fc.record({
    user: fc.constantFrom(user('u', 'g'), user('v', 'g', 'h'), user('system:serviceaccount:a:s')),
    verb: fc.constantFrom('get', 'list', 'delete'),
    group: fc.constantFrom('', 'apps', 'x'),
    resource: fc.constantFrom('pods', 'nodes'),
    subresource: fc.constantFrom('', 'log'),
    namespace: fc.constantFrom('', ...names),
    name: fc.constantFrom('', 'x', 'z'),
  })
  const pathQuestion = fc.record({
    user: fc.constantFrom(user('u', 'g'), user('v', 'h')),
    verb: fc.constantFrom('get', 'post'),
    path: fc.constantFrom('/m', '/m/x', '/h', '/z'),
  })

  /** The definition, read straight off the objects. */
  function model(world: FakeReader, asked: AuthorizationAttributes): boolean {
    const bindings = [...world.list(clusterRoleBindings), ...world.list(roleBindings)]
    return bindings.some((binding) => {
      const at = binding.metadata.namespace
      if (at !== undefined && (!asked.isResourceRequest || at !== asked.namespace)) return false
      const subjects = binding['subjects'] as Subject[]
      const isBound = subjects.some(({ kind, name, namespace: of }) =>
        kind === 'User'
          ? name === asked.user.name
          : kind === 'Group'
            ? asked.user.groups.includes(name)
            : asked.user.name === `system:serviceaccount:${of}:${name}`,
      )
      if (!isBound) return false
      const { kind, name } = binding['roleRef'] as { kind: string; name: string }
      const role =
        kind === 'Role' ? world.get(roles, at ?? 'none', name) : world.get(clusterRoles, '', name)
      return ((role?.['rules'] ?? []) as PolicyRule[]).some((one) => {
        const has = (list: string[] | undefined, ...values: string[]): boolean =>
          values.some((value) => list?.includes(value) === true)
        if (!has(one.verbs, asked.verb, '*')) return false
        if (!asked.isResourceRequest) {
          return (one.nonResourceURLs ?? []).some((url) =>
            url.endsWith('*') ? asked.path.startsWith(url.slice(0, -1)) : url === asked.path,
          )
        }
        const full = asked.subresource ? `${asked.resource}/${asked.subresource}` : asked.resource
        const stars = asked.subresource ? ['*', `*/${asked.subresource}`] : ['*']
        const isNamed = !one.resourceNames?.length || has(one.resourceNames, asked.name)
        return has(one.apiGroups, asked.group, '*') && has(one.resources, full, ...stars) && isNamed
      })
    })
  }

  test('decisions are those of the model after every change', () => {
    let allowed = 0
    let asked = 0
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 10, maxLength: 24 }),
        fc.array(fc.oneof(question, pathQuestion), { minLength: 6, maxLength: 6 }),
        (steps, questions) => {
          const world = new FakeReader()
          const subjectUnderTest = rbacAuthorizer(new RbacIndex(world, dialect))
          for (const one of steps) {
            const isCluster = one.namespace === undefined
            const resource =
              one.what === 'role'
                ? isCluster
                  ? clusterRoles
                  : roles
                : isCluster
                  ? clusterRoleBindings
                  : roleBindings
            const metadata = {
              name: one.name,
              ...(isCluster ? {} : { namespace: one.namespace as string }),
            }
            const isGone =
              one.what === 'role' ? one.rules === undefined : one.subjects === undefined
            const there = world.get(resource, one.namespace ?? '', one.name)
            if (isGone && there) world.remove(resource, one.namespace ?? '', one.name)
            else if (!isGone && one.what === 'role')
              world.put(resource, { metadata, rules: one.rules })
            else if (!isGone && one.what === 'binding') {
              const kind = isCluster ? 'ClusterRole' : one.roleKind
              const roleRef = { apiGroup, kind, name: one.role }
              world.put(resource, { metadata, subjects: one.subjects, roleRef })
            }
            for (const ask of questions) {
              const all = attributes(ask)
              const expected = model(world, all)
              asked += 1
              allowed += expected ? 1 : 0
              const { decision } = subjectUnderTest.authorize(all) as Decision
              expect(decision).toBe(expected ? 'allow' : 'no-opinion')
            }
          }
        },
      ),
      { numRuns: 300 },
    )
    expect(allowed / asked).toBeGreaterThan(0.05)
  })
})
