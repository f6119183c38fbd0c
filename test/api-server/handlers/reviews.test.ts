/** Reviews as clients see them: paths, versions, who may ask. */
import { describe, expect, it } from 'vitest'
import { apiGroup, dialects } from '../../../components/api/dialect.ts'
import { startApiServer, user } from '../../support/api-server.ts'
import { describeDialects } from '../../support/shared-server.ts'

const attributes = { namespace: 'default', verb: 'get', resource: 'pods' }

/** Every kind with a body it answers, and whether it is of a namespace. */
const reviews = [
  ['authentication', 'tokenreviews', 'TokenReview', { token: 'x' }],
  ['authentication', 'selfsubjectreviews', 'SelfSubjectReview', undefined],
  [
    'authorization',
    'subjectaccessreviews',
    'SubjectAccessReview',
    { user: 'jane', resourceAttributes: attributes },
  ],
  [
    'authorization',
    'localsubjectaccessreviews',
    'LocalSubjectAccessReview',
    { user: 'jane', resourceAttributes: attributes },
  ],
  [
    'authorization',
    'selfsubjectaccessreviews',
    'SelfSubjectAccessReview',
    { resourceAttributes: attributes },
  ],
  ['authorization', 'selfsubjectrulesreviews', 'SelfSubjectRulesReview', { namespace: 'default' }],
] as const

describeDialects('reviews', (server) => {
  const isLocal = (plural: string): boolean => plural.startsWith('local')
  const pathOf = (stem: string, plural: string): string =>
    `/apis/${server().group(stem)}/v1/${isLocal(plural) ? 'namespaces/default/' : ''}${plural}`

  it('are of the namespace they are posted to, and of none where they have none', async () => {
    const ask = async (plural: string, metadata: unknown) => {
      const body = { metadata, spec: { user: 'jane', resourceAttributes: attributes } }
      return await server().request('POST', pathOf('authorization', plural), { body })
    }
    const local = 'localsubjectaccessreviews'
    const other = await ask(local, { namespace: 'other' })
    expect([other.status, other.body.message]).toEqual([
      400,
      'the namespace of the provided object does not match the namespace sent on the request',
    ])
    expect((await ask(local, null)).body.metadata.namespace).toBe('default')
    const clusterWide = await ask('subjectaccessreviews', { namespace: 'other', name: 'kept' })
    expect(clusterWide.body.metadata).toMatchObject({ name: 'kept' })
    expect(clusterWide.body.metadata).not.toHaveProperty('namespace')
  })

  it.each(reviews)(
    '[REVIEW-001][REVIEW-027] of %s: %s are posted at their path, answered, and never kept',
    async (stem, plural, kind, spec) => {
      const apiVersion = `${server().group(stem)}/v1`
      const body = { apiVersion, kind, ...(spec === undefined ? {} : { spec }) }
      const path = pathOf(stem, plural)
      const { status, body: answer } = await server().request('POST', path, { body })
      expect(status).toBe(201)
      expect(answer).toMatchObject({ apiVersion, kind })
      expect(Object.keys(answer.status as object).length).toBeGreaterThan(0)
      for (const method of ['GET', 'DELETE']) {
        expect((await server().request(method, path)).status).toBe(405)
      }
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
        const { status: item } = await server().request(method, `${path}/x`, {
          ...(method === 'GET' || method === 'DELETE' ? {} : { body }),
        })
        expect([method, item]).toEqual([method, 405])
      }
      // At the other level there is nothing.
      const elsewhere = isLocal(plural)
        ? `/apis/${apiVersion}/${plural}`
        : `/apis/${apiVersion}/namespaces/default/${plural}`
      expect((await server().request('POST', elsewhere, { body })).status).toBe(404)
    },
  )

  it('have no columns: a client that accepts Tables alone gets 406, and nothing happens', async () => {
    const namespace = await server().namespace()
    const { apiDomain, protobufMediaType } = server().dialect
    const table = `application/json;as=Table;v=v1;g=meta.${apiDomain}`
    const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`
    const pods = `/api/v1/namespaces/${namespace}/pods`
    const binding = { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } }
    await server().ok('POST', pods, {
      body: { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    })
    const asks: [path: string, body: unknown][] = [
      ...reviews.map(([stem, plural, , spec]): [string, unknown] => [
        pathOf(stem, plural),
        spec === undefined ? {} : { spec },
      ]),
      [`${account}/token`, { spec: {} }],
      [`${pods}/p/binding`, binding],
      [`/api/v1/namespaces/${namespace}/bindings`, binding],
      [`${pods}/p/eviction`, { metadata: { name: 'p' } }],
    ]
    for (const [path, body] of asks) {
      const refused = await server().request('POST', path, { body, headers: { accept: table } })
      expect([path, refused.status, refused.body.reason]).toEqual([path, 406, 'NotAcceptable'])
      expect(refused.body.message).toBe(
        `only the following media types are accepted: application/json, application/yaml, ${protobufMediaType}`,
      )
    }
    const { spec, metadata } = await server().ok('GET', `${pods}/p`)
    expect([spec.nodeName, metadata.deletionTimestamp]).toEqual([undefined, undefined])
    for (const [path, body] of asks) {
      const headers = { accept: `${table},application/json` }
      const answered = await server().request('POST', path, { body, headers })
      expect([path, answered.status]).toEqual([path, path.endsWith('/bindings') ? 409 : 201])
    }
  })

  it('[REVIEW-002] a token review has the status of its token', async () => {
    const namespace = await server().namespace()
    const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default/token`
    const { status } = await server().ok('POST', account, { body: { spec: {} } })
    const apiVersion = `${server().group('authentication')}/v1`
    const review = await server().ok('POST', pathOf('authentication', 'tokenreviews'), {
      body: { apiVersion, kind: 'TokenReview', spec: { token: status.token as string } },
    })
    expect(review).toMatchObject({
      apiVersion,
      kind: 'TokenReview',
      status: {
        authenticated: true,
        user: { username: `system:serviceaccount:${namespace}:default` },
      },
    })
  })

  const review = async (plural: string, spec: unknown, path = pathOf('authorization', plural)) =>
    await server().request('POST', path, { body: { spec } })
  /** Lets a user and a group read pods in a new namespace; gives its name. */
  const readable = async (): Promise<string> => {
    const namespace = await server().namespace()
    const group = server().group('rbac.authorization')
    const at = `/apis/${group}/v1/namespaces/${namespace}`
    const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
    await server().ok('POST', `${at}/roles`, { body: { metadata: { name: 'r' }, rules } })
    const subjects = [
      { kind: 'User', name: 'reader', apiGroup: group },
      { kind: 'Group', name: 'readers', apiGroup: group },
    ]
    const roleRef = { apiGroup: group, kind: 'Role', name: 'r' }
    const body = { metadata: { name: 'b' }, subjects, roleRef }
    await server().ok('POST', `${at}/rolebindings`, { body })
    return namespace
  }

  it("[REVIEW-015] a review about a user tells that user's permission", async () => {
    const namespace = await readable()
    for (const [who, verb, isAllowed] of [
      [{ user: 'reader' }, 'get', true],
      [{ user: 'reader' }, 'delete', false],
      [{ user: 'other' }, 'get', false],
      [{ user: 'other', groups: ['readers'] }, 'get', true],
    ] as const) {
      const resourceAttributes = { namespace, verb, resource: 'pods' }
      const { status, body } = await review('subjectaccessreviews', { ...who, resourceAttributes })
      expect([status, body.kind]).toEqual([201, 'SubjectAccessReview'])
      expect(body.status.allowed, JSON.stringify([who, verb])).toBe(isAllowed)
    }
  })

  it('[REVIEW-016] a local review is answered in its namespace, and nowhere else', async () => {
    const namespace = await readable()
    const plural = 'localsubjectaccessreviews'
    const apis = `/apis/${server().group('authorization')}/v1`
    const at = `${apis}/namespaces/${namespace}/${plural}`
    const spec = (within: string) => ({
      user: 'reader',
      resourceAttributes: { namespace: within, verb: 'get', resource: 'pods' },
    })
    const { status, body } = await review(plural, spec(namespace), at)
    expect([status, body.kind, body.status.allowed]).toEqual([
      201,
      'LocalSubjectAccessReview',
      true,
    ])
    expect((await review(plural, spec(namespace), `${apis}/${plural}`)).status).toBe(404)
    const other = await review(plural, spec('default'), at)
    expect(other.status).toBe(422)
    expect(other.body.message).toContain('must match metadata.namespace')
  })

  it('[REVIEW-017] a self review says of the caller what a review about him says', async () => {
    const namespace = await readable()
    for (const [name, ...groups] of [['reader'], ['other'], ['other', 'readers']] as const) {
      for (const verb of ['get', 'list']) {
        const resourceAttributes = { namespace, verb, resource: 'pods' }
        const path = pathOf('authorization', 'selfsubjectaccessreviews')
        const own = await server().request('POST', path, {
          as: user(name, ...groups),
          body: { spec: { resourceAttributes } },
        })
        const spec = { user: name, groups: [...groups, 'system:authenticated'], resourceAttributes }
        const about = await review('subjectaccessreviews', spec)
        expect(own.status).toBe(201)
        expect(own.body.status, `${name} ${verb}`).toEqual(about.body.status)
      }
    }
  })

  it("[REVIEW-018] a rules review lists the caller's rules of resources and paths in the namespace", async () => {
    const namespace = await readable()
    const path = pathOf('authorization', 'selfsubjectrulesreviews')
    const rulesOf = async (name: string, within: string) =>
      (await server().ok('POST', path, { as: user(name), body: { spec: { namespace: within } } }))
        .status
    const pods = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
    const own = await rulesOf('reader', namespace)
    expect(own.resourceRules).toContainEqual(pods)
    expect(own.nonResourceRules).toContainEqual({
      verbs: ['get'],
      nonResourceURLs: expect.arrayContaining(['/healthz', '/version']) as string[],
    })
    expect((await rulesOf('reader', 'default')).resourceRules).not.toContainEqual(pods)
    expect((await rulesOf('other', namespace)).resourceRules).not.toContainEqual(pods)
  })

  it('[REVIEW-010] a self review needs no more than its kind', async () => {
    const apiVersion = `${server().group('authentication')}/v1`
    const path = pathOf('authentication', 'selfsubjectreviews')
    const review = await server().ok('POST', path, {
      as: user('jane', 'devs'),
      body: { apiVersion, kind: 'SelfSubjectReview' },
    })
    expect(review).toMatchObject({
      apiVersion,
      kind: 'SelfSubjectReview',
      status: { userInfo: { username: 'jane', groups: ['devs', 'system:authenticated'] } },
    })
  })

  it('[REVIEW-013] every user may make one, the anonymous may not', async () => {
    const path = pathOf('authentication', 'selfsubjectreviews')
    const status = async (as: Parameters<ReturnType<typeof server>['request']>[2]) =>
      (await server().request('POST', path, { ...as, body: {} })).status
    expect(await status({ as: user('without-any-binding') })).toBe(201)
    expect(await status({ as: 'anonymous' })).toBe(403)
  })
})

describe.each(['kubernetes', 'svc'] as const)('self reviews, dialect %s', (dialect) => {
  it('[REVIEW-014] are allowed by the role system:basic-user', async () => {
    await using server = await startApiServer({ dialect })
    const rbac = `/apis/${server.group('rbac.authorization')}/v1`
    const role = await server.ok('GET', `${rbac}/clusterroles/system:basic-user`)
    expect(role.rules).toContainEqual({
      apiGroups: [server.group('authentication')],
      resources: ['selfsubjectreviews'],
      verbs: ['create'],
    })
    const path = `/apis/${server.group('authentication')}/v1/selfsubjectreviews`
    const status = async () =>
      (await server.request('POST', path, { as: user('jane'), body: {} })).status
    expect(await status()).toBe(201)
    await server.ok('DELETE', `${rbac}/clusterrolebindings/system:basic-user`)
    expect(await status()).toBe(403)
  })
})

describe.each(['kubernetes', 'svc'] as const)(
  'reviews of older versions, dialect %s',
  (dialect) => {
    it('[REVIEW-028] are answered in the version they were asked in', async () => {
      const group = (stem: string): string => apiGroup(dialects[dialect], stem)
      const older = ['authentication', 'authorization'].map((stem) => `${group(stem)}/v1beta1=true`)
      await using server = await startApiServer({
        dialect,
        flags: [`--runtime-config=${older.join()}`],
      })
      for (const [stem, plural, kind, spec] of reviews) {
        for (const version of ['v1', 'v1beta1']) {
          const apiVersion = `${group(stem)}/${version}`
          const path = `/apis/${apiVersion}/${plural.startsWith('local') ? 'namespaces/default/' : ''}${plural}`
          const { status, body } = await server.request('POST', path, {
            body: { apiVersion, kind, ...(spec === undefined ? {} : { spec }) },
          })
          expect([path, status, body.apiVersion, body.kind]).toEqual([path, 201, apiVersion, kind])
        }
      }
    })

    it('[REVIEW-023] name the groups of the user `group` in v1beta1 and `groups` in v1', async () => {
      const authorization = apiGroup(dialects[dialect], 'authorization')
      const flags = [`--runtime-config=${authorization}/v1beta1=true`]
      await using server = await startApiServer({ dialect, flags })
      const allowed = async (version: string, groups: object): Promise<unknown> => {
        const spec = { user: 'jane', ...groups, resourceAttributes: attributes }
        const apiVersion = `${authorization}/${version}`
        const body = { apiVersion, kind: 'SubjectAccessReview', spec }
        const path = `/apis/${apiVersion}/subjectaccessreviews`
        const answer = await server.ok('POST', path, { body })
        return [answer.status.allowed, answer.spec]
      }
      const masters = ['system:masters']
      const spec = { user: 'jane', resourceAttributes: attributes }
      expect(await allowed('v1', { groups: masters })).toEqual([true, { ...spec, groups: masters }])
      expect(await allowed('v1', { group: masters })).toEqual([false, spec])
      const beta = await allowed('v1beta1', { group: masters })
      expect(beta).toEqual([true, { ...spec, group: masters }])
      expect(await allowed('v1beta1', { groups: masters })).toEqual([false, spec])
    })
  },
)
