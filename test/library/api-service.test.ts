/** Extension API servers of a test's own process, behind the API server of a real cluster. */
import { writeFileSync } from 'node:fs'
import { request as httpsRequest } from 'node:https'
import type { RequestOptions } from 'node:https'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAuthority } from '../../certs/authority.ts'
import { issue } from '../../certs/pki.ts'
import { clientProfile, frontProxyClientSubject } from '../../certs/profiles.ts'
import { serveApiService } from '../../library/api-service.ts'
import { startCluster, StatusError } from '../../library/index.ts'
import type {
  ApiServiceHandler,
  ApiServiceOptions,
  Cluster,
  KubernetesObject,
  Snapshot,
  UserInfo,
} from '../../library/index.ts'
import { builtOnce } from '../e2e/built.ts'
import { requireKubectl } from '../e2e/kubectl.ts'
import { run } from '../e2e/program.ts'
import { startApiServer } from '../support/api-server.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { authorityOf, connectionTo } from './place.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const kubectl = requireKubectl()
const group = 'flavors.example.com'
const apiVersion = `${group}/v1`
const root = `/apis/${apiVersion}`
const name = `v1.${group}`
const resources: ApiServiceOptions['resources'] = [
  {
    name: 'flavors',
    kind: 'Flavor',
    namespaced: false,
    verbs: ['create', 'get', 'list', 'watch'],
    shortNames: ['fl'],
  },
]
const flavor = (of: string): KubernetesObject => ({
  apiVersion,
  kind: 'Flavor',
  metadata: { name: of, resourceVersion: '7' },
})
const names = ['mint', 'vanilla']
const notFound = {
  apiVersion: 'v1',
  kind: 'Status',
  status: 'Failure',
  reason: 'NotFound',
  code: 404,
  message: 'there is no such flavor',
}

/** Lists, gets and creates. */
const flavors: ApiServiceHandler = async (request) => {
  const { pathname } = new URL(request.url)
  if (request.method === 'POST') return Response.json(await request.json(), { status: 201 })
  if (pathname === `${root}/flavors`) {
    const metadata = { resourceVersion: '7' }
    return Response.json({ apiVersion, kind: 'FlavorList', metadata, items: names.map(flavor) })
  }
  const wanted = pathname.split('/').at(-1) ?? ''
  return names.includes(wanted)
    ? Response.json(flavor(wanted))
    : Response.json(notFound, { status: 404 })
}

let cluster: Cluster
let fresh: Snapshot
beforeAll(async () => {
  cluster = await startCluster({ nodes: 0, components: [] })
  fresh = await cluster.snapshot()
})
afterAll(async () => await cluster.stop())
beforeEach(async () => await cluster.restore(fresh))

const serve = (handler: ApiServiceHandler, more: Partial<ApiServiceOptions> = {}) =>
  cluster.apiService({ group, version: 'v1', resources, ...more }, handler)
const apiServices = async () =>
  (await cluster.admin.list({ kind: 'APIService' })).filter(({ spec }) => spec.service)
const services = async () =>
  (await cluster.admin.list({ kind: 'Service', namespace: 'kube-system' })).map(
    ({ metadata }) => metadata?.name,
  )
const send = (path: string, method = 'GET', body?: unknown) =>
  cluster.admin.request({ method, path, body })
/** Where the APIService leads. */
const portNow = async (): Promise<number> => (await apiServices())[0]?.['spec'].service.port

const tcpServers = (): number =>
  process.getActiveResourcesInfo().filter((one) => one === 'TCPServerWrap').length

/** A request that does not come through the API server. */
function directly(
  port: number,
  more: RequestOptions = {},
): Promise<{ code: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'X-Remote-User': 'admin', 'X-Remote-Group': 'system:masters' }
    const at = { host: '127.0.0.1', port, path: `${root}/flavors`, headers, agent: false }
    const sent = httpsRequest({ ...at, rejectUnauthorized: false, ...more }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () =>
        resolve({ code: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      )
    })
    sent.on('error', reject)
    sent.end()
  })
}

describe('a group version that a handler serves', () => {
  test('is Available and in discovery, and its objects are read by kind', async () => {
    await using _ = await serve(flavors)
    const [apiService] = await apiServices()
    expect(apiService).toMatchObject({
      metadata: { name },
      spec: { group, version: 'v1', groupPriorityMinimum: 1000, versionPriority: 10 },
      status: { conditions: [{ type: 'Available', status: 'True', reason: 'Passed' }] },
    })
    expect(await send(root)).toMatchObject({
      kind: 'APIResourceList',
      resources: [{ name: 'flavors', singularName: 'flavor', kind: 'Flavor', shortNames: ['fl'] }],
    })
    const { admin } = cluster
    const listed = await admin.list({ kind: 'fl' })
    expect(listed.map(({ metadata }) => metadata?.name)).toEqual(names)
    expect(await admin.get({ kind: 'Flavor', name: 'mint' })).toEqual(flavor('mint'))
    expect(await admin.create(flavor('lime'))).toEqual(flavor('lime'))
    await expect(admin.get({ kind: 'Flavor', name: 'coal' })).rejects.toMatchObject({
      reason: 'NotFound',
      message: 'there is no such flavor',
    })
  })

  kubectl.test('is read by kubectl', async () => {
    await using _ = await serve(flavors)
    const kubeconfig = join(temporaryFolder('api-service'), 'kubeconfig')
    writeFileSync(kubeconfig, cluster.kubeconfig())
    const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: join(kubeconfig, '..') }
    const typed = async (line: string) => {
      const { code, stdout, stderr } = await run(kubectl.path, line.split(' '), {
        env,
        timeoutMs: 90_000,
      })
      expect(stderr).toBe('')
      expect(code).toBe(0)
      return stdout
    }
    expect(await typed('get flavors -o name')).toBe(
      `flavor.${group}/mint\nflavor.${group}/vanilla\n`,
    )
    expect(await typed('get fl mint -o jsonpath={.metadata.name}')).toBe('mint')
    const found = await typed(`api-resources --api-group=${group} --no-headers`)
    expect(found.split(/\s+/).slice(0, 5)).toEqual(['flavors', 'fl', apiVersion, 'false', 'Flavor'])
  })

  test('gets the user whom the API server authenticated', async () => {
    const seen: UserInfo[] = []
    await using _ = await serve((request, { userInfo }) => {
      seen.push(userInfo)
      return flavors(request, { userInfo })
    })
    await cluster.apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'tasters' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: 'cluster-admin',
      },
      subjects: [{ kind: 'Group', name: 'tasters', apiGroup: 'rbac.authorization.k8s.io' }],
    })
    const jane = cluster.client({ user: 'jäne', groups: ['tasters', 'cooks'] })
    await jane.request({
      method: 'GET',
      path: `${root}/flavors/mint`,
      // Of a client's own such headers the API server forwards none.
      headers: { 'X-Remote-User': 'admin', 'X-Remote-Extra-Mood': 'good' },
    })
    await cluster.admin.request({
      method: 'GET',
      path: `${root}/flavors/mint`,
      headers: {
        'Impersonate-User': 'joe',
        'Impersonate-Extra-Scopes': 'read',
        'Impersonate-Group': 'tasters',
      },
    })
    expect(seen).toMatchObject([
      { username: 'jäne', groups: ['cooks', 'tasters', 'system:authenticated'] },
      { username: 'joe', groups: ['tasters', 'system:authenticated'], extra: { scopes: ['read'] } },
    ])
    expect(Object.keys(seen[0]?.extra ?? {})).not.toContain('mood')
  })

  test('is authorized by the API server: the handler sees no request that it rejects', async () => {
    let asked = 0
    await using _ = await serve((request, context) => {
      asked += 1
      return flavors(request, context)
    })
    const joe = cluster.client({ user: 'joe' })
    await expect(joe.list({ kind: 'Flavor', apiVersion })).rejects.toMatchObject({
      reason: 'Forbidden',
    })
    expect(asked).toBe(0)
  })

  test('gets method, query, headers and body, and its status, headers and body come back', async () => {
    const seen: unknown[] = []
    await using _ = await serve(async (request) => {
      const { pathname, search } = new URL(request.url)
      const type = request.headers.get('content-type')
      seen.push([request.method, pathname, search, type, await request.text()])
      return new Response('teapot', { status: 418, headers: { 'content-type': 'text/x-tea' } })
    })
    const path = `${root}/flavors/mint?dryRun=All`
    const put = cluster.admin.request({ method: 'PUT', path, body: { a: 'ü' } })
    await expect(put).rejects.toMatchObject({ code: 418 })
    expect(seen).toEqual([
      ['PUT', `${root}/flavors/mint`, '?dryRun=All', 'application/json', '{"a":"ü"}'],
    ])
  })

  test('streams watches, and ends them when the client leaves', async () => {
    const events = ['mint', 'vanilla'].map((one) => ({ type: 'ADDED', object: flavor(one) }))
    const left = Promise.withResolvers<void>()
    await using _ = await serve((request) => {
      if (!new URL(request.url).searchParams.has('watch'))
        return Response.json({
          apiVersion,
          kind: 'FlavorList',
          metadata: { resourceVersion: '7' },
          items: [],
        })
      request.signal.addEventListener('abort', () => left.resolve())
      const lines = new ReadableStream({
        start: (controller) => {
          const encoder = new TextEncoder()
          for (const one of events) controller.enqueue(encoder.encode(`${JSON.stringify(one)}\n`))
        },
      })
      return new Response(lines, { headers: { 'content-type': 'application/json' } })
    })
    const seen: string[] = []
    for await (const { type, object } of cluster.admin.watch({ kind: 'Flavor' })) {
      seen.push(`${type} ${object.metadata?.name}`)
      if (seen.length === 2) break
    }
    await left.promise
    expect(seen).toEqual(['ADDED mint', 'ADDED vanilla'])
  })

  test('may have discovery, OpenAPI and everything else of its own', async () => {
    const asked = new Set<string>()
    const own = [
      { name: 'flavors', singularName: '', namespaced: true, kind: 'Flavor', verbs: ['get'] },
    ]
    await using _ = await cluster.apiService({ group, version: 'v1' }, (request) => {
      const { pathname } = new URL(request.url)
      asked.add(pathname)
      if (pathname !== root) return new Response('', { status: 404 })
      const list = { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersion }
      return Response.json({ ...list, resources: own })
    })
    expect(await send(root)).toMatchObject({ resources: own })
    expect([...asked]).toEqual(expect.arrayContaining([root, '/apis', '/openapi/v2']))
  })
})

describe('a request that does not come through the API server', () => {
  test('is refused, whatever it says it is', async () => {
    let asked = 0
    await using _ = await serve((request, context) => {
      asked += 1
      return flavors(request, context)
    })
    const port = await portNow()
    const nowMs = Date.now()
    const forged = issue(createAuthority({ commonName: 'front-proxy-ca', nowMs }), {
      profile: clientProfile(frontProxyClientSubject),
      nowMs,
    })
    const why =
      'only the API server may send requests here, with the certificate of its front proxy'
    const certificates = [
      {},
      { cert: forged.certificatePem, key: forged.privateKeyPem },
      credentialsIn(cluster.kubeconfig()),
    ]
    for (const certificate of certificates) {
      const { code, text } = await directly(port, certificate)
      expect(code).toBe(401)
      expect(JSON.parse(text)).toMatchObject({ reason: 'Unauthorized', message: why })
    }
    expect(asked).toBe(0)
  })

  test('is accepted with the front proxy’s own certificate, as the API server shows it', async () => {
    const proxy = await startWithFrontProxy()
    await using server = proxy.server
    using connection = connectionTo(server)
    const at = { authority: authorityOf(server), dialect: server.dialect }
    const options = { group, version: 'v1', resources: resources ?? [] }
    await using _ = await serveApiService(connection, at, options, (_request, { userInfo }) =>
      Response.json(userInfo),
    )
    const { body } = await server.request(
      'GET',
      `/apis/apiregistration.k8s.io/v1/apiservices/${name}`,
    )
    const { port } = body.spec.service
    const { certificate, other } = proxy
    const headers = {
      'X-Remote-User': 'jane',
      'X-Remote-Group': ['a', 'b'],
      'X-Remote-Extra-Some%2Fthing': 'x',
    }
    const accepted = await directly(port, { ...certificate, headers })
    expect(JSON.parse(accepted.text)).toEqual({
      username: 'jane',
      groups: ['a', 'b'],
      extra: { 'some/thing': ['x'] },
    })
    // Without a user, and by a name that is not allowed.
    expect((await directly(port, { ...certificate, headers: {} })).code).toBe(401)
    expect((await directly(port, { ...other, headers })).code).toBe(401)
  })
})

describe('a handler that fails', () => {
  test('answers 500 with its message, and the disposal rejects with its error', async () => {
    const bug = new Error('flavor is not defined')
    const registration = await serve(() => {
      throw bug
    })
    await expect(cluster.admin.list({ kind: 'Flavor' })).rejects.toMatchObject({
      reason: 'InternalError',
      message: 'flavor is not defined',
    })
    await expect(registration.dispose()).rejects.toBe(bug)
    expect(await apiServices()).toEqual([])
  })

  test('gives something else than a Response', async () => {
    const registration = await serve(() => ({ status: 200 }) as never)
    const message = `the handler gave no Response for GET ${root}/flavors`
    await expect(send(`${root}/flavors`)).rejects.toThrow(message)
    await expect(registration.dispose()).rejects.toThrow(message)
  })

  test('throws while its body is sent: the answer is cut short', async () => {
    const bug = new Error('the flavors ran out')
    const registration = await serve(
      () => new Response(new ReadableStream({ pull: (controller) => controller.error(bug) })),
    )
    await expect(send(`${root}/flavors`)).rejects.toThrow()
    await expect(registration.dispose()).rejects.toBe(bug)
  })

  test('without discovery of its own keeps the group version from being served', async () => {
    await using server = (await startWithFrontProxy()).server
    using connection = connectionTo(server)
    const clock = new FakeClock(Date.now())
    const at = { authority: authorityOf(server), dialect: server.dialect, networkClock: clock }
    const serving = serveApiService(connection, at, { group, version: 'v1' }, () => {
      throw new Error('not yet')
    })
    const seen = expect(serving).rejects.toThrow(
      /^the API server does not serve v1\.flavors\.example\.com: failing or missing response from .*: 500; the handler threw: not yet$/,
    )
    let isOver = false
    void serving.catch(() => {}).finally(() => (isOver = true))
    while (!isOver) await clock.step(1000)
    await seen
    const { status } = await server.request(
      'GET',
      `/apis/apiregistration.k8s.io/v1/apiservices/${name}`,
    )
    expect(status).toBe(404)
  })
})

describe('the end of a group version', () => {
  test('is complete: no APIService, no Service, no server, nothing in discovery', async () => {
    const before = await services()
    const registration = await serve(flavors)
    expect(await services()).toHaveLength(before.length + 1)
    const port = await portNow()
    await registration.dispose()
    await registration.dispose()
    expect([await apiServices(), await services()]).toEqual([[], before])
    await expect(send(`${root}/flavors`)).rejects.toMatchObject({ code: 404 })
    expect(JSON.stringify(await send('/apis'))).not.toContain(group)
    await expect(directly(port)).rejects.toThrow('ECONNREFUSED')
    await using _ = await serve(flavors)
    expect(await cluster.admin.list({ kind: 'Flavor' })).toHaveLength(2)
  })

  test('ends its watches', async () => {
    const begun = Promise.withResolvers<void>()
    const over = Promise.withResolvers<unknown>()
    const registration = await serve((request) => {
      begun.resolve()
      return new Response(new ReadableStream({ cancel: (reason) => over.resolve(reason) }), {
        headers: { 'content-type': request.headers.get('accept') ?? '' },
      })
    })
    const watching = send(`${root}/flavors?watch=true`).catch((error: unknown) => error)
    await begun.promise
    await registration.dispose()
    expect(await over.promise).toMatchObject({ message: /API service v1\.flavors/ })
    await watching
  })

  test('gives back what it took, sockets and memory, however often', async () => {
    const taken = (): number => {
      collectGarbage()
      return process.memoryUsage().arrayBuffers
    }
    await expect.poll(tcpServers).toBe(0)
    const before = taken()
    for (let round = 0; round < 10; round += 1) {
      const ballast = Buffer.alloc(8_000_000, 1)
      await using _ = await serve((request, context) => {
        expect(ballast[round]).toBe(1)
        return flavors(request, context)
      })
      await cluster.admin.list({ kind: 'Flavor' })
    }
    await expect.poll(tcpServers).toBe(0)
    // One round's at most.
    await expect.poll(() => taken() - before).toBeLessThan(10_000_000)
    expect(await apiServices()).toEqual([])
  })

  test('leaves an APIService of that name alone that is another one by now', async () => {
    const first = await serve(flavors)
    await cluster.restore(fresh)
    await using _ = await serve(flavors)
    await first.dispose()
    expect(await cluster.admin.list({ kind: 'Flavor' })).toHaveLength(2)
  })
})

describe('a group version that is served already', () => {
  test('is rejected, and goes on as it was', async () => {
    await using _ = await serve(flavors)
    const again = serve(() => Response.json({}))
    await expect(again).rejects.toBeInstanceOf(StatusError)
    await expect(serve(flavors)).rejects.toThrow(
      'apiservices.apiregistration.k8s.io "v1.flavors.example.com" already exists',
    )
    expect(await cluster.admin.list({ kind: 'Flavor' })).toHaveLength(2)
  })
})

describe('other forms of a cluster', () => {
  test('a fork is served by the handler, too, until that is disposed of', async () => {
    const registration = await serve(flavors)
    await using fork = await cluster.fork()
    const list = () => fork.admin.list({ kind: 'Flavor' })
    await expect.poll(() => list().catch(() => [])).toHaveLength(2)
    await using other = await fork.apiService(
      { group: 'other.example.com', version: 'v1', resources: resources ?? [] },
      flavors,
    )
    expect(other).toBeDefined()
    expect(await apiServices()).toHaveLength(1)
    await registration.dispose()
    await expect(list()).rejects.toMatchObject({ code: 503 })
  })

  test('a cluster of processes is served, too', async () => {
    await builtOnce()
    await using other = await startCluster({ form: 'processes', nodes: 0, components: [] })
    await using _ = await other.apiService({ group, version: 'v1', resources }, flavors)
    expect(await other.admin.list({ kind: 'Flavor' })).toHaveLength(2)
  })

  test('an API server without a front proxy is refused', async () => {
    await using server = await startApiServer()
    using connection = connectionTo(server)
    const at = { authority: authorityOf(server), dialect: server.dialect }
    await expect(
      serveApiService(connection, at, { group, version: 'v1' }, flavors),
    ).rejects.toThrow('give it the flags requestheader-client-ca-file')
  })
})

/** Certificate and key of a kubeconfig. */
function credentialsIn(kubeconfig: string): { cert: string; key: string } {
  const read = (field: string): string =>
    Buffer.from(
      new RegExp(`${field}: "?([^"\n]+)`).exec(kubeconfig)?.[1] ?? '',
      'base64',
    ).toString()
  return { cert: read('client-certificate-data'), key: read('client-key-data') }
}

/** An API server with a front proxy whose certificate the test has, and one of another name. */
async function startWithFrontProxy() {
  const folder = temporaryFolder('front-proxy')
  const nowMs = Date.now()
  const authority = createAuthority({ commonName: 'front-proxy-ca', nowMs })
  const make = (commonName: string) => {
    const profile = clientProfile({ commonName, organizations: [] })
    const { certificatePem: cert, privateKeyPem: key } = issue(authority, { profile, nowMs })
    return { cert, key }
  }
  const certificate = make('front-proxy-client')
  const write = (file: string, text: string): string => {
    writeFileSync(join(folder, file), text)
    return join(folder, file)
  }
  const server = await startApiServer({
    flags: [
      `--requestheader-client-ca-file=${write('ca.crt', authority.certificatePem)}`,
      '--requestheader-allowed-names=front-proxy-client',
      '--requestheader-username-headers=X-Remote-User',
      '--requestheader-group-headers=X-Remote-Group',
      '--requestheader-extra-headers-prefix=X-Remote-Extra-',
      `--proxy-client-cert-file=${write('proxy.crt', certificate.cert)}`,
      `--proxy-client-key-file=${write('proxy.key', certificate.key)}`,
    ],
  })
  return { server, certificate, other: make('someone') }
}
