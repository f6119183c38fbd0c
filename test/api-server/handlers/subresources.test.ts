/** What lies below an object, and types that are operations: rows RES-009 to RES-013, RES-019, RES-042, RES-047 and RES-048. */
import { createServer, type AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { user, type Identity } from '../../support/api-server.ts'
import { allow } from '../../support/grants.ts'
import { startFakeNodeAgent, type FakeNodeAgent } from '../../support/fake-node-agent.ts'
import { describeDialects } from '../../support/shared-server.ts'

const pod = (name: string) => ({
  metadata: { name, labels: { a: 'b' } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
})

describeDialects('sub-resources', (server) => {
  let agent: FakeNodeAgent
  beforeAll(async () => {
    agent = await startFakeNodeAgent(server().pki)
    const node = agent.node('n')
    await server().ok('POST', '/api/v1/nodes', { body: node })
    await server().ok('PUT', '/api/v1/nodes/n/status', { body: node })
  })
  afterAll(() => agent[Symbol.asyncDispose]())

  async function runningPod(): Promise<{ ns: string; at: string }> {
    const ns = await server().namespace()
    const at = `/api/v1/namespaces/${ns}/pods`
    await server().ok('POST', at, { body: pod('p') })
    await server().ok('POST', `${at}/p/binding`, {
      body: { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } },
    })
    return { ns, at }
  }

  it('[RES-009] a sub-resource is authorized apart from its resource', async () => {
    const { ns, at } = await runningPod()
    const reader = await allow(server(), ns, {
      name: 'reader',
      rules: [{ resources: ['pods'], verbs: ['get'] }],
    })
    const logReader = await allow(server(), ns, {
      name: 'log-reader',
      rules: [{ resources: ['pods/log'], verbs: ['get'] }],
    })
    const status = async (path: string, as: Identity): Promise<number> =>
      (await server().request('GET', path, { as })).status
    expect(await status(`${at}/p`, reader)).toBe(200)
    expect(await status(`${at}/p/log`, reader)).toBe(403)
    expect(await status(`${at}/p/status`, reader)).toBe(403)
    expect(await status(`${at}/p`, logReader)).toBe(403)
    expect(await status(`${at}/p/log`, logReader)).toBe(200)
    const denied = await server().request('GET', `${at}/p/log`, { as: reader })
    expect(denied.body.message).toContain('cannot get resource "pods/log"')
  })

  it('[RES-010] a sub-resource can be another view of its resource', async () => {
    const ns = await server().namespace()
    const at = `/apis/apps/v1/namespaces/${ns}/deployments`
    const { metadata, spec } = pod('d')
    await server().ok('POST', at, {
      body: {
        metadata,
        spec: {
          replicas: 2,
          selector: { matchLabels: { a: 'b' } },
          template: { metadata: { labels: { a: 'b' } }, spec },
        },
      },
    })
    const scale = await server().ok('GET', `${at}/d/scale`)
    expect(scale).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      spec: { replicas: 2 },
      status: { selector: 'a=b' },
    })
    await server().ok('PUT', `${at}/d/scale`, { body: { ...scale, spec: { replicas: 5 } } })
    expect((await server().ok('GET', `${at}/d`)).spec.replicas).toBe(5)
  })

  it('a view of a resource takes its own kind only', async () => {
    const at = `/apis/apps/v1/namespaces/${await server().namespace()}/deployments/d/scale`
    for (const [apiVersion, kind, why] of [
      [
        'apps/v1',
        'ReplicaSet',
        'ReplicaSet in version "v1" cannot be handled as a Scale: converting (v1.ReplicaSet) to (autoscaling.Scale): unknown conversion',
      ],
      [
        'autoscaling/v2',
        'Scale',
        'Scale in version "v2" cannot be handled as a Scale: no kind "Scale" is registered for version "autoscaling/v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
      ],
      [
        'extensions/v1beta1',
        'Scale',
        'the API version in the data (extensions/v1beta1) does not match the expected API version (autoscaling/v1)',
      ],
    ] as const) {
      const body = { apiVersion, kind, metadata: { name: 'd' }, spec: { replicas: 1 } }
      const refused = await server().request('PUT', at, { body })
      expect(refused.body).toMatchObject({ code: 400, reason: 'BadRequest', message: why })
    }
  })

  it('[RES-011][RES-013] an eviction and a review act and are not stored', async () => {
    const { ns, at } = await runningPod()
    await server().ok('POST', at, { body: pod('other') })
    const evicted = await server().request('POST', `${at}/p/eviction`, {
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p', namespace: ns } },
    })
    expect(evicted.status).toBe(201)
    expect(evicted.body).toMatchObject({ kind: 'Status', status: 'Success' })
    const left = await server().ok('GET', `${at}/p`)
    expect(left.metadata.deletionTimestamp).toBeDefined()
    expect((await server().ok('GET', `${at}/other`)).metadata.deletionTimestamp).toBeUndefined()
    for (const path of [
      `${at}/p/eviction`,
      `/apis/policy/v1/namespaces/${ns}/evictions`,
      `/api/v1/namespaces/${ns}/evictions`,
    ]) {
      expect([404, 405]).toContain((await server().request('GET', path)).status)
    }
    const budgets = `/apis/policy/v1/namespaces/${ns}/poddisruptionbudgets`
    await server().ok('POST', budgets, {
      body: {
        metadata: { name: 'keep' },
        spec: { minAvailable: 1, selector: { matchLabels: { a: 'b' } } },
      },
    })
    const running = await server().ok('GET', `${at}/other`)
    await server().ok('PUT', `${at}/other/status`, {
      body: { ...running, status: { ...running.status, phase: 'Running' } },
    })
    const refused = await server().request('POST', `${at}/other/eviction`, {
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'other' } },
    })
    expect(refused.status).toBe(429)
    expect(refused.body).toMatchObject({ kind: 'Status', reason: 'TooManyRequests' })
    expect((await server().ok('GET', `${at}/other`)).metadata.deletionTimestamp).toBeUndefined()

    const reviews = `/apis/${server().group('authorization')}/v1/selfsubjectaccessreviews`
    const review = await server().ok('POST', reviews, {
      body: { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } },
    })
    expect(review.status.allowed).toBe(true)
    expect((await server().request('GET', reviews)).status).toBe(405)
    expect((await server().request('GET', `${reviews}/x`)).status).toBe(405)
  })

  it('[RES-012] a virtual type needs no unique name', async () => {
    const path = `/apis/${server().group('authentication')}/v1/selfsubjectreviews`
    for (const _ of [1, 2]) {
      const answer = await server().request('POST', path, { body: {} })
      expect(answer.status).toBe(201)
      expect(answer.body.metadata.name).toBeUndefined()
      expect(answer.body.status.userInfo.username).toBe('admin')
    }
  })

  it('[RES-019] single-resource verbs act on exactly one object', async () => {
    const ns = await server().namespace()
    const at = `/api/v1/namespaces/${ns}/configmaps`
    const make = (name: string) => ({ metadata: { name }, data: { by: 'create' } })
    await server().ok('POST', at, { body: make('other') })
    const other = await server().ok('GET', `${at}/other`)
    const item = `${at}/one`
    expect((await server().ok('POST', at, { body: make('one') })).metadata.name).toBe('one')
    expect((await server().ok('GET', item)).data).toEqual({ by: 'create' })
    await server().ok('PUT', item, { body: { ...make('one'), data: { by: 'update' } } })
    expect((await server().ok('GET', item)).data).toEqual({ by: 'update' })
    await server().ok('PATCH', item, {
      body: { data: { by: 'patch' } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    expect((await server().ok('GET', item)).data).toEqual({ by: 'patch' })
    await server().ok('DELETE', item)
    expect((await server().ok('GET', at)).items.length).toBe(1)
    expect(await server().ok('GET', `${at}/other`)).toEqual(other)
    const before = agent.requests.length
    await server().ok('GET', '/api/v1/nodes/n/proxy/one')
    expect(agent.requests.slice(before)).toEqual(['GET /one'])
  })

  it('[RES-042] a sub-resource answers exactly the verbs that discovery lists for it', async () => {
    const { at } = await runningPod()
    const { resources } = await server().ok('GET', '/api/v1')
    const methods = { get: 'GET', create: 'POST', update: 'PUT', patch: 'PATCH', delete: 'DELETE' }
    for (const name of ['pods/status', 'pods/eviction', 'pods/log']) {
      const { verbs } = resources.find((resource: { name: string }) => resource.name === name)
      expect(verbs.length).toBeGreaterThan(0)
      const path = `${at}/${name.replace('pods', 'p')}`
      for (const [verb, method] of Object.entries(methods)) {
        const headers =
          method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : undefined
        const body = method === 'GET' || method === 'DELETE' ? undefined : { metadata: {} }
        const answer = await server().request(method, `${path}?dryRun=All`, {
          body,
          ...(headers === undefined ? {} : { headers }),
        })
        if (verbs.includes(verb)) expect(answer.status, `${method} ${name}`).not.toBe(405)
        else expect(answer.status, `${method} ${name}: ${answer.text}`).toBe(405)
      }
    }
  })

  it('[RES-047] the verb proxy passes a request on to a node, a pod and a service', async () => {
    const { ns, at } = await runningPod()
    const through = async (path: string): Promise<string> => {
      const answer = await server().request('GET', path)
      expect(answer.status, answer.text).toBe(200)
      return answer.text
    }
    expect(await through('/api/v1/nodes/n/proxy/healthz?x=1')).toBe('GET /healthz?x=1\n')
    await addressed(at, '10.1.2.3')
    expect(await through(`${at}/p:8080/proxy/a/b`)).toBe('10.1.2.3:8080 GET /a/b\n')
    expect(await through(`${at}/http:p:8080/proxy/a/?x=1`)).toBe('10.1.2.3:8080 GET /a/?x=1\n')
    const noPort = await server().request('GET', `${at}/https:p:70000/proxy/a`)
    expect(noPort.status).toBe(400)
    const services = `/api/v1/namespaces/${ns}`
    await server().ok('POST', `${services}/services`, {
      body: { metadata: { name: 's' }, spec: { ports: [{ name: 'web', port: 80 }] } },
    })
    const service = await server().request('GET', `${services}/services/s:web/proxy/c`)
    expect(service.status).toBe(503)
    expect(service.body.message).toBe('no endpoints available for service "s"')
    const nobody = await server().request('GET', '/api/v1/nodes/n/proxy/x', { as: user('nobody') })
    expect(nobody.status).toBe(403)
    expect(nobody.body.message).toContain('"nodes/proxy"')
  })

  it('what a proxy passes on says nothing of the caller', async () => {
    const headers = {
      'impersonate-user': 'jane',
      'impersonate-group': 'system:masters',
      'x-remote-user': 'joe',
      'sec-websocket-protocol': 'base64url.bearer.authorization.k8s.io.secret',
      'x-other': 'kept',
    }
    await server().ok('GET', '/api/v1/nodes/n/proxy/headers', { headers })
    const names = Object.keys(agent.headers.at(-1) ?? {})
    expect(names.filter((name) => /^(impersonate|x|sec|authorization)/.test(name))).toEqual([
      'x-other',
    ])
  })

  /** Gives the pod p an address. */
  async function addressed(at: string, podIP: string): Promise<void> {
    await server().ok('PATCH', `${at}/p/status`, {
      body: { status: { podIP, podIPs: [{ ip: podIP }] } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
  }

  it.each([
    '127.0.0.1',
    '127.8.9.1',
    '::1',
    '::ffff:127.0.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '255.255.255.255',
    '::',
    'fe80::1',
    '224.0.0.1',
    'ff02::1',
  ])('a pod whose address is %s is not reached, by any method', async (podIP) => {
    const { at } = await runningPod()
    await addressed(at, podIP)
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'PATCH']) {
      const answer = await server().request(method, `${at}/p:8080/proxy/`)
      expect(answer.status, method).toBe(400)
      if (method !== 'HEAD') expect(answer.body.message).toBe('address not allowed')
    }
  })

  it('nothing but what the agent says a pod listens on is reached, whatever the address is', async () => {
    const { at } = await runningPod()
    const reached: string[] = []
    const listener = createServer((socket) => {
      reached.push(String(socket.remotePort))
      socket.destroy()
    })
    await new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve))
    const { port } = listener.address() as AddressInfo
    const ask = async (path: string): Promise<unknown[]> => {
      const { status, body } = await server().request('POST', path, { body: {} })
      return [status, body.message]
    }
    const notAllowed = [400, 'address not allowed']
    try {
      await addressed(at, '127.0.0.1')
      expect(await ask(`${at}/p:${port}/proxy/`)).toEqual(notAllowed)
      expect(await ask(`/api/v1/nodes/n:${port}/proxy/`)).toEqual(notAllowed)
      await addressed(at, '10.1.2.3')
      const why = `error forwarding port ${port}: connect: connection refused`
      expect(await ask(`${at}/p:${port}/proxy/`)).toEqual([
        503,
        `error trying to reach service: ${why}`,
      ])
      expect(await ask(`${at}/https:p:${port}/proxy/`)).toMatchObject([503, expect.anything()])
      expect(reached).toEqual([])
    } finally {
      await new Promise((resolve) => listener.close(resolve))
    }
  })

  it('[RES-048] a policy can name the verb redirect', async () => {
    const ns = await server().namespace()
    await allow(server(), ns, {
      name: 'redirector',
      rules: [{ resources: ['services'], verbs: ['redirect'] }],
    })
    const reviews = `/apis/${server().group('authorization')}/v1/subjectaccessreviews`
    const allowed = async (verb: string): Promise<boolean> => {
      const resourceAttributes = { namespace: ns, verb, resource: 'services' }
      const body = { spec: { user: 'redirector', resourceAttributes } }
      return (await server().ok('POST', reviews, { body })).status.allowed
    }
    expect(await allowed('redirect')).toBe(true)
    expect(await allowed('get')).toBe(false)
    expect(await allowed('proxy')).toBe(false)
  })
})
