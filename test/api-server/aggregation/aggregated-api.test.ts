import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createAuthority } from '../../../certs/authority.ts'
import { issue } from '../../../certs/pki.ts'
import { clientProfile, frontProxyClientSubject } from '../../../certs/profiles.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { admin, startApiServer, user } from '../../support/api-server.ts'
import type { TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import {
  registerExtension,
  startExtensionServer,
  whenReason,
  type ExtensionServer,
} from '../../support/extension-server.ts'

const folder = temporaryFolder('aggregation')

const nowMs = Date.now()
const frontProxy = issue(createAuthority({ commonName: 'front-proxy-ca', nowMs }), {
  profile: clientProfile(frontProxyClientSubject),
  nowMs,
})
const cert = join(folder, 'front-proxy-client.crt')
const key = join(folder, 'front-proxy-client.key')
writeFileSync(cert, frontProxy.certificatePem)
writeFileSync(key, frontProxy.privateKeyPem)
const flags = [
  `--proxy-client-cert-file=${cert}`,
  `--proxy-client-key-file=${key}`,
  '--enable-aggregator-routing=true',
]

// oxlint-disable-next-line typescript/no-explicit-any -- documents are read as a client reads them
type Json = any

const group = 'flavors.example.com'
const base = `/apis/${group}/v1`
const flavorsPath = `${base}/namespaces/default/flavors`
const withinMs = 120_000

describe.each(['kubernetes', 'svc'] as const)('an aggregated API, dialect %s', (dialect) => {
  const { apiDomain, protobufMediaType } = dialects[dialect]
  let server: TestApiServer
  let extension: ExtensionServer
  let path: string

  beforeAll(async () => {
    server = await startApiServer({ dialect, flags })
    extension = await startExtensionServer({ group, namespace: 'default', apiDomain })
    path = await registerExtension(server, extension, { namespace: 'default' })
    await whenReason(server, path, 'Passed')
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await extension[Symbol.asyncDispose]()
    expect(server.faults).toEqual([])
  })
  afterEach(() => {
    extension.handle = () => false
    extension.discovery = 'v2'
  })

  it('[PROTO-017] is not to be had as protobuf: 406, and what is accepted besides is answered', async () => {
    const only = await server.request('GET', flavorsPath, {
      headers: { accept: protobufMediaType },
    })
    expect(only.status).toBe(406)
    // The Status is one of this server's own kinds.
    expect(only.text).toContain(
      'only the following media types are accepted: application/json, application/yaml',
    )
    expect(extension.asked).toEqual([])
    const accept = `${protobufMediaType}, application/json`
    const both = await server.request('GET', flavorsPath, { headers: { accept } })
    expect(both.status).toBe(200)
    expect(both.headers['content-type']).toBe('application/json')
    expect(both.body.items).toHaveLength(2)
    expect(extension.asked.map(({ headers }) => headers.accept)).toEqual(['application/json'])
  })

  it('is asked for the user with the certificate of the front proxy, without his credential', async () => {
    const token = await server.ok(
      'POST',
      `/api/v1/namespaces/${server.dialect.systemNamespace}/serviceaccounts`,
      { body: { metadata: { name: 'asker' } } },
    )
    expect(token.metadata.name).toBe('asker')
    const tokens = `/api/v1/namespaces/${server.dialect.systemNamespace}/serviceaccounts/asker/token`
    const { status } = await server.ok('POST', tokens, { body: { spec: {} } })
    const name = `system:serviceaccount:${server.dialect.systemNamespace}:asker`
    await server.ok('POST', `/apis/${server.group('rbac.authorization')}/v1/clusterroles`, {
      body: {
        metadata: { name: 'taster' },
        rules: [{ apiGroups: [group], resources: ['*'], verbs: ['*'] }],
      },
    })
    await server.ok('POST', `/apis/${server.group('rbac.authorization')}/v1/clusterrolebindings`, {
      body: {
        metadata: { name: 'taster' },
        roleRef: {
          apiGroup: server.group('rbac.authorization'),
          kind: 'ClusterRole',
          name: 'taster',
        },
        subjects: [{ kind: 'User', apiGroup: server.group('rbac.authorization'), name }],
      },
    })
    const reply = await server.request('GET', `${flavorsPath}/mint?pretty=true`, {
      as: { token: status.token },
      headers: {
        'x-remote-user': 'system:admin',
        'x-remote-group': 'system:masters',
        'x-remote-extra-scopes': 'all',
        'x-own': 'kept',
      },
    })
    expect(reply.status).toBe(200)
    expect(reply.body).toMatchObject({ kind: 'Flavor', metadata: { name: 'mint' } })
    const { url, headers, distinct, caller } = extension.asked.at(-1) as Json
    expect(url).toBe(`${flavorsPath}/mint?pretty=true`)
    expect(caller).toBe('front-proxy-client')
    expect(headers.authorization).toBeUndefined()
    expect(headers['x-own']).toBe('kept')
    expect(distinct['x-remote-user']).toEqual([name])
    expect(distinct['x-remote-group']).toEqual([
      'system:serviceaccounts',
      `system:serviceaccounts:${server.dialect.systemNamespace}`,
      'system:authenticated',
    ])
    expect(headers['x-remote-extra-scopes']).toBeUndefined()
    expect(headers['x-remote-uid']).toBeUndefined()
    expect(headers.host).toBe(`localhost:${extension.port}`)
    expect(headers['audit-id']).toBe(reply.headers['audit-id'])
  })

  it('is asked for whom the caller impersonates, names and extra values as they are', async () => {
    const reply = await server.request('GET', flavorsPath, {
      headers: {
        'impersonate-user': 'system:admin',
        'impersonate-group': ['system:masters', 'a, b'],
        'impersonate-extra-acme.com%2fproject': 'one',
        'impersonate-extra-motto': Buffer.from('süß').toString('latin1'),
      },
    })
    expect(reply.status).toBe(200)
    const { headers, distinct } = extension.asked.at(-1) as Json
    expect(distinct['x-remote-user']).toEqual(['system:admin'])
    expect(distinct['x-remote-group']).toEqual(['system:masters', 'a, b', 'system:authenticated'])
    expect(headers['x-remote-extra-acme.com%2fproject']).toBe('one')
    expect(Buffer.from(headers['x-remote-extra-motto'], 'latin1').toString()).toBe('süß')
    expect(Object.keys(headers).filter((name) => name.startsWith('impersonate-'))).toEqual([])
  })

  it('is asked for nothing that the caller may not do', async () => {
    const before = extension.asked.length
    const reply = await server.request('GET', flavorsPath, { as: user('stranger') })
    expect(reply.status).toBe(403)
    expect(reply.body.message).toContain(
      `User "stranger" cannot list resource "flavors" in API group "${group}" in the namespace "default"`,
    )
    const anonymous = await server.request('GET', flavorsPath, { as: 'anonymous' })
    expect(anonymous.status).toBe(403)
    for (const odd of ['mint%2fstatus', '%2e%2e', '..', 'x/%2E']) {
      const { status } = await server.request('GET', `${flavorsPath}/${odd}`)
      expect(status, odd).toBe(400)
    }
    expect(extension.asked.length).toBe(before)
  })

  it('gets bodies as they are, up to the limit of all requests, and every such request is audited', async () => {
    const text = `{"kind": "Flavor",  "metadata": {"name": "new"}}`
    const reply = await server.request('POST', `${flavorsPath}?dryRun=All`, {
      body: text,
      headers: { 'content-type': 'application/json' },
    })
    expect(reply.status).toBe(200)
    expect(extension.asked.at(-1)).toMatchObject({ method: 'POST', body: text })
    const record = await server.auditOf(reply)
    expect(record).toMatchObject({
      verb: 'create',
      objectRef: { resource: 'flavors', namespace: 'default', apiGroup: group, apiVersion: 'v1' },
      responseStatus: { code: 200 },
    })
    const large = await server.request('POST', flavorsPath, {
      body: Buffer.alloc(3 * 1024 * 1024 + 1),
    })
    expect(large.status).toBe(413)
  })

  it('answers with status, headers and body of its own, but for those of other origins', async () => {
    extension.handle = (_, response) => {
      response.writeHead(418, {
        'content-type': 'text/teapot',
        'x-answer': 'yes',
        'access-control-allow-origin': '*',
      })
      response.end('short and stout')
      return true
    }
    const reply = await server.request('PATCH', `${flavorsPath}/mint`, { body: '{}' })
    expect([reply.status, reply.text]).toEqual([418, 'short and stout'])
    expect(reply.headers['content-type']).toBe('text/teapot')
    expect(reply.headers['x-answer']).toBe('yes')
    expect(reply.headers['access-control-allow-origin']).toBeUndefined()
    const head = await server.request('HEAD', `${flavorsPath}/mint`)
    expect([head.status, head.text]).toEqual([418, ''])
  })

  it('streams watches, and their end in both directions', async () => {
    const opened: ServerResponse[] = []
    extension.handle = ({ url }, response) => {
      if (!url.includes('watch=')) return false
      response.writeHead(200, { 'content-type': 'application/json' })
      response.flushHeaders()
      opened.push(response)
      return true
    }
    const event = (name: string): string =>
      `${JSON.stringify({ type: 'ADDED', object: { metadata: { name } } })}\n`
    const watch = await server.watch(`${flavorsPath}?watch=true`)
    opened[0]?.write(event('one'))
    expect((await watch.next()).object.metadata.name).toBe('one')
    opened[0]?.end(event('two'))
    expect((await watch.next()).object.metadata.name).toBe('two')
    await watch.ended
    const other = await server.watch(`${flavorsPath}?watch=1`)
    const closed = new Promise<void>((resolve) => opened[1]?.once('close', () => resolve()))
    other.close()
    await closed
  })

  it('answers that are no watch come as they are written, even to clients that take gzip', async () => {
    let end = (): void => {}
    extension.handle = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      response.write('first')
      end = () => response.end()
      return true
    }
    const stream = await server.stream(`${flavorsPath}/mint`, {
      headers: { 'accept-encoding': 'gzip' },
    })
    expect((await stream.bytesUntil((bytes) => bytes.length > 0)).toString()).toBe('first')
    end()
    stream.close()
  })

  it('may not redirect', async () => {
    extension.handle = (_, response) => {
      response.writeHead(302, { location: 'https://127.0.0.1:1/' }).end()
      return true
    }
    const reply = await server.request('GET', `${flavorsPath}/mint`)
    expect(reply.status).toBe(502)
    expect(reply.text).toBe(
      'the backend attempted to redirect this request, which is not permitted',
    )
  })

  it('is in discovery of every form, in the order of its priorities', async () => {
    const groups = (await server.ok('GET', '/apis')).groups.map(({ name }: Json) => name as string)
    expect(groups[0]).toBe(server.group('apiregistration'))
    expect(groups.at(-1)).toBe(group)
    expect(await server.ok('GET', `/apis/${group}`)).toEqual({
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: group,
      versions: [{ groupVersion: `${group}/v1`, version: 'v1' }],
      preferredVersion: { groupVersion: `${group}/v1`, version: 'v1' },
    })
    const list = await server.ok('GET', base)
    expect(list.resources[0].name).toBe('flavors')
    for (const form of ['v2', 'v2beta1']) {
      const accept = `application/json;g=apidiscovery.${apiDomain};v=${form};as=APIGroupDiscoveryList`
      const found = await eventually(async () => {
        const { items } = await server.ok('GET', '/apis', { headers: { accept } })
        const last = items.at(-1)
        expect(last.versions[0].freshness).toBe('Current')
        return last
      }, withinMs)
      expect(found).toMatchObject({
        metadata: { name: group },
        versions: [{ version: 'v1', resources: [{ resource: 'flavors', shortNames: ['fl'] }] }],
      })
    }
    const { paths } = await server.ok('GET', '/')
    expect(paths).toEqual(expect.arrayContaining([`/apis/${group}`, base, '/apis/apps/v1']))
  })

  it('is in OpenAPI: its part of version 2, and its own document of version 3', async () => {
    await eventually(async () => {
      const { paths, definitions } = await server.ok('GET', '/openapi/v2')
      expect(paths[`${base}/namespaces/{namespace}/flavors/{name}`]).toBeDefined()
      expect(paths['/apis/other.example.com/v1/']).toBeUndefined()
      expect(definitions['com.example.v1.Spec']).toBeDefined()
      expect(definitions['com.example.v1.Unused']).toBeUndefined()
    }, withinMs)
    const { paths } = await server.ok('GET', '/openapi/v3')
    expect(paths[`apis/${group}/v1`]).toEqual({
      serverRelativeURL: `/openapi/v3${base}?hash=ABC`,
    })
    expect(paths['apis/apps/v1'].serverRelativeURL).not.toContain('stranger')
    const document = await server.ok('GET', `/openapi/v3${base}?hash=ABC`)
    expect(document.components.schemas['com.example.v1.Flavor']).toBeDefined()
    const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
    const protobuf = await server.request('GET', '/openapi/v2', { headers: { accept } })
    expect(protobuf.status).toBe(200)
    expect(protobuf.bytes.includes('com.example.v1.Flavor')).toBe(true)
  })

  it('is counted in the metrics', async () => {
    const { text } = await server.request('GET', '/metrics')
    expect(text).toContain(`aggregator_unavailable_apiservice{name="v1.${group}"} 0`)
  })

  it('kubectl is told who serves it', async () => {
    const accept = `application/json;as=Table;g=meta.${apiDomain};v=v1`
    const table = await server.ok('GET', path, { headers: { accept }, as: admin })
    expect(table.rows[0].cells.slice(0, 3)).toEqual([`v1.${group}`, 'default/extension', 'True'])
  })
})

describe('an aggregated API', () => {
  it('is told uids with the gate RemoteRequestHeaderUID, and its watches end with the server', async () => {
    await using extension = await startExtensionServer({ group, namespace: 'default' })
    const gate = '--feature-gates=RemoteRequestHeaderUID=true'
    await using server = await startApiServer({ flags: [...flags, gate] })
    await whenReason(
      server,
      await registerExtension(server, extension, { namespace: 'default' }),
      'Passed',
    )
    const headers = { 'impersonate-user': 'jane', 'impersonate-uid': '42' }
    const as = { user: 'operator', groups: ['system:masters'] }
    expect((await server.request('GET', flavorsPath, { as, headers })).status).toBe(403)
    const groups = ['system:masters']
    const more = { ...headers, 'impersonate-group': groups }
    expect((await server.request('GET', flavorsPath, { as, headers: more })).status).toBe(200)
    expect(extension.asked.at(-1)?.headers).toMatchObject({
      'x-remote-user': 'jane',
      'x-remote-uid': '42',
    })
    extension.handle = ({ url }, response) => {
      if (!url.includes('watch=')) return false
      response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
      return true
    }
    const watch = await server.watch(`${flavorsPath}?watch=true`)
    const stopped = server.terminate()
    await watch.ended
    await stopped
  })
})
