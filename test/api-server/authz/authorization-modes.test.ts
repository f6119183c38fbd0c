import { describe, expect, test } from 'vitest'
import {
  createLocalModules,
  parseAuthorizationModes,
} from '../../../components/api-server/authz/authorization-modes.ts'
import type { LocalMode } from '../../../components/api-server/authz/authorization-modes.ts'
import type { Authorizer, Decision } from '../../../components/api-server/authz/authorizer.ts'
import { forbiddenError } from '../../../components/api-server/request/forbidden.ts'
import { authorizeInOrder } from '../../../components/api-server/authz/union.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { authorizationOf } from '../../support/authorization.ts'
import { FakeReader } from '../../support/fake-reader.ts'
import { attributes, nodeUser, user } from './attributes.ts'

const asked = attributes({ user: user('jane'), resource: 'pods' })

describe('--authorization-mode', () => {
  test('[AUTHZ-029] is an ordered list; an unknown or repeated mode is refused', () => {
    expect(parseAuthorizationModes('Node,RBAC')).toEqual(['Node', 'RBAC'])
    expect(parseAuthorizationModes(' Node , RBAC')).toEqual(['Node', 'RBAC'])
    expect(() => parseAuthorizationModes('RBAC,Magic')).toThrow(
      'authorization-mode "Magic" is not a valid mode; known are Node, RBAC, ABAC, Webhook, AlwaysAllow, AlwaysDeny',
    )
    expect(() => parseAuthorizationModes('')).toThrow('not a valid mode')
    expect(() => parseAuthorizationModes('RBAC,RBAC')).toThrow('more than once')
  })

  test.each<[LocalMode[], Decision['decision']]>([
    [['AlwaysAllow'], 'allow'],
    [['AlwaysDeny'], 'no-opinion'],
    [['Node', 'RBAC'], 'no-opinion'],
    [['AlwaysDeny', 'AlwaysAllow'], 'allow'],
  ])('%j decides %s for a stranger', async (modes, decision) => {
    const options = { reader: new FakeReader(), dialect: dialects.kubernetes }
    const { authorizer } = authorizationOf(modes, options)
    expect(await authorizer.authorize(asked)).toMatchObject({ decision })
  })

  test('[AUTHZ-025] system:masters passes before every module', async () => {
    const options = { reader: new FakeReader(), dialect: dialects.kubernetes }
    const { authorizer } = authorizationOf(['AlwaysDeny'], options)
    const admin = { ...asked, user: user('root', 'system:masters') }
    expect(await authorizer.authorize(admin)).toMatchObject({ decision: 'allow' })
  })
})

describe('modules that need no file', () => {
  const dialect = dialects.kubernetes
  const { pods, nodes, clusterRoles, clusterRoleBindings } = resourcesOf(dialect)
  const agent = nodeUser('n1')
  const itsSecret = attributes({ user: agent, resource: 'secrets', namespace: 'a', name: 's' })
  const decisionOf = (module: Authorizer, given = asked) =>
    (module.authorize(given) as Decision).decision

  function setUp(more: { authorizeNodeWithSelectors?: boolean } = {}) {
    const reader = new FakeReader()
    const modules = createLocalModules({ reader, dialect, ...more })
    const putPod = (): void => {
      const spec = { nodeName: 'n1', containers: [], imagePullSecrets: [{ name: 's' }] }
      reader.put(pods, { metadata: { namespace: 'a', name: 'p' }, spec })
    }
    const grant = (): void => {
      const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
      reader.put(clusterRoles, { metadata: { name: 'r' }, rules })
      reader.put(clusterRoleBindings, {
        metadata: { name: 'r' },
        subjects: [{ kind: 'User', name: 'jane' }],
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' },
      })
    }
    return { reader, modules, putPod, grant }
  }

  test('there is one of each mode, with its name', () => {
    const { modules } = setUp()
    for (const mode of ['Node', 'RBAC', 'AlwaysAllow', 'AlwaysDeny'] as const) {
      expect(modules.of(mode).name).toBe(mode)
    }
  })

  test('they follow the objects until they are stopped', () => {
    const { modules, putPod, grant } = setUp()
    const [node, again, rbac] = [modules.of('Node'), modules.of('Node'), modules.of('RBAC')]
    expect([decisionOf(node, itsSecret), decisionOf(rbac)]).toEqual(['no-opinion', 'no-opinion'])
    putPod()
    grant()
    expect([decisionOf(node, itsSecret), decisionOf(rbac)]).toEqual(['allow', 'allow'])
    expect(decisionOf(again, itsSecret)).toBe('allow')
    const other = setUp()
    const late = other.modules.of('Node')
    expect(decisionOf(late, itsSecret)).toBe('no-opinion')
    other.modules.stop()
    other.putPod()
    other.grant()
    expect(decisionOf(late, itsSecret)).toBe('no-opinion')
    expect(decisionOf(other.modules.of('RBAC'))).toBe('no-opinion')
    setUp().modules.stop()
  })

  test('node agents read their own Node alone, unless selectors are turned off', () => {
    const others = attributes({ user: agent, resource: 'nodes', name: 'n2' })
    for (const [more, decision] of [
      [{}, 'no-opinion'],
      [{ authorizeNodeWithSelectors: true }, 'no-opinion'],
      [{ authorizeNodeWithSelectors: false }, 'allow'],
    ] as const) {
      const { reader, modules } = setUp(more)
      reader.put(nodes, { metadata: { name: 'n2' } })
      expect(decisionOf(modules.of('Node'), others)).toBe(decision)
    }
  })

  test('the rules of AlwaysAllow are all there are, those of AlwaysDeny none', () => {
    const { modules } = setUp()
    expect(modules.of('AlwaysAllow').rulesFor?.(asked.user, 'a')).toEqual({
      resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
      nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
      incomplete: false,
    })
    expect(modules.of('AlwaysDeny').rulesFor?.(asked.user, 'a')).toEqual({
      resourceRules: [],
      nonResourceRules: [],
      incomplete: false,
    })
  })
})

describe('several authorizers', () => {
  const says = (decision: Decision['decision'], reason: string, isLater: boolean): Authorizer => ({
    name: 'x',
    authorize: () => {
      const answer: Decision = { decision, reason }
      return isLater ? Promise.resolve(answer) : answer
    },
  })

  test.each([false, true])(
    '[AUTHZ-015] [AUTHZ-016] the first opinion is final (later: %s)',
    async (isLater) => {
      const pass = says('no-opinion', 'p', isLater)
      const allow = says('allow', 'a', isLater)
      const deny = says('deny', 'd', isLater)
      expect(await authorizeInOrder([pass, allow, deny]).authorize(asked)).toMatchObject({
        reason: 'a',
      })
      expect(await authorizeInOrder([pass, deny, allow]).authorize(asked)).toMatchObject({
        reason: 'd',
      })
      expect(await authorizeInOrder([pass, pass]).authorize(asked)).toEqual({
        decision: 'no-opinion',
        reason: 'p\np',
      })
    },
  )
})

describe('the 403 text', () => {
  const jane = user('jane')
  test.each([
    [
      { resource: 'configmaps', verb: 'list', namespace: 't1' },
      'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "t1"',
    ],
    [
      {
        group: 'apps',
        resource: 'deployments',
        subresource: 'scale',
        name: 'd',
        verb: 'update',
        namespace: 'a',
      },
      'deployments.apps "d" is forbidden: User "jane" cannot update resource "deployments/scale" in API group "apps" in the namespace "a"',
    ],
    [
      { resource: 'nodes', verb: 'watch' },
      'nodes is forbidden: User "jane" cannot watch resource "nodes" in API group "" at the cluster scope',
    ],
    [{ path: '/metrics' }, 'forbidden: User "jane" cannot get path "/metrics"'],
  ])('%j', (given, message) => {
    const error = forbiddenError(attributes({ user: jane, ...given }), '')
    expect(error.message).toBe(message)
    expect(error.code).toBe(403)
    if ('path' in given) expect(error.details).toEqual({})
  })

  test('the reason follows', () => {
    const error = forbiddenError(attributes({ user: jane, resource: 'pods' }), 'because')
    expect(error.message).toMatch(/at the cluster scope: because$/)
    expect(error.details).toEqual({ kind: 'pods' })
  })
})
