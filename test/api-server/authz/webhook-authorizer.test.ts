/** The mode Webhook by itself: which questions are one question, how long an answer holds, and what a failure amounts to. */
import { describe, expect, it } from 'vitest'
import type { Decision } from '../../../components/api-server/authz/authorizer.ts'
import {
  webhookAuthorizer,
  type WebhookAuthorizerOptions,
} from '../../../components/api-server/authz/webhook-authorizer.ts'
import { reviewSpecOf } from '../../../components/api-server/authz/access-review.ts'
import { compileCel, type CelProgram } from '../../../components/cel/cel.ts'
import { dyn } from '../../../components/cel/cel-types.ts'
import { WebhookError } from '../../../components/api-server/egress/webhook-client.ts'
import type {
  AuthorizationAttributes,
  UserInfo,
} from '../../../components/api-server/request/request.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { attributes, user } from './attributes.ts'

const jane = user('jane', 'devs')
const listPods = attributes({ user: jane, verb: 'list', resource: 'pods', namespace: 'a' })
const requires = (key: string, ...values: string[]) => [
  { key, operator: values.length === 0 ? 'Exists' : 'In', values },
]
type Status = Readonly<Record<string, unknown>>
type Review = { readonly apiVersion: string; readonly kind: string; readonly spec: unknown }

/** An authorizer whose remote says `answer.status`, or rejects with `answer.error`. */
function setUp(more: Partial<WebhookAuthorizerOptions> = {}) {
  const asked: Review[] = []
  const answer: { status: Status; error?: Error } = { status: { allowed: true } }
  let closed = 0
  const clock = new FakeClock()
  const subject = webhookAuthorizer({
    name: 'remote',
    client: {
      review: async (review) => {
        asked.push(review)
        if (answer.error !== undefined) throw answer.error
        return answer.status
      },
      close: () => (closed += 1),
    },
    apiVersion: 'authorization.k8s.io/v1',
    authorizedTtlMs: 2000,
    unauthorizedTtlMs: 1000,
    failurePolicy: 'NoOpinion',
    matchConditions: [],
    withSelectors: true,
    clock,
    log: silentLog,
    ...more,
  })
  const ask = async (one: AuthorizationAttributes = listPods): Promise<Decision> =>
    await subject.authorize(one)
  return { subject, ask, asked, answer, clock, closedTimes: () => closed }
}

const condition = (expression: string): CelProgram =>
  compileCel(expression, { variables: { request: dyn } })

describe('what the remote is asked', () => {
  it('a resource request without what is empty', () => {
    const extra = { scopes: ['x'] }
    const whole = attributes({
      user: { name: 'jane', groups: ['devs'], uid: '7', extra },
      verb: 'get',
      group: 'apps',
      version: 'v1',
      resource: 'deployments',
      subresource: 'scale',
      namespace: 'a',
      name: 'x',
    })
    expect(reviewSpecOf(whole, { withSelectors: true })).toEqual({
      resourceAttributes: {
        namespace: 'a',
        verb: 'get',
        group: 'apps',
        version: 'v1',
        resource: 'deployments',
        subresource: 'scale',
        name: 'x',
      },
      user: 'jane',
      groups: ['devs'],
      uid: '7',
      extra,
    })
    expect(reviewSpecOf(attributes({ user: user('') }), { withSelectors: true })).toEqual({
      resourceAttributes: { verb: 'get', version: 'v1' },
    })
  })

  it('a path as path and verb alone', () => {
    const path = attributes({ user: jane, path: '/metrics', resource: 'pods' })
    expect(reviewSpecOf(path, { withSelectors: true })).toEqual({
      nonResourceAttributes: { path: '/metrics', verb: 'get' },
      user: 'jane',
      groups: ['devs'],
    })
  })

  it('selectors as requirements, unless there are none or they are turned off', () => {
    const selecting = {
      ...listPods,
      fieldSelector: requires('spec.nodeName', 'n1'),
      labelSelector: requires('app'),
    }
    const { resourceAttributes } = reviewSpecOf(selecting, { withSelectors: true })
    expect(resourceAttributes).toEqual({
      namespace: 'a',
      verb: 'list',
      version: 'v1',
      resource: 'pods',
      fieldSelector: { requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n1'] }] },
      labelSelector: { requirements: [{ key: 'app', operator: 'Exists' }] },
    })
    const plain = reviewSpecOf(listPods, { withSelectors: true })
    expect(reviewSpecOf(selecting, { withSelectors: false })).toEqual(plain)
    const empty = { ...listPods, fieldSelector: [], labelSelector: [] }
    expect(reviewSpecOf(empty, { withSelectors: true })).toEqual(plain)
  })

  it('in the version of the review', async () => {
    const { ask, asked } = setUp()
    await ask()
    expect(asked).toEqual([
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: reviewSpecOf(listPods, { withSelectors: true }),
      },
    ])
  })

  it('the beta version calls the groups group', async () => {
    const { ask, asked } = setUp({ apiVersion: 'authorization.k8s.io/v1beta1' })
    await ask()
    await ask({ ...listPods, user: user('bob') })
    const { resourceAttributes } = reviewSpecOf(listPods, { withSelectors: true })
    expect(asked).toEqual([
      {
        apiVersion: 'authorization.k8s.io/v1beta1',
        kind: 'SubjectAccessReview',
        spec: { resourceAttributes, user: 'jane', group: ['devs'] },
      },
      {
        apiVersion: 'authorization.k8s.io/v1beta1',
        kind: 'SubjectAccessReview',
        spec: { resourceAttributes, user: 'bob' },
      },
    ])
  })
})

describe('an answer', () => {
  it.each<[Status, Decision]>([
    [
      { allowed: true, reason: 'yes' },
      { decision: 'allow', reason: 'yes' },
    ],
    [
      { allowed: true, denied: false },
      { decision: 'allow', reason: '' },
    ],
    [
      { allowed: false, denied: true, reason: 'no' },
      { decision: 'deny', reason: 'no' },
    ],
    [
      { allowed: false, reason: 'so' },
      { decision: 'no-opinion', reason: 'so' },
    ],
    [
      { allowed: 'true', denied: 'true' },
      { decision: 'no-opinion', reason: '' },
    ],
    [{ reason: 7 }, { decision: 'no-opinion', reason: '' }],
  ])('%j is the decision %j', async (status, decision) => {
    const { ask, answer } = setUp()
    answer.status = status
    expect(await ask()).toEqual(decision)
  })

  it('holds for its time: that of allowed, or that of all others', async () => {
    for (const [allowed, ttlMs] of [
      [true, 2000],
      [false, 1000],
    ] as const) {
      const { ask, asked, answer, clock } = setUp()
      answer.status = { allowed, denied: !allowed }
      const first = await ask()
      await clock.step(ttlMs - 1)
      expect(await ask()).toBe(first)
      expect(asked).toHaveLength(1)
      await clock.step(1)
      expect(await ask()).toEqual(first)
      expect(asked).toHaveLength(2)
    }
  })

  it('is for one question: whatever differs is asked again', async () => {
    const { ask, asked } = setUp()
    const users: UserInfo[] = [
      jane,
      user('bob', 'devs'),
      user('jane', 'ops'),
      { ...jane, uid: '7' },
      { ...jane, extra: { scopes: ['x'] } },
    ]
    const questions: AuthorizationAttributes[] = [
      ...users.map((one) => ({ ...listPods, user: one })),
      { ...listPods, verb: 'get' },
      { ...listPods, group: 'apps' },
      { ...listPods, version: 'v2' },
      { ...listPods, resource: 'secrets' },
      { ...listPods, subresource: 'log' },
      { ...listPods, namespace: 'b' },
      { ...listPods, name: 'x' },
      { ...listPods, fieldSelector: requires('a') },
      { ...listPods, labelSelector: requires('a') },
      attributes({ user: jane, path: '/a' }),
      attributes({ user: jane, path: '/b' }),
      attributes({ user: jane, path: '/a', verb: 'post' }),
    ]
    for (const one of questions) await ask(one)
    expect(asked).toHaveLength(questions.length)
    for (const one of questions) await ask({ ...one, user: { ...one.user } })
    expect(asked).toHaveLength(questions.length)
  })

  it('is for every selector where selectors are turned off, and for paths whatever they are', async () => {
    const { ask, asked } = setUp({ withSelectors: false })
    await ask()
    await ask({ ...listPods, fieldSelector: requires('a') })
    expect(asked).toHaveLength(1)
    const on = setUp()
    const path = attributes({ user: jane, path: '/a' })
    await on.ask(path)
    await on.ask({ ...path, labelSelector: requires('a') })
    expect(on.asked).toHaveLength(1)
  })

  it('goes to all who ask the same at the same time, and later ones ask again if it failed', async () => {
    const { ask, asked, answer } = setUp()
    answer.error = new WebhookError('down')
    const failed = { decision: 'no-opinion', reason: '', evaluationError: 'down' }
    expect(await Promise.all([ask(), ask()])).toEqual([failed, failed])
    expect(asked).toHaveLength(1)
    delete answer.error
    expect(await ask()).toEqual({ decision: 'allow', reason: '' })
    expect(asked).toHaveLength(2)
  })

  it('to more than 10,000 characters is not kept', async () => {
    const { ask, asked } = setUp()
    const long = (length: number) => ({ ...listPods, name: 'x'.repeat(length) })
    await ask(long(9_000))
    await ask(long(9_000))
    expect(asked).toHaveLength(1)
    await ask(long(10_000))
    await ask(long(10_000))
    expect(asked).toHaveLength(3)
  })
})

describe('a failed call', () => {
  const both: Status = { allowed: true, denied: true }
  const why = 'webhook subject access review returned both allow and deny response'

  it.each([
    ['NoOpinion', 'no-opinion'],
    ['Deny', 'deny'],
  ] as const)('under %s is %s', async (failurePolicy, decision) => {
    const { ask, answer } = setUp({ failurePolicy })
    answer.status = both
    expect(await ask()).toEqual({ decision, reason: '', evaluationError: why })
    answer.error = new WebhookError('down')
    expect(await ask()).toEqual({ decision, reason: '', evaluationError: 'down' })
  })

  it('that nobody foresaw is a fault of the server, not an opinion', async () => {
    const { ask, answer } = setUp()
    answer.error = new TypeError('a bug')
    await expect(ask()).rejects.toThrow('a bug')
  })
})

describe('match conditions', () => {
  it('keep questions from the remote unless all hold', async () => {
    const matchConditions = [
      condition("request.resourceAttributes.namespace == 'a'"),
      condition("request.user == 'jane'"),
    ]
    const { ask, asked } = setUp({ matchConditions })
    const unasked = { decision: 'no-opinion', reason: '' }
    expect(await ask({ ...listPods, namespace: 'b' })).toEqual(unasked)
    expect(await ask({ ...listPods, user: user('bob') })).toEqual(unasked)
    expect(asked).toHaveLength(0)
    expect(await ask()).toEqual({ decision: 'allow', reason: '' })
    expect(await ask()).toEqual({ decision: 'allow', reason: '' })
    expect(asked).toHaveLength(1)
  })

  it('see every plain field of the request, also those that are empty', async () => {
    const fields = ['namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name']
    const empty = [
      ...fields.map((field) => `request.resourceAttributes.${field} == ''`),
      "request.user == ''",
      "request.uid == ''",
      'request.groups.size() == 0',
      'request.extra.size() == 0',
    ]
    const nothing = attributes({ user: user(''), verb: '', version: '' })
    const { ask, asked } = setUp({ matchConditions: empty.map(condition) })
    expect(await ask(nothing)).toEqual({ decision: 'allow', reason: '' })
    expect(asked).toHaveLength(1)
    const hasResource = setUp({ matchConditions: [condition('has(request.resourceAttributes)')] })
    await hasResource.ask()
    await hasResource.ask(attributes({ user: jane, path: '/a' }))
    expect(hasResource.asked).toHaveLength(1)
  })

  it('that fail are a failed call, whatever was answered before; a false one beats them', async () => {
    const broken = condition('request.resourceAttributes.none')
    const worse = condition('request.other')
    const isGet = condition("request.resourceAttributes.verb == 'get'")
    const { ask, asked } = setUp({
      matchConditions: [broken, worse, isGet],
      failurePolicy: 'Deny',
    })
    expect(await ask()).toEqual({ decision: 'no-opinion', reason: '' })
    const failed = await ask({ ...listPods, verb: 'get' })
    expect(failed).toMatchObject({ decision: 'deny', reason: '' })
    expect(failed.evaluationError).toContain(
      "expression 'request.resourceAttributes.none' resulted in error: ",
    )
    expect(asked).toHaveLength(0)
  })
})

describe('for explanations', () => {
  it('says whether the remote was asked', async () => {
    const { subject, asked, answer } = setUp()
    const explain = async () => await subject.explain?.(listPods)
    answer.error = new WebhookError('down')
    const failed = { decision: 'no-opinion', reason: '', evaluationError: 'down' }
    expect(await explain()).toEqual({ decision: failed, detail: { call: 'asked, in vain' } })
    delete answer.error
    const decision = { decision: 'allow', reason: '' }
    expect(await explain()).toEqual({ decision, detail: { call: 'asked' } })
    const remembered = { call: 'remembered from an earlier answer' }
    expect(await explain()).toEqual({ decision, detail: remembered })
    expect(asked).toHaveLength(2)
  })

  it('names the condition that kept it from being asked', async () => {
    const { subject, asked } = setUp({ matchConditions: [condition('request.user == "bob"')] })
    expect(await subject.explain?.(listPods)).toEqual({
      decision: { decision: 'no-opinion', reason: '' },
      detail: { call: 'not asked: request.user == "bob" is false' },
    })
    const broken = setUp({ matchConditions: [condition('request.other')] })
    expect(await broken.subject.explain?.(listPods)).toMatchObject({
      detail: { call: 'not asked: a match condition failed' },
    })
    expect([...asked, ...broken.asked]).toEqual([])
  })

  it('it lists no rules', () => {
    expect(setUp().subject.rulesFor?.(jane, 'a')).toEqual({
      resourceRules: [],
      nonResourceRules: [],
      incomplete: true,
      errors: ['webhook authorizer does not support user rule resolution'],
    })
  })

  it('it has its name, and closes its connections with itself', () => {
    const { subject, closedTimes } = setUp()
    expect(subject.name).toBe('remote')
    subject.close?.()
    expect(closedTimes()).toBe(1)
  })
})
