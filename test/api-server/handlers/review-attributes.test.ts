import { describe, expect, test } from 'vitest'
import type { AuthenticationResult } from '../../../components/api-server/authn/authenticator.ts'
import type { Authorizer, Decision } from '../../../components/api-server/authz/authorizer.ts'
import { nodeAuthorizer } from '../../../components/api-server/authz/node-authorizer.ts'
import { NodeGraph } from '../../../components/api-server/authz/node-graph.ts'
import { RbacIndex } from '../../../components/api-server/authz/rbac-index.ts'
import { rbacAuthorizer } from '../../../components/api-server/authz/rbac.ts'
import { authorizeInOrder } from '../../../components/api-server/authz/union.ts'
import { createReviews } from '../../../components/api-server/handlers/reviews.ts'
import type {
  AuthorizationAttributes,
  UserInfo,
} from '../../../components/api-server/request/request.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { FakeReader } from '../../support/fake-reader.ts'

const dialect = dialects.kubernetes
const { roles, roleBindings } = resourcesOf(dialect)

/** Judges by RBAC: u may get pods in t1. */
function rbac(): Authorizer {
  const reader = new FakeReader()
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
  reader.put(roles, { metadata: { name: 'r', namespace: 't1' }, rules })
  reader.put(roleBindings, {
    metadata: { name: 'b', namespace: 't1' },
    subjects: [
      { kind: 'User', name: 'u' },
      { kind: 'Group', name: 'g' },
    ],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
  })
  return rbacAuthorizer(new RbacIndex(reader, dialect))
}

function reviewsBy(
  authorizer: Authorizer,
  authenticateToken: (
    token: string,
    audiences: readonly string[],
  ) => AuthenticationResult = () => ({ kind: 'none' }),
) {
  return createReviews({ authorizer, authenticateToken, apiAudiences: ['api'], dialect })
}

const says = (decision: Decision): Authorizer & { asked: AuthorizationAttributes[] } => {
  const asked: AuthorizationAttributes[] = []
  return {
    name: 'x',
    asked,
    authorize: (attributes) => {
      asked.push(attributes)
      return decision
    },
  }
}

const review = (spec: unknown): KubeObject => ({ metadata: {}, spec })
const getPods = { namespace: 't1', verb: 'get', resource: 'pods' }

async function failure(promise: Promise<unknown>): Promise<StatusError> {
  return (await promise.then(
    () => {
      throw new Error('should have been refused')
    },
    (error: unknown) => error,
  )) as StatusError
}

describe('access reviews', () => {
  const reviews = reviewsBy(rbac())

  test('[REVIEW-024] [REVIEW-026] a review about a user tells whether and why', async () => {
    const asked = review({ user: 'u', resourceAttributes: getPods })
    expect(await reviews.subjectAccess(asked)).toEqual({
      ...asked,
      metadata: { creationTimestamp: null },
      status: {
        allowed: true,
        reason: 'RBAC: allowed by RoleBinding "b/t1" of Role "r" to User "u"',
      },
    })
    const other = review({ user: 'u', resourceAttributes: { ...getPods, namespace: 't2' } })
    expect((await reviews.subjectAccess(other))['status']).toEqual({ allowed: false })
  })

  test('[REVIEW-022] each user and group gets his own decision', async () => {
    const status = async (who: object): Promise<unknown> =>
      (await reviews.subjectAccess(review({ ...who, resourceAttributes: getPods })))['status']
        .allowed
    expect(await status({ user: 'v' })).toBe(false)
    expect(await status({ user: 'v', groups: ['g'] })).toBe(true)
    expect(await status({ user: 'v', group: ['g'] })).toBe(true)
  })

  test('[REVIEW-025] an explicit denial shows as denied', async () => {
    const deny = reviewsBy(says({ decision: 'deny', reason: 'no' }))
    const asked = review({ user: 'u', resourceAttributes: getPods })
    expect((await deny.subjectAccess(asked))['status']).toEqual({
      allowed: false,
      denied: true,
      reason: 'no',
    })
  })

  test('[REVIEW-019] all attributes reach the authorizers, selectors too', async () => {
    const authorizer = says({ decision: 'allow', reason: '' })
    const resourceAttributes = {
      namespace: 'n',
      verb: 'v',
      group: 'g',
      version: 'w',
      resource: 'r',
      subresource: 's',
      name: 'm',
      fieldSelector: { requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n1'] }] },
      labelSelector: { rawSelector: 'a in (b,c),!d' },
    }
    await reviewsBy(authorizer).subjectAccess(
      review({ user: 'u', uid: '7', extra: { k: ['v'] }, resourceAttributes }),
    )
    expect(authorizer.asked).toEqual([
      {
        user: { name: 'u', uid: '7', groups: [], extra: { k: ['v'] } },
        isResourceRequest: true,
        namespace: 'n',
        verb: 'v',
        group: 'g',
        version: 'w',
        resource: 'r',
        subresource: 's',
        name: 'm',
        path: '',
        fieldSelector: [{ key: 'spec.nodeName', operator: 'In', values: ['n1'] }],
        labelSelector: [
          { key: 'a', operator: 'In', values: ['b', 'c'] },
          { key: 'd', operator: 'DoesNotExist', values: [] },
        ],
      },
    ])
  })

  test('selectors reach them in one form, what is no such form is left out and reported', async () => {
    const field = 'spec.resourceAttributes.fieldSelector'
    const label = 'spec.resourceAttributes.labelSelector'
    const [ignored, partially] = [
      'ignored due to parse error',
      'partially ignored due to parse error',
    ]
    const one = { key: 'a', operator: 'In', values: ['b'] }
    const asked = async (selectors: object) => {
      const authorizer = says({ decision: 'allow', reason: '' })
      const resourceAttributes = { ...getPods, ...selectors }
      const { status } = await reviewsBy(authorizer).subjectAccess(
        review({ user: 'u', resourceAttributes }),
      )
      const { fieldSelector, labelSelector } = authorizer.asked[0] ?? {}
      return [fieldSelector, labelSelector, status.evaluationError]
    }
    expect(await asked({ fieldSelector: { rawSelector: 'a=b,c!=d' } })).toEqual([
      [one, { key: 'c', operator: 'NotIn', values: ['d'] }],
      undefined,
      undefined,
    ])
    expect(await asked({ labelSelector: { rawSelector: 'a in (' } })).toEqual([
      undefined,
      undefined,
      `${label} ${ignored}`,
    ])
    const odd = { key: 'a', operator: 'Like', values: ['b'] }
    const both = { key: 'a', operator: 'In', values: ['b', 'c'] }
    expect(
      await asked({
        fieldSelector: { requirements: [odd, both, { ...one, operator: '=' }] },
        labelSelector: { requirements: [odd, both, { ...one, key: '-' }] },
      }),
    ).toEqual([undefined, [both], `${field} ${ignored}; ${label} ${partially}`])
  })

  test('a review of no certain version asks for any', async () => {
    const authorizer = says({ decision: 'allow', reason: '' })
    await reviewsBy(authorizer).subjectAccess(review({ user: 'u', resourceAttributes: getPods }))
    expect(authorizer.asked[0]?.version).toBe('*')
  })

  test('[REVIEW-021] a path and a verb are the alternative; both or neither are refused', async () => {
    const authorizer = says({ decision: 'allow', reason: '' })
    const nonResourceAttributes = { path: '/metrics', verb: 'get' }
    await reviewsBy(authorizer).subjectAccess(review({ user: 'u', nonResourceAttributes }))
    expect(authorizer.asked[0]).toMatchObject({
      isResourceRequest: false,
      path: '/metrics',
      verb: 'get',
    })
    const neither = await failure(reviews.subjectAccess(review({ user: 'u' })))
    expect(neither.toStatus()).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message:
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: "null": exactly one of nonResourceAttributes or resourceAttributes must be specified',
      reason: 'Invalid',
      details: {
        group: 'authorization.k8s.io',
        causes: [
          {
            reason: 'FieldValueInvalid',
            message:
              'Invalid value: "null": exactly one of nonResourceAttributes or resourceAttributes must be specified',
            field: 'spec.resourceAttributes',
          },
        ],
      },
      code: 422,
    })
    const both = { user: 'u', resourceAttributes: getPods, nonResourceAttributes }
    expect((await failure(reviews.subjectAccess(review(both)))).code).toBe(422)
    const nobody = await failure(reviews.subjectAccess(review({ resourceAttributes: getPods })))
    expect(nobody.message).toContain('at least one of user or group must be specified')
  })

  test('a selector is given raw or as requirements, and each requirement is whole', async () => {
    const withSelector = (fieldSelector: object) =>
      failure(
        reviews.subjectAccess(
          review({ user: 'u', resourceAttributes: { ...getPods, fieldSelector } }),
        ),
      )
    const requirement = { key: 'a', operator: 'In', values: ['b'] }
    for (const bad of [
      {},
      { rawSelector: 'a=b', requirements: [requirement] },
      { requirements: [{ ...requirement, key: '' }] },
      { requirements: [{ ...requirement, values: [] }] },
      { requirements: [{ ...requirement, operator: 'Exists' }] },
    ]) {
      expect((await withSelector(bad)).code).toBe(422)
    }
  })

  test('a local review judges in its own namespace only', async () => {
    const asked = review({ user: 'u', resourceAttributes: getPods })
    expect((await reviews.localSubjectAccess(asked, 't1'))['status'].allowed).toBe(true)
    const error = await failure(reviews.localSubjectAccess(asked, 't2'))
    expect(error.message).toContain('must match metadata.namespace')
    const path = review({ user: 'u', nonResourceAttributes: { path: '/x', verb: 'get' } })
    expect((await failure(reviews.localSubjectAccess(path, 't1'))).message).toContain('disallowed')
  })

  test('a self review judges the caller', async () => {
    const asked = review({ resourceAttributes: getPods })
    expect(
      (await reviews.selfSubjectAccess(asked, { name: 'u', groups: [] }))['status'].allowed,
    ).toBe(true)
    expect(
      (await reviews.selfSubjectAccess(asked, { name: 'v', groups: [] }))['status'].allowed,
    ).toBe(false)
  })

  test("a rules review lists the caller's rules in a namespace", () => {
    const asked = review({ namespace: 't1' })
    expect(reviews.selfSubjectRules(asked, { name: 'u', groups: [] })).toMatchObject({
      spec: {},
      status: {
        resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
        nonResourceRules: [],
        incomplete: false,
      },
    })
    expect(() => reviews.selfSubjectRules(review({}), { name: 'u', groups: [] })).toThrow(
      'no namespace on request',
    )
  })

  test('the rules of the caller come with what keeps them from being all', () => {
    const reader = new FakeReader()
    const apiGroup = 'rbac.authorization.k8s.io'
    for (const name of ['gone', 'lost']) {
      reader.put(roleBindings, {
        metadata: { name, namespace: 't1' },
        subjects: [{ kind: 'User', name: 'u' }],
        roleRef: { apiGroup, kind: 'Role', name },
      })
    }
    const graph = new NodeGraph(reader, dialect)
    const modules = authorizeInOrder([
      nodeAuthorizer({ graph, reader, dialect, rules: [] }),
      rbacAuthorizer(new RbacIndex(reader, dialect)),
    ])
    const statusOf = (user: UserInfo) =>
      reviewsBy(modules).selfSubjectRules(review({ namespace: 't1' }), user)['status']
    expect(statusOf({ name: 'v', groups: [] })).not.toHaveProperty('evaluationError')
    expect(statusOf({ name: 'u', groups: [] })).toMatchObject({
      incomplete: false,
      evaluationError: `[role.${apiGroup} "gone" not found, role.${apiGroup} "lost" not found]`,
    })
    expect(statusOf({ name: 'system:node:n', groups: ['system:nodes'] })).toMatchObject({
      incomplete: true,
      evaluationError: 'node authorizer does not support user rule resolution',
    })
  })
})

describe('identity reviews', () => {
  const reviews = reviewsBy(rbac())

  test('[REVIEW-011] [REVIEW-012] a self review shows the caller', () => {
    const user = { name: 'u', uid: '7', groups: ['a'], extra: { k: ['v'] } }
    expect(reviews.selfSubject({ metadata: {} }, user)['status']).toEqual({
      userInfo: { username: 'u', uid: '7', groups: ['a'], extra: { k: ['v'] } },
    })
  })

  const knows = reviewsBy(rbac(), (token, audiences) => {
    if (token === 'plain') {
      const extra = { 'example.com/teams': ['x', 'y'], 'example.com/floor': ['3'] }
      return { kind: 'user', user: { name: 'u', uid: '7', groups: ['a'], extra } }
    }
    if (token === 'bound' && audiences.includes('a')) {
      return { kind: 'user', user: { name: 's', groups: [] }, audiences: ['a'] }
    }
    return token === 'expired' ? { kind: 'failed', why: 'expired' } : { kind: 'none' }
  })

  test('[REVIEW-004] [REVIEW-006] [REVIEW-007] a known token shows its user', async () => {
    expect((await knows.token(review({ token: 'plain' })))['status']).toEqual({
      authenticated: true,
      user: {
        username: 'u',
        uid: '7',
        groups: ['a', 'system:authenticated'],
        extra: { 'example.com/teams': ['x', 'y'], 'example.com/floor': ['3'] },
      },
      audiences: ['api'],
    })
  })

  test('a bad token says why, an unknown one that it is unknown', async () => {
    expect((await knows.token(review({ token: 'expired' })))['status']).toEqual({
      user: {},
      error: 'expired',
    })
    expect((await knows.token(review({ token: 'junk' })))['status'].error).toBe(
      'invalid bearer token',
    )
  })

  test('[REVIEW-005] [REVIEW-008] the audiences are those that token and review share', async () => {
    const asked = review({ token: 'bound', audiences: ['a', 'b'] })
    expect((await knows.token(asked))['status']).toMatchObject({
      authenticated: true,
      audiences: ['a'],
    })
    const foreign = review({ token: 'bound', audiences: ['c'] })
    expect((await knows.token(foreign))['status']).not.toHaveProperty('authenticated')
  })

  test('a review without a token is refused', async () => {
    expect((await failure(knows.token(review({})))).code).toBe(400)
  })
})
