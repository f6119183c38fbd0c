import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServer, user, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startReviewRemote, type RemoteAnswer } from '../../support/review-remote.ts'
import {
  type Json,
  allow,
  askedOf,
  bound,
  deny,
  entry,
  fileOf,
  folder,
  fresh,
  pass,
  pods,
  refused,
  refusedStart,
  remote,
  second,
  start,
  whole,
  useRemotes,
} from '../../support/authorization-remotes.ts'

useRemotes()

describe.each(['kubernetes', 'svc'] as const)('what the remote is asked, dialect %s', (dialect) => {
  let server: TestApiServer
  beforeAll(async () => {
    server = await start([entry('remote')], { dialect })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })
  const specOf = async (
    method: string,
    path: string,
    ask: { body?: unknown } = {},
  ): Promise<Json> => {
    const name = fresh()
    await server.request(method, path, { as: user(name, 'devs'), ...ask })
    expect(askedOf(name)).toHaveLength(1)
    return askedOf(name)[0]?.spec as Json
  }

  it('[WEBHOOK-017][WEBHOOK-018][AUTHZ-001] about a resource: its attributes, the user and groups', async () => {
    const name = fresh()
    await server.request('GET', `${pods}/web/log`, { as: user(name, 'devs') })
    expect(askedOf(name)).toEqual([
      {
        apiVersion: `${server.group('authorization')}/v1`,
        kind: 'SubjectAccessReview',
        spec: {
          resourceAttributes: {
            namespace: 'default',
            verb: 'get',
            version: 'v1',
            resource: 'pods',
            subresource: 'log',
            name: 'web',
          },
          user: name,
          groups: ['devs', 'system:authenticated'],
          // Which certificate it was.
          extra: expect.any(Object),
        },
      },
    ])
    expect(await specOf('GET', '/metrics')).toMatchObject({
      nonResourceAttributes: { path: '/metrics', verb: 'get' },
    })
  })

  it('[WEBHOOK-019] about a path: path and verb, and nothing of resources', async () => {
    const spec = await specOf('GET', '/metrics')
    expect(spec['nonResourceAttributes']).toEqual({ path: '/metrics', verb: 'get' })
    expect(spec).not.toHaveProperty('resourceAttributes')
  })

  it('[WEBHOOK-023] about each path outside of resources, as it is', async () => {
    for (const path of [
      '/api',
      '/apis',
      '/metrics',
      '/logs',
      '/debug',
      '/healthz',
      '/livez',
      '/openapi/v2',
      '/readyz',
      '/version',
    ]) {
      const { nonResourceAttributes } = await specOf('GET', path)
      expect(nonResourceAttributes).toEqual({ path, verb: 'get' })
    }
  })

  it('[AUTHZ-002] the group is empty for the core group', async () => {
    const { resourceAttributes: core } = await specOf('GET', `${pods}/x`)
    expect(core).not.toHaveProperty('group')
    const { resourceAttributes } = await specOf(
      'GET',
      '/apis/apps/v1/namespaces/default/deployments/x',
    )
    expect(resourceAttributes).toMatchObject({ group: 'apps' })
  })

  it('[AUTHZ-003] one object is named, a collection is not', async () => {
    const nameOf = async (method: string, path: string): Promise<unknown> =>
      ((await specOf(method, path, { body: {} }))['resourceAttributes'] as Json)['name']
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      expect([method, await nameOf(method, `${pods}/web`)]).toEqual([method, 'web'])
    }
    for (const method of ['GET', 'POST', 'DELETE']) {
      expect([method, await nameOf(method, pods)]).toEqual([method, undefined])
    }
    expect(await nameOf('GET', `${pods}?watch=true`)).toBeUndefined()
  })

  it('[WEBHOOK-025][WEBHOOK-026][WEBHOOK-027] selectors as requirements, never raw', async () => {
    const query = 'fieldSelector=spec.nodeName%3Dn1&labelSelector=app%20in%20(a,b),!old'
    const { resourceAttributes } = await specOf('GET', `${pods}?${query}`)
    expect(resourceAttributes).toMatchObject({
      verb: 'list',
      fieldSelector: { requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n1'] }] },
      labelSelector: {
        requirements: [
          { key: 'app', operator: 'In', values: ['a', 'b'] },
          { key: 'old', operator: 'DoesNotExist' },
        ],
      },
    })
    expect(JSON.stringify(resourceAttributes)).not.toContain('rawSelector')
    await using off = await start([entry('remote')], {
      dialect,
      flags: ['--feature-gates=AuthorizeWithSelectors=false,AuthorizeNodeWithSelectors=false'],
    })
    const name = fresh()
    await off.request('GET', `${pods}?${query}`, { as: user(name) })
    const spec = askedOf(name)[0]?.spec as { resourceAttributes: Json }
    expect(spec.resourceAttributes).not.toHaveProperty('fieldSelector')
    expect(spec.resourceAttributes).not.toHaveProperty('labelSelector')
  })

  it('[AUTHZ-013] special verbs in addition to the plain ones', async () => {
    remote.answer = ({ spec }) => {
      const { verb } = (spec as { resourceAttributes?: { verb?: string } }).resourceAttributes ?? {}
      const special = ['impersonate', 'bind', 'escalate', 'unsafe-delete-ignore-read-errors']
      return special.includes(verb ?? '') ? pass : allow
    }
    const rbac = `/apis/${server.group('rbac.authorization')}/v1/namespaces/default`
    const verbsOf = (name: string) =>
      askedOf(name).map(
        ({ spec }) => (spec as { resourceAttributes: Json }).resourceAttributes['verb'],
      )
    const impersonator = fresh()
    const impersonated = await server.request('GET', pods, {
      as: user(impersonator),
      headers: { 'impersonate-user': 'jane' },
    })
    expect(impersonated.status).toBe(403)
    expect(verbsOf(impersonator)).toEqual(['impersonate'])
    const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
    const escalating = fresh()
    const role = { metadata: { name: `role-${escalating}` }, rules }
    expect(
      (await server.request('POST', `${rbac}/roles`, { as: user(escalating), body: role })).status,
    ).toBe(403)
    expect(verbsOf(escalating)).toEqual(['create', 'escalate'])
    await server.ok('POST', `${rbac}/roles`, { body: role })
    const binding = fresh()
    const body = {
      metadata: { name: 'b' },
      roleRef: {
        apiGroup: server.group('rbac.authorization'),
        kind: 'Role',
        name: `role-${escalating}`,
      },
      subjects: [],
    }
    expect(
      (await server.request('POST', `${rbac}/rolebindings`, { as: user(binding), body })).status,
    ).toBe(403)
    expect(verbsOf(binding)).toEqual(['create', 'bind'])
    const deleter = fresh()
    await using gated = await start([entry('remote')], {
      dialect,
      flags: ['--feature-gates=AllowUnsafeMalformedObjectDeletion=true'],
    })
    const unsafe = { ignoreStoreReadErrorWithClusterBreakingPotential: true }
    const deleted = await gated.request('DELETE', `${pods}/web`, {
      as: user(deleter),
      body: unsafe,
    })
    expect(deleted.status).toBe(403)
    expect(deleted.body.message).toContain('not permitted to do "unsafe-delete-ignore-read-errors"')
    expect(verbsOf(deleter)).toEqual(['delete', 'unsafe-delete-ignore-read-errors'])
  })

  it('[REVIEW-020] about the selectors of a review, as requirements', async () => {
    remote.answer = () => allow
    const name = fresh()
    const fieldSelector = {
      requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n1'] }],
    }
    const labelSelector = {
      requirements: [
        { key: 'app', operator: 'NotIn', values: ['a', 'b'] },
        { key: 'old', operator: 'DoesNotExist' },
      ],
    }
    const attributes = { namespace: 'default', verb: 'list', resource: 'pods' }
    const resourceAttributes = { ...attributes, fieldSelector, labelSelector }
    const path = `/apis/${server.group('authorization')}/v1/subjectaccessreviews`
    const made = await server.ok('POST', path, {
      body: { spec: { user: name, resourceAttributes } },
    })
    expect(made.status.allowed).toBe(true)
    expect(askedOf(name).map(({ spec }) => (spec as Json)['resourceAttributes'])).toEqual([
      { ...attributes, version: '*', fieldSelector, labelSelector },
    ])
  })
})

describe('what the remote answers', () => {
  it('[WEBHOOK-020][AUTHZ-024] allowed is served', async () => {
    await using server = await start([entry('remote')])
    remote.answer = () => allow
    expect((await server.request('GET', pods, { as: user(fresh()) })).status).toBe(200)
    remote.answer = () => pass
    expect((await server.request('GET', pods, { as: user(fresh()) })).status).toBe(403)
  })

  it('[WEBHOOK-021] not allowed is no opinion: another may allow', async () => {
    await using server = await start([entry('remote'), { type: 'RBAC', name: 'rbac' }])
    await using alone = await start([entry('remote')])
    remote.answer = () => pass
    const name = await bound(server)
    expect((await server.request('GET', pods, { as: user(name) })).status).toBe(200)
    expect((await alone.request('GET', pods, { as: user(name) })).status).toBe(403)
  })

  it('[WEBHOOK-022] denied is final', async () => {
    await using server = await start([entry('remote'), { type: 'RBAC', name: 'rbac' }])
    remote.answer = () => deny
    const reply = await server.request('GET', pods, { as: user(await bound(server)) })
    expect(reply.status).toBe(403)
    expect((reply.body as { message: string }).message).toContain('no way')
    const metrics = (await server.request('GET', '/metrics')).text
    expect(metrics).toContain(
      'apiserver_authorization_decisions_total{type="Webhook",name="remote",decision="denied"} 1',
    )
    expect(metrics).toContain('{type="RBAC",name="rbac",decision="allowed"} 0')
  })

  it('[WEBHOOK-024] discovery needs its paths', async () => {
    await using server = await start([entry('remote')])
    const paths = ['/api', '/api/v1', '/apis', '/apis/apps/v1', '/version']
    remote.answer = () => allow
    const allowed = fresh()
    for (const path of paths) {
      expect((await server.request('GET', path, { as: user(allowed) })).status).toBe(200)
    }
    remote.answer = () => pass
    const other = fresh()
    for (const path of paths) {
      expect((await server.request('GET', path, { as: user(other) })).status).toBe(403)
    }
  })

  it.each<[string, RemoteAnswer]>([
    ['both allowed and denied', { status: { allowed: true, denied: true } }],
    ['no status', { body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' } }],
    ['no JSON', { body: 'yes' }],
    ['an error', { code: 403 }],
    ['a redirect', { code: 307 }],
  ])('%s is a failed call', async (_, answer) => {
    remote.answer = () => answer
    await using server = await start([
      entry('remote', { failurePolicy: 'Deny' }),
      { type: 'RBAC', name: 'rbac' },
    ])
    expect((await server.request('GET', pods, { as: user(await bound(server)) })).status).toBe(403)
  })

  it('[WEBHOOK-048] another version is a failed call', async () => {
    remote.answer = ({ kind }) => ({
      body: { apiVersion: 'authorization.k8s.io/v1beta1', kind, status: { allowed: true } },
    })
    await using server = await start([entry('remote')])
    expect((await server.request('GET', pods, { as: user(fresh()) })).status).toBe(403)
    remote.answer = () => allow
    expect((await server.request('GET', pods, { as: user(fresh()) })).status).toBe(200)
  })

  it('[WEBHOOK-031][WEBHOOK-032][LIM-006] is kept: five minutes when allowed, 30 seconds when not', async () => {
    const clock = new FakeClock(Date.now())
    await using server = await start([entry('remote')], { clock })
    const ask = async (name: string): Promise<number> => {
      await server.request('GET', pods, { as: user(name) })
      return askedOf(name).length
    }
    const [allowed, refused] = [fresh(), fresh()]
    remote.answer = ({ spec }) => ((spec as { user: string }).user === allowed ? allow : pass)
    expect([await ask(allowed), await ask(refused)]).toEqual([1, 1])
    await clock.step(29_000)
    expect([await ask(allowed), await ask(refused)]).toEqual([1, 1])
    await clock.step(2_000)
    expect([await ask(allowed), await ask(refused)]).toEqual([1, 2])
    await clock.step(268_000)
    expect(await ask(allowed)).toBe(1)
    await clock.step(2_000)
    expect(await ask(allowed)).toBe(2)
  })
})

describe('several authorizers', () => {
  it('[AUTHZ-015][AUTHZ-031] are asked in the order of the list', async () => {
    for (const [first, last] of [
      [remote, second],
      [second, remote],
    ] as const) {
      await using server = await start([entry('a', {}, first), entry('b', {}, last)])
      const name = fresh()
      first.answer = () => allow
      last.answer = () => allow
      await server.request('GET', pods, { as: user(name) })
      expect([askedOf(name, first).length, askedOf(name, last).length]).toEqual([1, 0])
    }
  })

  it('[AUTHZ-016][AUTHZ-017] the first opinion is final, and none at all is 403', async () => {
    await using server = await start([entry('a'), entry('b', {}, second)])
    const counts = async (name: string) => {
      const { status } = await server.request('GET', pods, { as: user(name) })
      return [status, askedOf(name).length, askedOf(name, second).length]
    }
    remote.answer = () => allow
    expect(await counts(fresh())).toEqual([200, 1, 0])
    remote.answer = () => deny
    second.answer = () => allow
    expect(await counts(fresh())).toEqual([403, 1, 0])
    remote.answer = () => pass
    expect(await counts(fresh())).toEqual([200, 1, 1])
    second.answer = () => pass
    expect(await counts(fresh())).toEqual([403, 1, 1])
  })

  it('[AUTHZ-025] system:masters asks none of them', async () => {
    remote.answer = () => deny
    for (const flags of [
      ['--authorization-mode=RBAC'],
      ['--authorization-mode=AlwaysDeny'],
      ['--authorization-mode=', `--authorization-config=${fileOf(whole([entry('remote')]))}`],
    ]) {
      await using server = await startApiServer({ flags })
      expect((await server.request('GET', '/api/v1/secrets')).status).toBe(200)
      expect((await server.request('DELETE', `${pods}/none`)).status).toBe(404)
    }
  })

  it('[AUTHZ-019][AUTHZ-020] AlwaysAllow and AlwaysDeny', async () => {
    await using open = await startApiServer({ flags: ['--authorization-mode=AlwaysAllow'] })
    expect((await open.request('GET', '/api/v1/secrets', { as: user('anyone') })).status).toBe(200)
    await using shut = await startApiServer({ flags: ['--authorization-mode=AlwaysDeny'] })
    expect((await shut.request('GET', '/version', { as: user('anyone') })).status).toBe(403)
  })

  it('[DISC-009] their names are in the metrics', async () => {
    await using server = await start([entry('w1'), { type: 'RBAC', name: 'roles' }])
    remote.answer = () => allow
    await server.request('GET', pods, { as: user(fresh()) })
    expect((await server.request('GET', '/metrics')).text).toMatch(
      /apiserver_authorization_decisions_total\{type="Webhook",name="w1",decision="allowed"\} 1/,
    )
  })
})

describe('a remote that fails', () => {
  const gone = async (failurePolicy: string): Promise<[TestApiServer, FakeClock]> => {
    const own = await startReviewRemote()
    const clock = new FakeClock(Date.now())
    const authorizers = [entry('gone', { failurePolicy }, own), { type: 'RBAC', name: 'rbac' }]
    const server = await start(authorizers, { clock })
    await own.stop()
    return [server, clock]
  }
  const ask = async (server: TestApiServer, clock: FakeClock): Promise<number> => {
    const name = await bound(server)
    const stepping = setInterval(() => void clock.step(500), 5)
    try {
      return (await server.request('GET', pods, { as: user(name) })).status
    } finally {
      clearInterval(stepping)
    }
  }

  it('[WEBHOOK-037] has no opinion under NoOpinion', async () => {
    const [server, clock] = await gone('NoOpinion')
    await using _ = server
    expect(await ask(server, clock)).toBe(200)
  })

  it('[WEBHOOK-038] denies under Deny', async () => {
    const [server, clock] = await gone('Deny')
    await using _ = server
    expect(await ask(server, clock)).toBe(403)
  })

  it('[WEBHOOK-033][LIM-005] is given up after its time, which is at most 30 seconds', async () => {
    expect(refused({ timeout: undefined })).toBe('authorizers[0].webhook.timeout: Required value')
    expect(refused({ timeout: '31s' })).toBe(
      'authorizers[0].webhook.timeout: Invalid value: "31s": must be > 0s and <= 30s',
    )
    expect(refused({ timeout: '30s' })).toBe('accepted')
    const clock = new FakeClock(Date.now())
    await using server = await start(
      [entry('slow', { timeout: '3s' }), { type: 'RBAC', name: 'rbac' }],
      { clock },
    )
    const name = await bound(server)
    remote.answer = () => 'silence'
    let isDone = false
    const asking = server.request('GET', pods, { as: user(name) }).finally(() => (isDone = true))
    await eventually(() => expect(askedOf(name)).toHaveLength(1))
    await clock.step(2_900)
    expect(isDone).toBe(false)
    await clock.step(200)
    expect((await asking).status).toBe(200)
  })
})

describe('the flags of the authorization webhook', () => {
  it('[WEBHOOK-047][AUTHZ-027][AUTHZ-024] act as the fields of a file', async () => {
    const clock = new FakeClock(Date.now())
    const flags = [
      '--authorization-mode=Webhook',
      `--authorization-webhook-config-file=${remote.kubeconfig(folder)}`,
      '--authorization-webhook-version=v1',
      '--authorization-webhook-cache-authorized-ttl=10s',
      '--authorization-webhook-cache-unauthorized-ttl=2s',
    ]
    await using server = await startApiServer({ clock, flags })
    const [allowed, other] = [fresh(), fresh()]
    remote.answer = ({ spec }) => ((spec as { user: string }).user === allowed ? allow : pass)
    const ask = async () => [
      (await server.request('GET', pods, { as: user(allowed) })).status,
      (await server.request('GET', pods, { as: user(other) })).status,
      askedOf(allowed).length,
      askedOf(other).length,
    ]
    expect(await ask()).toEqual([200, 403, 1, 1])
    expect(askedOf(allowed)[0]?.apiVersion).toBe('authorization.k8s.io/v1')
    await clock.step(3_000)
    expect(await ask()).toEqual([200, 403, 1, 2])
    await clock.step(8_000)
    expect(await ask()).toEqual([200, 403, 2, 3])
  })

  it('[WEBHOOK-030] the beta version is the default, and is served when it is turned on', async () => {
    const flags = [
      '--authorization-mode=Webhook',
      `--authorization-webhook-config-file=${remote.kubeconfig(folder)}`,
      '--runtime-config=authorization.k8s.io/v1beta1=true',
    ]
    await using server = await startApiServer({ flags })
    remote.answer = () => allow
    const name = fresh()
    expect((await server.request('GET', pods, { as: user(name, 'devs') })).status).toBe(200)
    expect(askedOf(name)[0]).toMatchObject({
      apiVersion: 'authorization.k8s.io/v1beta1',
      spec: { group: ['devs', 'system:authenticated'] },
    })
    const review = await server.ok(
      'POST',
      '/apis/authorization.k8s.io/v1beta1/subjectaccessreviews',
      {
        body: { spec: { user: 'jane', nonResourceAttributes: { path: '/', verb: 'get' } } },
      },
    )
    expect(review).toMatchObject({ status: { allowed: true } })
  })

  it('belong to their mode', async () => {
    expect(await refusedStart(['--authorization-mode=Webhook'])).toBe(
      "authorization-mode Webhook's authorization config file not passed",
    )
    expect(await refusedStart(['--authorization-webhook-config-file=x'])).toBe(
      'cannot specify --authorization-webhook-config-file without mode Webhook',
    )
  })
})
