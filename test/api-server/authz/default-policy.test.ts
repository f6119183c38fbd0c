import { describe, expect, test } from 'vitest'
import { authorizationOf } from '../../support/authorization.ts'
import type {
  AuthorizationAttributes,
  UserInfo,
} from '../../../components/api-server/request/request.ts'
import { nodeTokenGroup } from '../../../cluster/plan/bootstrap-token.ts'
import { joinObjects } from '../../../cluster/plan/join-objects.ts'
import { policyObjects } from '../../../components/api/bootstrap-policy/policy-objects.ts'
import { defaultFeatureGates } from '../../../components/api/feature-gates.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { FakeReader } from '../../support/fake-reader.ts'
import { attributes, user } from './attributes.ts'

describe.each([dialects.kubernetes, dialects.svc])('the default policy ($name)', (dialect) => {
  const resources = resourcesOf(dialect)
  const policy = policyObjects(dialect, {
    servesMetrics: false,
    gates: defaultFeatureGates,
  })
  const reader = new FakeReader()
  for (const kind of ['clusterRoles', 'clusterRoleBindings', 'roles', 'roleBindings'] as const) {
    for (const object of policy[kind]) reader.put(resources[kind], object)
  }
  const server = 'https://192.0.2.1:6443'
  for (const { resource, object } of joinObjects({ dialect, server, authorityPem: '' })) {
    reader.put(resource, object)
  }
  const { authorizer } = authorizationOf(['Node', 'RBAC'], { reader, dialect })
  const isAllowed = async (
    given: Partial<AuthorizationAttributes> & { user: UserInfo },
  ): Promise<boolean> => (await authorizer.authorize(attributes(given))).decision === 'allow'

  const jane = user('jane', 'system:authenticated')
  const stranger = user('system:anonymous', 'system:unauthenticated')
  const domain = (stem: string): string => `${stem}.${dialect.apiDomain}`
  const roleNamed = (name: string) =>
    policy.clusterRoles.find((role) => role.metadata.name === name)

  test('[RBAC-032] every default is marked as such', () => {
    const marked = [...policy.clusterRoles, ...policy.clusterRoleBindings, ...policy.roles]
    for (const { metadata } of marked) {
      expect(metadata.labels).toMatchObject({
        [`${dialect.labelDomain}/bootstrapping`]: 'rbac-defaults',
      })
    }
    expect(marked.length).toBeGreaterThan(100)
  })

  test('[RBAC-035] cluster-admin is bound to system:masters', () => {
    const binding = policy.clusterRoleBindings.find(
      ({ metadata }) => metadata.name === 'cluster-admin',
    )
    expect(binding).toMatchObject({
      roleRef: { kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'Group', name: 'system:masters' }],
    })
  })

  test('[RBAC-027] admin, edit and view gather what is labelled for them', () => {
    for (const name of ['admin', 'edit', 'view']) {
      expect(roleNamed(name)?.['aggregationRule']).toEqual({
        clusterRoleSelectors: [
          { matchLabels: { [`${domain('rbac.authorization')}/aggregate-to-${name}`]: 'true' } },
        ],
      })
    }
    const label = `${domain('rbac.authorization')}/aggregate-to-edit`
    expect(roleNamed('view')?.metadata.labels).toMatchObject({ [label]: 'true' })
  })

  test('[RBAC-037] everyone authenticated may discover and review himself; nobody else', async () => {
    const review = {
      verb: 'create',
      group: domain('authentication'),
      resource: 'selfsubjectreviews',
    }
    expect(await isAllowed({ user: jane, path: '/apis/apps/v1' })).toBe(true)
    expect(await isAllowed({ user: jane, ...review })).toBe(true)
    expect(await isAllowed({ user: stranger, path: '/apis' })).toBe(false)
    expect(await isAllowed({ user: stranger, ...review })).toBe(false)
    expect(await isAllowed({ user: stranger, path: '/version' })).toBe(true)
    expect(await isAllowed({ user: jane, path: '/metrics' })).toBe(false)
    expect(await isAllowed({ user: user('x', 'system:monitoring'), path: '/metrics' })).toBe(true)
  })

  test('each controller has a role bound to its account', async () => {
    const account = user(`system:serviceaccount:${dialect.systemNamespace}:deployment-controller`)
    const create = { verb: 'create', group: 'apps', resource: 'replicasets', namespace: 'a' }
    expect(await isAllowed({ user: account, ...create })).toBe(true)
    expect(await isAllowed({ user: account, verb: 'list', resource: 'secrets' })).toBe(false)
  })

  test('[RBAC-039] [RBAC-040] view reads no secrets and edit writes no endpoints', () => {
    const rules = (name: string) =>
      (roleNamed(name)?.['rules'] ?? []) as { resources: string[]; verbs: string[] }[]
    expect(rules('system:aggregate-to-view').flatMap((rule) => rule.resources)).not.toContain(
      'secrets',
    )
    for (const name of ['system:aggregate-to-edit', 'system:aggregate-to-admin']) {
      const written = rules(name).filter(({ verbs }) => verbs.includes('create'))
      const names = written.flatMap((rule) => rule.resources)
      expect(names).not.toContain('endpoints')
      expect(names).not.toContain('endpointslices')
    }
  })

  test('a joining node may ask for a certificate and have it approved', async () => {
    const joining = user('system:bootstrap:abcdef', 'system:bootstrappers', nodeTokenGroup)
    const csr = {
      group: domain('certificates'),
      resource: 'certificatesigningrequests',
      verb: 'create',
    }
    expect(await isAllowed({ user: joining, ...csr })).toBe(true)
    expect(await isAllowed({ user: joining, ...csr, subresource: 'nodeclient' })).toBe(true)
    expect(await isAllowed({ user: joining, ...csr, subresource: 'selfnodeclient' })).toBe(false)
    const node = user('system:node:n1', 'system:nodes')
    expect(await isAllowed({ user: node, ...csr, subresource: 'selfnodeclient' })).toBe(true)
    expect(await isAllowed({ user: user('x', 'system:bootstrappers'), ...csr })).toBe(false)
  })

  test('anyone may read cluster-info and nothing beside it', async () => {
    const map = { user: stranger, resource: 'configmaps', namespace: dialect.publicNamespace }
    expect(await isAllowed({ ...map, name: 'cluster-info' })).toBe(true)
    expect(await isAllowed({ ...map, name: 'other' })).toBe(false)
  })

  test('no name of another dialect appears', () => {
    const other = dialect.name === 'svc' ? /k8s\.io|kubernetes\.io|kube-system|kube-public/ : /svc/
    expect(JSON.stringify(policy)).not.toMatch(other)
  })
})
