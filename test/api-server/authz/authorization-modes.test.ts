import { describe, expect, test } from 'vitest'
import { parseAuthorizationModes } from '../../../components/api-server/authz/authorization-modes.ts'
import type { LocalMode } from '../../../components/api-server/authz/authorization-modes.ts'
import type { Authorizer, Decision } from '../../../components/api-server/authz/authorizer.ts'
import { forbiddenError } from '../../../components/api-server/request/forbidden.ts'
import { authorizeInOrder } from '../../../components/api-server/authz/union.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { authorizationOf } from '../../support/authorization.ts'
import { FakeReader } from '../../support/fake-reader.ts'
import { attributes, user } from './attributes.ts'

const asked = attributes({ user: user('jane'), resource: 'pods' })

describe('--authorization-mode', () => {
  test('[AUTHZ-029] is an ordered list; an unknown or repeated mode is refused', () => {
    expect(parseAuthorizationModes('Node,RBAC')).toEqual(['Node', 'RBAC'])
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
  })

  test('the reason follows', () => {
    const error = forbiddenError(attributes({ user: jane, resource: 'pods' }), 'because')
    expect(error.message).toMatch(/at the cluster scope: because$/)
    expect(error.details).toEqual({ kind: 'pods' })
  })
})
