import { beforeEach, describe, expect, test } from 'vitest'
import type { Decision } from '../../../components/api-server/authz/authorizer.ts'
import { createEscalationCheck } from '../../../components/api-server/authz/escalation.ts'
import type { EscalationRequest } from '../../../components/api-server/authz/escalation.ts'
import { RbacIndex } from '../../../components/api-server/authz/rbac-index.ts'
import { rbacAuthorizer } from '../../../components/api-server/authz/rbac.ts'
import {
  compactRules,
  describeRule,
  uncoveredRules,
} from '../../../components/api-server/authz/rule-covers.ts'
import { dialects } from '../../../components/api/dialect.ts'
import type { PolicyRule } from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { AuthorizationAttributes } from '../../../components/api-server/request/request.ts'
import { FakeReader } from '../../support/fake-reader.ts'
import { attributes, user } from './attributes.ts'

const dialect = dialects.kubernetes
const { roles, clusterRoles, roleBindings, clusterRoleBindings } = resourcesOf(dialect)
const group = 'rbac.authorization.k8s.io'
const jane = user('jane', 'devs')
const getPods: PolicyRule = { apiGroups: [''], resources: ['pods'], verbs: ['get'] }
const getSecrets: PolicyRule = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] }

let reader: FakeReader
let index: RbacIndex
let check: ReturnType<typeof createEscalationCheck>

beforeEach(() => {
  reader = new FakeReader()
  index = new RbacIndex(reader, dialect)
  check = createEscalationCheck({ index, authorizer: rbacAuthorizer(index), reader, dialect })
})

/** Escalate and bind are up to another authorizer, which says this. */
function answer(decision: Decision): AuthorizationAttributes[] {
  const asked: AuthorizationAttributes[] = []
  const authorize = (one: AuthorizationAttributes): Decision => (asked.push(one), decision)
  check = createEscalationCheck({ index, authorizer: { name: 'x', authorize }, reader, dialect })
  return asked
}

/** Gives jane the rules, cluster-wide or in a namespace. */
function grant(rules: PolicyRule[], namespace?: string): void {
  reader.put(clusterRoles, { metadata: { name: 'hers' }, rules })
  reader.put(namespace === undefined ? clusterRoleBindings : roleBindings, {
    metadata: { name: 'hers', ...(namespace && { namespace }) },
    subjects: [{ kind: 'User', name: 'jane' }],
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'hers' },
  })
}

const role = (rules: PolicyRule[], more = {}): KubeObject => ({
  metadata: { name: 'r', namespace: 'a' },
  rules,
  ...more,
})

async function write(given: Partial<EscalationRequest> & { object: KubeObject }): Promise<string> {
  const request = { resource: roles, namespace: 'a', old: undefined, user: jane, ...given }
  return await check(request).then(
    () => 'allowed',
    (error: unknown) => (error as Error).message,
  )
}

describe('writing roles', () => {
  test('[RBAC-028] a role may grant only what its writer holds in the same scope', async () => {
    grant([getPods], 'a')
    expect(await write({ object: role([getPods]) })).toBe('allowed')
    expect(await write({ object: role([getSecrets]) })).toBe(
      'roles.rbac.authorization.k8s.io "r" is forbidden: user "jane" (groups=["devs"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
    )
    const cluster = { resource: clusterRoles, namespace: '' }
    expect(await write({ ...cluster, object: role([getPods]) })).toContain('not currently held')
  })

  test('an update is checked like a creation, unless it only lets go of ownership', async () => {
    const old = role([getSecrets], { metadata: { name: 'r', namespace: 'a', finalizers: ['x'] } })
    expect(await write({ object: role([getSecrets]), old })).toBe('allowed')
    const relabelled = role([getSecrets], { metadata: { name: 'r', labels: { a: 'b' } } })
    expect(await write({ object: relabelled, old })).toContain('not currently held')
  })

  test('[RBAC-029] the verb escalate permits it', async () => {
    grant([{ apiGroups: [group], resources: ['roles'], verbs: ['escalate'] }], 'a')
    expect(await write({ object: role([getSecrets]) })).toBe('allowed')
    const cluster = { resource: clusterRoles, namespace: '' }
    expect(await write({ ...cluster, object: role([getSecrets]) })).toContain('not currently held')
  })

  test('[RBAC-029] escalate on a named role permits it for that role alone', async () => {
    const rule = { apiGroups: [group], resources: ['roles'], verbs: ['escalate'] }
    grant([{ ...rule, resourceNames: ['r'] }], 'a')
    expect(await write({ object: role([getSecrets]) })).toBe('allowed')
    const other = role([getSecrets], { metadata: { name: 'other', namespace: 'a' } })
    expect(await write({ object: other })).toContain('not currently held')
    const unnamed = role([getSecrets], { metadata: { generateName: 'r', namespace: 'a' } })
    expect(await write({ object: unnamed })).toContain('not currently held')
  })

  test('the refusal names every group of the writer, and a rule a line', async () => {
    const writer = user('jane', 'devs', 'system:authenticated')
    expect(await write({ object: role([getPods, getSecrets]), user: writer })).toBe(
      [
        'roles.rbac.authorization.k8s.io "r" is forbidden: user "jane" (groups=["devs" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:',
        '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
      ].join('\n'),
    )
  })

  test('a Role of another API group grants nothing and is not checked', async () => {
    const resource = { ...roles, group: 'example.com' }
    expect(await write({ resource, object: role([getSecrets]) })).toBe('allowed')
  })

  test('system:masters may grant anything', async () => {
    const admin = user('x', 'system:masters')
    expect(await write({ object: role([getSecrets]), user: admin })).toBe('allowed')
  })

  test('gathering rules by label needs everything', async () => {
    grant([{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'create', 'update'] }])
    const object = role([], { aggregationRule: { clusterRoleSelectors: [] } })
    expect(await write({ resource: clusterRoles, namespace: '', object })).toBe(
      'clusterroles.rbac.authorization.k8s.io "r" is forbidden: must have cluster-admin privileges to use the aggregationRule',
    )
    grant([
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      { nonResourceURLs: ['*'], verbs: ['*'] },
    ])
    expect(await write({ resource: clusterRoles, namespace: '', object })).toBe('allowed')
  })

  const all: PolicyRule = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] }
  const allPaths: PolicyRule = { nonResourceURLs: ['*'], verbs: ['*'] }
  test.each<[string, PolicyRule[]]>([
    ['every API group', [{ ...all, apiGroups: [''] }, allPaths]],
    ['every resource', [{ ...all, resources: [''] }, allPaths]],
    ['every verb', [{ ...all, verbs: ['get'] }, allPaths]],
    ['any resource', [allPaths]],
    ['every path', [all, { ...allPaths, nonResourceURLs: ['/healthz'] }]],
    ['every verb on paths', [all, { ...allPaths, verbs: ['get'] }]],
    ['any path', [all]],
  ])('gathering rules by label is refused to who lacks %s', async (_, rules) => {
    answer({ decision: 'no-opinion', reason: '' })
    grant([all, allPaths])
    expect(await write({ object: role([], { aggregationRule: {} }) })).toBe('allowed')
    grant(rules)
    const object = role([], { aggregationRule: { clusterRoleSelectors: [] } })
    expect(await write({ resource: clusterRoles, namespace: '', object })).toContain(
      'must have cluster-admin privileges',
    )
  })

  test('to stop gathering by label needs everything too', async () => {
    const old = role([], { aggregationRule: { clusterRoleSelectors: [] } })
    const cluster = { resource: clusterRoles, namespace: '' }
    expect(await write({ ...cluster, object: role([]), old })).toContain(
      'must have cluster-admin privileges',
    )
    expect(await write({ ...cluster, object: role([]) })).toBe('allowed')
  })
})

describe('writing bindings', () => {
  const binding = (name: string, kind = 'ClusterRole'): KubeObject => ({
    metadata: { name: 'b', namespace: 'a' },
    subjects: [],
    roleRef: { apiGroup: group, kind, name },
  })
  const toRole = (name: string, kind?: string) =>
    write({ resource: roleBindings, object: binding(name, kind) })

  test('[RBAC-030] a binding may only bind a role whose permissions its writer holds', async () => {
    grant([getPods])
    reader.put(clusterRoles, { metadata: { name: 'pods' }, rules: [getPods] })
    reader.put(roles, { metadata: { name: 'secrets', namespace: 'a' }, rules: [getSecrets] })
    expect(await toRole('pods')).toBe('allowed')
    expect(await toRole('secrets', 'Role')).toContain(
      'rolebindings.rbac.authorization.k8s.io "b" is forbidden: user "jane"',
    )
    expect(await toRole('none')).toBe('clusterroles.rbac.authorization.k8s.io "none" not found')
  })

  test('a cluster role binding needs the permissions in every namespace', async () => {
    const cluster = { resource: clusterRoleBindings, namespace: '' }
    reader.put(clusterRoles, { metadata: { name: 'pods' }, rules: [getPods] })
    grant([getPods], 'a')
    expect(await write({ ...cluster, object: binding('pods') })).toContain('not currently held')
    grant([getPods])
    expect(await write({ ...cluster, object: binding('pods') })).toBe('allowed')
  })

  test('authorizers are asked about every version, as the writer, in the namespace of the binding', async () => {
    const asked = answer({ decision: 'allow', reason: '' })
    expect(await toRole('view')).toBe('allowed')
    expect(asked).toEqual([
      attributes({
        user: jane,
        verb: 'bind',
        group,
        version: '*',
        resource: 'clusterroles',
        namespace: 'a',
        name: 'view',
      }),
    ])
  })

  test('[RBAC-031] the verb bind on the role permits it', async () => {
    const rule = { apiGroups: [group], resources: ['clusterroles'], verbs: ['bind'] }
    grant([{ ...rule, resourceNames: ['view'] }])
    reader.put(clusterRoles, { metadata: { name: 'view' }, rules: [getSecrets] })
    reader.put(clusterRoles, { metadata: { name: 'admin' }, rules: [getSecrets] })
    expect(await toRole('view')).toBe('allowed')
    expect(await toRole('admin')).toContain('not currently held')
  })
})

describe('covering', () => {
  const cases: [string, PolicyRule[], PolicyRule[], number][] = [
    ['itself', [getPods], [getPods], 0],
    ['verbs one by one', [getPods], [{ ...getPods, verbs: ['get', 'list'] }], 1],
    [
      'from several rules',
      [getPods, { ...getPods, verbs: ['list'] }],
      [{ ...getPods, verbs: ['get', 'list'] }],
      0,
    ],
    [
      'a star verb only by a star',
      [{ ...getPods, verbs: ['get', 'list'] }],
      [{ ...getPods, verbs: ['*'] }],
      1,
    ],
    [
      'everything by stars',
      [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
      [getPods, { ...getSecrets, verbs: ['*'] }],
      0,
    ],
    ['a sub-resource not by its resource', [getPods], [{ ...getPods, resources: ['pods/log'] }], 1],
    [
      'a sub-resource by */sub',
      [{ ...getPods, resources: ['*/log'] }],
      [{ ...getPods, resources: ['pods/log'] }],
      0,
    ],
    ['a name by all names', [getPods], [{ ...getPods, resourceNames: ['x'] }], 0],
    ['all names not by one', [{ ...getPods, resourceNames: ['x'] }], [getPods], 1],
    [
      'one of two names',
      [{ ...getPods, resourceNames: ['x'] }],
      [{ ...getPods, resourceNames: ['x', 'y'] }],
      1,
    ],
    [
      'a path by a prefix',
      [{ nonResourceURLs: ['/a/*'], verbs: ['get'] }],
      [{ nonResourceURLs: ['/a/b'], verbs: ['get'] }],
      0,
    ],
    [
      'a prefix by itself, with however many stars',
      [{ nonResourceURLs: ['/a/**'], verbs: ['get'] }],
      [{ nonResourceURLs: ['/a/*', '/a/**'], verbs: ['get'] }],
      0,
    ],
    [
      'a path not by one that it begins with',
      [{ nonResourceURLs: ['/a', '/a/'], verbs: ['get'] }],
      [{ nonResourceURLs: ['/a/b', '/ab', '/a/*'], verbs: ['get'] }],
      3,
    ],
    [
      'a path not for another verb',
      [{ nonResourceURLs: ['/a'], verbs: ['get'] }],
      [{ nonResourceURLs: ['/a'], verbs: ['get', 'post'] }],
      1,
    ],
    [
      'a resource not by all sub-resources of its name',
      [{ ...getPods, resources: ['*/pods'] }],
      [getPods],
      1,
    ],
    [
      'a sub-resource not by another one of all resources',
      [{ ...getPods, resources: ['*/log'] }],
      [{ ...getPods, resources: ['pods/exec'] }],
      1,
    ],
    ['a group not by another', [getPods], [{ ...getPods, apiGroups: ['', 'apps'] }], 1],
    [
      'a path not by resources',
      [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
      [{ nonResourceURLs: ['/a'], verbs: ['get'] }],
      1,
    ],
    ['a resource not by paths', [{ nonResourceURLs: ['*'], verbs: ['*'] }], [getPods], 1],
  ]
  test.each(cases)('%s', (_, owner, wanted, missing) => {
    expect(uncoveredRules(owner, wanted)).toHaveLength(missing)
  })

  test('a rule of countless grants is covered as a whole or not at all', () => {
    const many = (prefix: string) => Array.from({ length: 1000 }, (_, index) => `${prefix}${index}`)
    const huge = { apiGroups: many('g'), resources: many('r'), verbs: many('v') }
    const all = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] }
    expect(uncoveredRules([getPods], [huge, getPods])).toEqual([huge])
    expect(uncoveredRules([all], [huge])).toEqual([])
    expect(uncoveredRules([huge], [huge])).toEqual([])
  })

  test('names and paths count too', () => {
    const many = (prefix: string) => Array.from({ length: 1000 }, (_, index) => `${prefix}${index}`)
    const verbs = many('v')
    const names = { apiGroups: [''], resources: ['pods'], resourceNames: many('n'), verbs }
    const paths = { nonResourceURLs: many('/p'), verbs }
    for (const huge of [names, paths]) {
      expect(uncoveredRules([], [huge])).toEqual([huge])
      expect(uncoveredRules([{ ...huge, verbs: ['*'] }], [huge])).toEqual([])
    }
    const few = { ...names, resourceNames: ['a', 'b'] }
    expect(uncoveredRules([], [few])).toHaveLength(2000)
    // All rules together.
    const some = Array.from({ length: 11 }, () => few)
    expect(uncoveredRules([], some)).toHaveLength(10 * 2000 + 1)
  })

  test('of a rule that is covered as a whole, everything has to be covered', () => {
    const verbs = Array.from({ length: 30_000 }, (_, index) => `v${index}`)
    const huge = { apiGroups: [''], resources: ['pods', 'pods/log', 'nodes/log'], verbs }
    const holding = (...resources: string[]) =>
      uncoveredRules([{ apiGroups: ['*'], resources, verbs: ['*'] }], [huge])
    expect(holding('pods', '*/log')).toEqual([])
    expect(holding('*/log')).toEqual([huge])
    expect(holding('pods')).toEqual([huge])
    expect(holding('pods', 'pods/log')).toEqual([huge])
    const paths = { nonResourceURLs: ['/a', '/b/c'], verbs }
    const owning = (...nonResourceURLs: string[]) =>
      uncoveredRules([{ nonResourceURLs, verbs: ['*'] }], [paths])
    expect(owning('/b/*', '/a')).toEqual([])
    expect(owning('/a')).toEqual([paths])
    const partly = { ...huge, verbs: verbs.slice(1) }
    expect(uncoveredRules([partly], [huge])).toEqual([huge])
  })

  test('missing grants are shown together by resource', () => {
    const wanted = [{ apiGroups: [''], resources: ['pods', 'secrets'], verbs: ['get', 'list'] }]
    expect(compactRules(uncoveredRules([], wanted))).toEqual([
      { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
      { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'] },
    ])
    const path = { nonResourceURLs: ['/a'], verbs: ['get'] }
    const named = { ...getPods, resourceNames: ['x'] }
    expect(compactRules([getPods, path, getPods, named, { ...path, verbs: ['put'] }])).toEqual([
      path,
      { ...path, verbs: ['put'] },
      getPods,
      named,
    ])
  })

  test('a rule is shown with whatever it holds', () => {
    expect(describeRule({ nonResourceURLs: ['/a', '/b'], verbs: ['get'] })).toBe(
      '{NonResourceURLs:["/a" "/b"], Verbs:["get"]}',
    )
    expect(describeRule({ ...getPods, resourceNames: ['x'] })).toBe(
      '{APIGroups:[""], Resources:["pods"], ResourceNames:["x"], Verbs:["get"]}',
    )
  })
})
