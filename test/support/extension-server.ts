/** A real extension API server for tests: HTTPS, client certificates, JSON only; keeps what it was asked. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { createAuthority } from '../../certs/authority.ts'
import { issue } from '../../certs/pki.ts'
import { servingProfile } from '../../certs/profiles.ts'
import type { TestApiServer } from './api-server.ts'
import { eventually } from './eventually.ts'

export interface ExtensionAsked {
  readonly method: string
  /** With the query. */
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly distinct: IncomingMessage['headersDistinct']
  readonly body: string
  /** Common name of the certificate that was shown, '' without one. */
  readonly caller: string
}

/** Answers a request; true when it did. */
export type ExtensionHandler = (asked: ExtensionAsked, response: ServerResponse) => boolean

export interface ExtensionServer extends AsyncDisposable {
  readonly group: string
  readonly port: number
  /** Its authority, PEM in base64, as an APIService carries it. */
  readonly caBundle: string
  /** What it was asked, apart from what API servers ask themselves. */
  readonly asked: readonly ExtensionAsked[]
  /** The last request of that path, whoever asked. */
  lastOf(path: string): ExtensionAsked | undefined
  /** Comes before its own answers. */
  handle: ExtensionHandler
  /** Which aggregated discovery it speaks; `none`: plain lists alone. */
  discovery: 'v2' | 'v2beta1' | 'none'
  /** Answers an upgrade. */
  upgrade: (asked: Omit<ExtensionAsked, 'body'>, socket: Duplex, head: Buffer) => void
  /** Ends all connections. */
  cut(): void
}

const flavors = {
  resource: 'flavors',
  responseKind: { group: '', version: '', kind: 'Flavor' },
  scope: 'Namespaced',
  singularResource: 'flavor',
  shortNames: ['fl'],
  verbs: ['create', 'get', 'list', 'watch'],
}

/** The object `name` of its one kind. */
export function flavorOf(group: string, name: string, namespace = 'default') {
  return {
    apiVersion: `${group}/v1`,
    kind: 'Flavor',
    metadata: { name, namespace, uid: `uid-${name}`, resourceVersion: '7' },
    spec: { taste: 'sweet' },
  }
}

function swagger(group: string): object {
  const flavor = 'com.example.v1.Flavor'
  const answer = { description: 'OK', schema: { $ref: `#/definitions/${flavor}` } }
  return {
    swagger: '2.0',
    info: { title: 'flavors', version: 'v1' },
    paths: {
      [`/apis/${group}/v1/namespaces/{namespace}/flavors/{name}`]: {
        get: { operationId: 'readFlavor', responses: { 200: answer } },
      },
      '/apis/other.example.com/v1/': { get: { responses: {} } },
    },
    definitions: {
      [flavor]: {
        description: 'A taste.',
        type: 'object',
        properties: { spec: { $ref: '#/definitions/com.example.v1.Spec' } },
        'x-kubernetes-group-version-kind': [{ group, kind: 'Flavor', version: 'v1' }],
      },
      'com.example.v1.Spec': { type: 'object', properties: { taste: { type: 'string' } } },
      'com.example.v1.Unused': { type: 'object' },
    },
  }
}

function v3(group: string): object {
  return {
    openapi: '3.0.0',
    info: { title: 'flavors', version: 'v1' },
    paths: {
      [`/apis/${group}/v1/namespaces/{namespace}/flavors`]: {
        get: {
          operationId: 'listFlavors',
          responses: { 200: { description: 'OK' } },
          'x-kubernetes-action': 'list',
          'x-kubernetes-group-version-kind': { group, kind: 'Flavor', version: 'v1' },
        },
      },
    },
    components: {
      schemas: {
        'com.example.v1.Flavor': {
          description: 'A taste.',
          type: 'object',
          properties: { spec: { type: 'object', description: 'How it tastes.' } },
          'x-kubernetes-group-version-kind': [{ group, kind: 'Flavor', version: 'v1' }],
        },
      },
    },
  }
}

/** Starts it on a free port; its certificate is for the Service `extension` of the namespace. */
export async function startExtensionServer(setup: {
  readonly group: string
  readonly namespace: string
  /** Domain of the group apidiscovery. */
  readonly apiDomain?: string
}): Promise<ExtensionServer> {
  const { group, namespace, apiDomain = 'k8s.io' } = setup
  const nowMs = Date.now()
  const authority = createAuthority({ commonName: 'extension-ca', nowMs })
  const subject = { commonName: 'extension', organizations: [] }
  const { certificatePem, privateKeyPem } = issue(authority, {
    profile: servingProfile({ subject, dnsNames: [`extension.${namespace}.svc`], ipAddresses: [] }),
    nowMs,
  })
  const asked: ExtensionAsked[] = []
  const all: ExtensionAsked[] = []

  const json = (response: ServerResponse, value: unknown, type = 'application/json'): void => {
    response.writeHead(200, { 'content-type': type })
    response.end(`${JSON.stringify(value)}\n`)
  }

  function answer(one: ExtensionAsked, response: ServerResponse): void {
    if (server.handle(one, response)) return
    const [path = ''] = one.url.split('?')
    const version = `/apis/${group}/v1`
    const accept = one.headers.accept ?? ''
    if (path === '/apis') {
      const wanted = `v=${server.discovery};as=APIGroupDiscoveryList`
      if (server.discovery === 'none' || !accept.includes(wanted)) {
        response.writeHead(server.discovery === 'none' ? 404 : 406).end()
        return
      }
      const name = `apidiscovery.${apiDomain}`
      const list = {
        kind: 'APIGroupDiscoveryList',
        apiVersion: `${name}/${server.discovery}`,
        metadata: {},
        items: [
          {
            metadata: { name: group, creationTimestamp: null },
            versions: [{ version: 'v1', freshness: 'Current', resources: [flavors] }],
          },
        ],
      }
      json(response, list, `application/json;g=${name};${wanted}`)
      return
    }
    if (path === '/openapi/v2') return json(response, swagger(group))
    if (path === '/openapi/v3') {
      const own = { serverRelativeURL: `/openapi/v3${version}?hash=ABC` }
      const stranger = { serverRelativeURL: '/openapi/v3/apis/apps/v1?hash=stranger' }
      return json(response, { paths: { [`apis/${group}/v1`]: own, 'apis/apps/v1': stranger } })
    }
    if (path === `/openapi/v3${version}`) return json(response, v3(group))
    if (path === version) {
      return json(response, {
        kind: 'APIResourceList',
        apiVersion: 'v1',
        groupVersion: `${group}/v1`,
        resources: [
          {
            name: 'flavors',
            singularName: 'flavor',
            namespaced: true,
            kind: 'Flavor',
            shortNames: ['fl'],
            verbs: ['create', 'get', 'list', 'watch'],
          },
          {
            name: 'flavors/status',
            singularName: '',
            namespaced: true,
            kind: 'Flavor',
            verbs: ['get'],
          },
        ],
      })
    }
    const [, place = 'default', name] =
      /^\/apis\/[^/]+\/v1\/namespaces\/([^/]+)\/flavors(?:\/([^/]+))?$/.exec(path) ?? []
    if (!path.endsWith('/flavors') && name === undefined) {
      response.writeHead(404).end()
      return
    }
    if (one.method === 'POST') return json(response, JSON.parse(one.body))
    if (name !== undefined) return json(response, flavorOf(group, name, place))
    const items = ['mint', 'vanilla'].map((each) => flavorOf(group, each, place))
    return json(response, {
      apiVersion: `${group}/v1`,
      kind: 'FlavorList',
      metadata: { resourceVersion: '7' },
      items,
    })
  }

  const keep = (request: IncomingMessage, body: string): ExtensionAsked => {
    const { subject: peer } = (request.socket as TLSSocket).getPeerCertificate()
    const one = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      distinct: request.headersDistinct,
      body,
      caller: String(peer?.CN ?? ''),
    }
    all.push(one)
    if (one.headers['x-remote-user'] !== 'system:kube-aggregator') asked.push(one)
    return one
  }
  const https = createServer(
    {
      cert: certificatePem,
      key: privateKeyPem,
      requestCert: true,
      rejectUnauthorized: false,
    },
    (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => answer(keep(request, Buffer.concat(chunks).toString()), response))
    },
  )
  https.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {})
    server.upgrade(keep(request, ''), socket, head)
  })
  await new Promise<void>((resolve) => https.listen(0, '127.0.0.1', resolve))
  const server: ExtensionServer = {
    group,
    port: (https.address() as AddressInfo).port,
    caBundle: Buffer.from(authority.certificatePem).toString('base64'),
    asked,
    lastOf: (path) => all.findLast(({ url }) => url.split('?')[0] === path),
    handle: () => false,
    discovery: 'v2',
    upgrade: (_, socket) => void socket.destroy(),
    cut: () => https.closeAllConnections(),
    [Symbol.asyncDispose]: async () => {
      https.closeAllConnections()
      await new Promise<void>((resolve) => https.close(() => resolve()))
    },
  }
  return server
}

/** A Service that leads to the extension server (Endpoints may not be on loopback), and the APIService that names it. */
export async function registerExtension(
  server: TestApiServer,
  extension: ExtensionServer,
  more: { readonly namespace: string; readonly version?: string; readonly spec?: object },
): Promise<string> {
  const { namespace, version = 'v1' } = more
  const at = `/api/v1/namespaces/${namespace}`
  const metadata = { name: 'extension', namespace }
  await server.ok('POST', `${at}/services`, {
    body: { metadata, spec: { type: 'ExternalName', externalName: 'localhost' } },
  })
  await server.ok('POST', apiServicesPath(server), {
    body: {
      metadata: { name: `${version}.${extension.group}` },
      spec: {
        group: extension.group,
        version,
        service: { namespace, name: 'extension', port: extension.port },
        caBundle: extension.caBundle,
        groupPriorityMinimum: 2000,
        versionPriority: 10,
        ...more.spec,
      },
    },
  })
  return `${apiServicesPath(server)}/${version}.${extension.group}`
}

/** The path of all APIServices. */
export function apiServicesPath(server: TestApiServer): string {
  return `/apis/${server.group('apiregistration')}/v1/apiservices`
}

/** The condition Available of the APIService at the path, once it has that reason. */
export async function whenReason(server: TestApiServer, path: string, reason: string) {
  return await eventually(async () => {
    const { status } = await server.ok('GET', path)
    const conditions = (status?.conditions ?? []) as Record<string, string>[]
    const found = conditions.find(({ type }) => type === 'Available')
    if (found?.['reason'] === reason) return found
    throw new Error(`${path} is not ${reason}: ${JSON.stringify(conditions)}`)
  }, 170_000)
}
