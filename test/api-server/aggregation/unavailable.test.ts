import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { ownPort } from '../../support/own-port.ts'
import {
  apiServicesPath,
  registerExtension,
  startExtensionServer,
  whenReason,
  type ExtensionServer,
} from '../../support/extension-server.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- documents are read as a client reads them
type Json = any

const group = 'flavors.example.com'
const withinMs = 120_000
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

async function discovered(server: TestApiServer, name: string): Promise<Json> {
  const { items } = await server.ok('GET', '/apis', { headers: { accept: aggregated } })
  return items.find((item: Json) => item.metadata.name === name)?.versions[0]
}

describe('an APIService whose server cannot be reached', () => {
  let server: TestApiServer
  beforeAll(async () => {
    server = await startApiServer({ flags: ['--enable-aggregator-routing=true'] })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    expect(server.faults).toEqual([])
  })

  const create = async (name: string, service: object): Promise<string> => {
    const spec = {
      group: `${name}.example.com`,
      version: 'v1',
      service: { namespace: 'default', name, ...service },
      insecureSkipTLSVerify: true,
      groupPriorityMinimum: 100,
      versionPriority: 10,
    }
    const metadata = { name: `v1.${name}.example.com` }
    await server.ok('POST', apiServicesPath(server), { body: { metadata, spec } })
    return `${apiServicesPath(server)}/${metadata.name}`
  }
  const service = (name: string, spec: object): Promise<unknown> =>
    server.ok('POST', '/api/v1/namespaces/default/services', { body: { metadata: { name }, spec } })
  const endpoints = (name: string, subsets: object[]): Promise<unknown> =>
    server.ok('POST', '/api/v1/namespaces/default/endpoints', {
      body: { metadata: { name }, subsets },
    })

  it('says what is missing, in steps, as soon as the step before is made', async () => {
    const path = await create('steps', { port: 8443 })
    expect(await whenReason(server, path, 'ServiceNotFound')).toMatchObject({
      status: 'False',
      message: 'service/steps in "default" is not present',
    })
    await service('steps', { ports: [{ name: 'web', port: 443 }] })
    expect(await whenReason(server, path, 'ServicePortError')).toMatchObject({
      status: 'False',
      message: 'service/steps in "default" is not listening on port 8443',
    })
    const found = await server.ok('GET', '/api/v1/namespaces/default/services/steps')
    await server.ok('PUT', '/api/v1/namespaces/default/services/steps', {
      body: { ...found, spec: { ...found.spec, ports: [{ name: 'web', port: 8443 }] } },
    })
    expect(await whenReason(server, path, 'EndpointsNotFound')).toMatchObject({
      status: 'False',
      message: 'cannot find endpoints for service/steps in "default"',
    })
    await endpoints('steps', [
      { addresses: [{ ip: '192.0.2.1' }], ports: [{ name: 'other', port: 1 }] },
    ])
    expect(await whenReason(server, path, 'MissingEndpoints')).toMatchObject({
      status: 'False',
      message: 'endpoints for service/steps in "default" have no addresses with port name "web"',
    })
  })

  it('names the answer that was not given', async () => {
    const port = ownPort()
    const path = await create('dead', { port })
    await service('dead', { type: 'ExternalName', externalName: 'localhost' })
    const { status, message = '' } = await whenReason(server, path, 'FailedDiscoveryCheck')
    expect(status).toBe('False')
    const url = `https://localhost:${port}/apis/dead.example.com/v1`
    expect(message).toMatch(`failing or missing response from ${url}: Get "${url}": dial tcp `)
    expect(message).toContain(`:${port}: connect: connection refused`)
  })

  it('is answered 503, listed, and stale in discovery', async () => {
    const path = await create('nowhere', {})
    await whenReason(server, path, 'ServiceNotFound')
    const reply = await server.request('GET', '/apis/nowhere.example.com/v1/things')
    expect(reply.status).toBe(503)
    expect(reply.text).toBe('service unavailable\n')
    expect((await server.request('GET', '/apis/nowhere.example.com/v1')).status).toBe(503)
    const { groups } = await server.ok('GET', '/apis')
    expect(groups.map(({ name }: Json) => name)).toContain('nowhere.example.com')
    await eventually(async () => {
      expect(await discovered(server, 'nowhere.example.com')).toEqual({
        version: 'v1',
        resources: [],
        freshness: 'Stale',
      })
    }, withinMs)
    expect((await server.request('GET', '/openapi/v2')).status).toBe(200)
    await server.ok('DELETE', path)
    expect((await server.request('GET', '/apis/nowhere.example.com/v1/things')).status).toBe(404)
    expect(await discovered(server, 'nowhere.example.com')).toBeUndefined()
  })
})

describe('an extension API server that comes and goes', () => {
  let server: TestApiServer
  let extension: ExtensionServer
  let path: string
  const flavors = `/apis/${group}/v1/namespaces/default/flavors`

  beforeAll(async () => {
    server = await startApiServer({ flags: ['--enable-aggregator-routing=true'] })
    extension = await startExtensionServer({ group, namespace: 'default' })
    path = await registerExtension(server, extension, { namespace: 'default' })
    await whenReason(server, path, 'Passed')
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await extension[Symbol.asyncDispose]()
    expect(server.faults).toEqual([])
  })
  const change = async (change: (object: Json) => void): Promise<void> => {
    await eventually(async () => {
      const object = await server.ok('GET', path)
      change(object)
      await server.ok('PUT', path, { body: object })
    }, withinMs)
  }

  it('is believed no longer when another authority is named, and again without', async () => {
    const { caBundle } = extension
    await change(
      ({ spec }) =>
        (spec.caBundle = Buffer.from(server.pki.authority.certificatePem).toString('base64')),
    )
    const reply = await server.request('GET', flavors)
    expect(reply.status).toBe(503)
    expect(reply.text).toBe(
      'error trying to reach service: tls: failed to verify certificate: x509: certificate signed by unknown authority\n',
    )
    await change(({ spec }) => {
      delete spec.caBundle
      spec.insecureSkipTLSVerify = true
    })
    expect((await server.request('GET', flavors)).status).toBe(200)
    await change(({ spec }) => {
      spec.caBundle = caBundle
      spec.insecureSkipTLSVerify = false
    })
    expect((await server.request('GET', flavors)).status).toBe(200)
  })

  it('is discovered by its plain list when it has no other, v2beta1 otherwise', async () => {
    for (const form of ['none', 'v2beta1'] as const) {
      extension.discovery = form
      // Any change has it asked again.
      await change(({ spec }) => (spec.versionPriority += 1))
      await eventually(async () => {
        const { freshness, resources } = await discovered(server, group)
        expect(freshness).toBe('Current')
        expect(resources[0]).toMatchObject({
          resource: 'flavors',
          responseKind: { kind: 'Flavor' },
          scope: 'Namespaced',
          verbs: ['create', 'get', 'list', 'watch'],
        })
        expect(resources[0].subresources?.[0]?.subresource).toBe(
          form === 'none' ? 'status' : undefined,
        )
      }, withinMs)
    }
  })

  it('may say odd things of itself: what can be understood is shown', async () => {
    const resources = [
      null,
      'x',
      {},
      { resource: 'odd', subresources: [7, { subresource: 'sub' }] },
    ]
    extension.handle = ({ url }, response) => {
      if (url !== '/apis') return false
      const versions = [{ version: 'v1', resources }]
      const items = [null, { metadata: { name: group }, versions }]
      response.writeHead(200, { 'content-type': aggregated })
      response.end(JSON.stringify({ kind: 'APIGroupDiscoveryList', items }))
      return true
    }
    // Any change has it asked again.
    await change(({ spec }) => (spec.versionPriority += 1))
    const responseKind = { group: '', version: '', kind: '' }
    await eventually(async () => {
      expect(await discovered(server, group)).toEqual({
        version: 'v1',
        freshness: 'Current',
        resources: [
          {
            resource: 'odd',
            responseKind,
            verbs: [],
            subresources: [{ subresource: 'sub', responseKind, verbs: [] }],
          },
        ],
      })
    }, withinMs)
    extension.handle = () => false
    await change(({ spec }) => (spec.versionPriority += 1))
    await eventually(async () => {
      expect((await discovered(server, group)).resources[0].resource).toBe('flavors')
    }, withinMs)
  })

  it('is shown as it was, but stale, when it fails; a cut answer is a cut answer', async () => {
    extension.handle = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"items": [', () => extension.cut())
      return true
    }
    await expect(server.request('GET', flavors)).rejects.toThrow()
    extension.handle = (_, response) => {
      response.writeHead(500).end()
      return true
    }
    // Any change has it asked again.
    await change(({ spec }) => (spec.versionPriority += 1))
    const { message = '' } = await whenReason(server, path, 'FailedDiscoveryCheck')
    const url = `https://localhost:${extension.port}/apis/${group}/v1`
    expect(message).toBe(`failing or missing response from ${url}: bad status from ${url}: 500`)
    await eventually(async () => {
      const { freshness, resources } = await discovered(server, group)
      expect([freshness, resources.length]).toEqual(['Stale', 1])
    }, withinMs)
    const { text } = await server.request('GET', '/metrics')
    expect(text).toContain(`aggregator_unavailable_apiservice{name="v1.${group}"} 1`)
    expect(text).toContain(
      `aggregator_unavailable_apiservice_total{name="v1.${group}",reason="FailedDiscoveryCheck"} 1`,
    )
    extension.handle = () => false
    await change(({ spec }) => (spec.versionPriority += 1))
    await whenReason(server, path, 'Passed')
    await eventually(async () => {
      expect((await discovered(server, group)).freshness).toBe('Current')
    }, withinMs)
  })

  it('becomes local when it names no service any more', async () => {
    await change(({ spec }) => {
      delete spec.service
      delete spec.caBundle
    })
    expect((await server.request('GET', flavors)).status).toBe(404)
    expect(await whenReason(server, path, 'Local')).toMatchObject({ status: 'True' })
  })

  it('may take the place of a built-in group version', async () => {
    const apps = `${apiServicesPath(server)}/v1.apps`
    const object = await server.ok('GET', apps)
    const served = { namespace: 'default', name: 'extension', port: extension.port }
    object.spec = { ...object.spec, service: served, caBundle: extension.caBundle }
    await server.ok('PUT', apps, { body: object })
    extension.handle = ({ url }, response) => {
      if (!url.startsWith('/apis/apps/v1')) return false
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"kind":"Other"}')
      return true
    }
    await whenReason(server, apps, 'Passed')
    expect((await server.ok('GET', '/apis/apps/v1/deployments')).kind).toBe('Other')
    await server.ok('DELETE', apps)
    expect((await server.ok('GET', '/apis/apps/v1/deployments')).kind).toBe('DeploymentList')
    expect((await server.ok('GET', '/apis/apps/v1')).kind).toBe('APIResourceList')
  })
})
