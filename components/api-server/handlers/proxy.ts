/** proxy: forwards a request to a node agent, a Pod or a Service and streams the answer back (RES-047; upstream: UpgradeAwareHandler). */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { KubeObject } from '../../machinery/object.ts'
import type { Resource } from '../../machinery/resource.ts'
import { badRequest, notFound, StatusError } from '../../machinery/status-error.ts'
import { maxBodyBytes } from '../decode-body.ts'
import type { Answer, RequestContext, ResponseSink } from '../request.ts'
import type { Parts, ResourceHandler } from './parts.ts'

/** How the server shows itself to node agents. */
export interface NodeAgentCredentials {
  readonly cert: Buffer | undefined
  readonly key: Buffer | undefined
  readonly ca: Buffer | undefined
}

interface Target {
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly port: number
  readonly path: string
}

/** Headers that describe one connection, or that carry the caller's credential, are not passed on. */
const notForwarded = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'proxy-authorization',
  'proxy-authenticate',
  'proxy-connection',
  'authorization',
  'host',
  'content-length',
  'http2-settings',
])

function forwardable(headers: Readonly<Record<string, string | string[] | undefined>>) {
  const kept: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(':') || notForwarded.has(name)) continue
    kept[name] = value
  }
  return kept
}

/** Where a node's agent listens, from its status. */
export function nodeAddress(node: KubeObject): { host: string; port: number } {
  const status = (node['status'] ?? {}) as {
    addresses?: { type: string; address: string }[]
    daemonEndpoints?: { kubeletEndpoint?: { Port?: number } }
  }
  const preferred = ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP']
  const ip = status.addresses?.find(({ type }) => type === 'InternalIP')
  const found =
    ip ??
    status.addresses?.toSorted((a, b) => preferred.indexOf(a.type) - preferred.indexOf(b.type))[0]
  if (found === undefined) {
    throw new StatusError('ServiceUnavailable', `no preferred addresses found; known addresses: []`)
  }
  return { host: found.address, port: status.daemonEndpoints?.kubeletEndpoint?.Port ?? 10_250 }
}

function restOf(context: RequestContext): string {
  const question = context.http.url.indexOf('?')
  const query = question < 0 ? '' : context.http.url.slice(question)
  return `/${context.info.rest.map(encodeURIComponent).join('/')}${query}`
}

/** `name`, `name:port` or `scheme:name:port`, as the path segment may say. */
function splitTarget(segment: string): { scheme: 'http' | 'https'; name: string; port: string } {
  const parts = segment.split(':')
  if (parts.length === 1) return { scheme: 'http', name: segment, port: '' }
  if (parts.length === 2) return { scheme: 'http', name: parts[0] ?? '', port: parts[1] ?? '' }
  if (parts.length === 3 && (parts[0] === 'http' || parts[0] === 'https' || parts[0] === '')) {
    return {
      scheme: parts[0] === 'https' ? 'https' : 'http',
      name: parts[1] ?? '',
      port: parts[2] ?? '',
    }
  }
  throw badRequest(`invalid proxy request ${JSON.stringify(segment)}`)
}

function podTarget(context: RequestContext, resource: Resource, parts: Parts): Target {
  const { scheme, name, port } = splitTarget(context.info.name)
  const pod = parts.cache.get(resource, context.info.namespace, name)
  if (pod === undefined) throw notFound(resource, name)
  const { containers = [] } = pod['spec'] as {
    containers?: { ports?: { containerPort: number }[] }[]
  }
  const host = (pod['status'] as { podIP?: string } | undefined)?.podIP
  if (host === undefined || host === '') throw badRequest('address not allowed')
  const declared = containers.flatMap(({ ports = [] }) => ports)[0]?.containerPort
  return { scheme, host, port: Number(port) || (declared ?? 80), path: restOf(context) }
}

function serviceTarget(context: RequestContext, resource: Resource, parts: Parts): Target {
  const { scheme, name, port } = splitTarget(context.info.name)
  const service = parts.cache.get(resource, context.info.namespace, name)
  if (service === undefined) throw notFound(resource, name)
  const endpoints = parts.cache.get(parts.resources.endpoints, context.info.namespace, name)
  const { ports = [] } = service['spec'] as { ports?: { name?: string; port: number }[] }
  const wanted =
    port === '' ? ports[0] : ports.find((one) => one.name === port || String(one.port) === port)
  for (const subset of (endpoints?.['subsets'] ?? []) as {
    addresses?: { ip: string }[]
    ports?: { name?: string; port: number }[]
  }[]) {
    const address = subset.addresses?.[0]
    const at = subset.ports?.find((one) => (one.name ?? '') === (wanted?.name ?? ''))
    if (address !== undefined && at !== undefined) {
      return { scheme, host: address.ip, port: at.port, path: restOf(context) }
    }
  }
  throw new StatusError('ServiceUnavailable', `no endpoints available for service "${name}"`)
}

async function pipe(from: IncomingMessage, sink: ResponseSink): Promise<void> {
  for await (const chunk of from as AsyncIterable<Buffer>) {
    if (!sink.write(chunk)) await sink.drained()
  }
}

/** Sends the request on and answers with what comes back; an unreachable target is a 503. */
export async function forward(
  context: RequestContext,
  target: Target,
  credentials: NodeAgentCredentials | undefined,
): Promise<Answer> {
  const body = await context.http.body(maxBodyBytes)
  const options = {
    host: target.host,
    port: target.port,
    path: target.path,
    method: context.http.method,
    headers: { ...forwardable(context.http.headers), 'content-length': String(body.length) },
    signal: context.http.signal,
  }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing =
      target.scheme === 'https'
        ? httpsRequest({
            ...options,
            ...(credentials?.cert === undefined ? {} : { cert: credentials.cert }),
            ...(credentials?.key === undefined ? {} : { key: credentials.key }),
            ...(credentials?.ca === undefined ? {} : { ca: credentials.ca }),
            // Node agents serve with a certificate of their own unless an authority for them was given.
            rejectUnauthorized: credentials?.ca !== undefined,
          })
        : httpRequest(options)
    outgoing.once('response', resolve)
    outgoing.once('error', (error) => {
      reject(
        new StatusError('ServiceUnavailable', `error trying to reach service: ${error.message}`, {
          cause: error,
        }),
      )
    })
    outgoing.end(body)
  })
  return {
    status: answer.statusCode ?? 502,
    headers: forwardable(answer.headers),
    body: (sink) => pipe(answer, sink),
  }
}

/** The handlers of nodes/proxy, pods/proxy, services/proxy and pods/log. */
export function createProxyHandlers(
  credentials: NodeAgentCredentials,
): Readonly<Record<string, ResourceHandler>> {
  const toNode = (parts: Parts, name: string): { host: string; port: number } => {
    const node = parts.cache.get(parts.resources.nodes, '', name)
    if (node === undefined) throw notFound(parts.resources.nodes, name)
    return nodeAddress(node)
  }
  return {
    'nodes/proxy': async (context, _, parts) => {
      const { name } = splitTarget(context.info.name)
      const target = { scheme: 'https' as const, ...toNode(parts, name), path: restOf(context) }
      return await forward(context, target, credentials)
    },
    'pods/proxy': async (context, resource, parts) =>
      await forward(context, podTarget(context, resource, parts), undefined),
    'services/proxy': async (context, resource, parts) =>
      await forward(context, serviceTarget(context, resource, parts), undefined),
    'pods/log': async (context, resource, parts) => {
      const { namespace, name, query } = context.info
      const pod = parts.cache.get(resource, namespace, name)
      if (pod === undefined) throw notFound(resource, name)
      const { nodeName = '', containers = [] } = pod['spec'] as {
        nodeName?: string
        containers?: { name: string }[]
      }
      const container =
        query.get('container') ?? (containers.length === 1 ? containers[0]?.name : '')
      if (container === undefined || container === '') {
        const names = containers.map((one) => one.name).join(' ')
        throw badRequest(
          `a container name must be specified for pod ${name}, choose one of: [${names}]`,
        )
      }
      if (!containers.some((one) => one.name === container)) {
        throw badRequest(`container ${container} is not valid for pod ${name}`)
      }
      if (nodeName === '') {
        // An unscheduled Pod has no log yet, which upstream shows as an empty one.
        return { status: 200, headers: { 'content-type': 'text/plain' }, body: Buffer.alloc(0) }
      }
      const question = context.http.url.indexOf('?')
      const path = `/containerLogs/${namespace}/${name}/${container}${question < 0 ? '' : context.http.url.slice(question)}`
      const target = { scheme: 'https' as const, ...toNode(parts, nodeName), path }
      return await forward(context, target, credentials)
    },
  }
}
