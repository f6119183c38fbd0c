/** proxy: forwards a request to a node agent, a Pod or a Service and streams the answer back (RES-047; upstream: UpgradeAwareHandler). */
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { BlockList, isIP } from 'node:net'
import type { Service } from '../../api/generated/types.ts'
import { request as httpRequest } from '../../component-base/node-http.ts'
import type { Resource } from '../../machinery/resource.ts'
import { badRequest, notFound, StatusError } from '../../machinery/status-error.ts'
import { maxBodyBytes } from '../decode-body.ts'
import { connectionTo, nodeTarget, type NodeAgentCredentials } from '../outgoing/node-agents.ts'
import type { Answer, RequestContext, ResponseSink } from '../request.ts'
import type { Parts, ResourceHandler } from './parts.ts'

interface Target {
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly port: number
  readonly path: string
}

/** Addresses that are never a pod's: they reach the machine's neighbourhood (upstream: IsProxyableIP). Local nodes use loopback. */
const notProxied = new BlockList()
notProxied.addAddress('0.0.0.0')
notProxied.addAddress('::', 'ipv6')
notProxied.addSubnet('169.254.0.0', 16)
notProxied.addSubnet('fe80::', 10, 'ipv6')
notProxied.addSubnet('224.0.0.0', 4)
notProxied.addSubnet('ff00::', 8, 'ipv6')

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

/** Beginnings of headers that say who calls, or that open a WebSocket and may hold a token in its protocols. */
const prefixesNotForwarded = [':', 'impersonate-', 'x-remote-', 'sec-websocket-']

function forwardable(headers: Readonly<Record<string, string | string[] | undefined>>) {
  const kept: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || notForwarded.has(name)) continue
    if (prefixesNotForwarded.some((prefix) => name.startsWith(prefix))) continue
    kept[name] = value
  }
  return kept
}

function restOf(context: RequestContext): string {
  const question = context.http.url.indexOf('?')
  const query = question < 0 ? '' : context.http.url.slice(question)
  const { path, rest } = context.info
  const end = path.endsWith('/') && rest.length > 0 ? '/' : ''
  return `/${rest.map(encodeURIComponent).join('/')}${end}${query}`
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

function portOf(text: string): number | undefined {
  if (!/^\d+$/.test(text)) return undefined
  if (Number(text) > 65_535) throw badRequest(`invalid port ${JSON.stringify(text)}`)
  return Number(text) || undefined
}

function podTarget(context: RequestContext, resource: Resource, parts: Parts): Target {
  const { scheme, name, port } = splitTarget(context.info.name)
  const pod = parts.cache.get(resource, context.info.namespace, name)
  if (pod === undefined) throw notFound(resource, name)
  const { containers = [] } = pod['spec'] as {
    containers?: { ports?: { containerPort: number }[] }[]
  }
  const host = (pod['status'] as { podIP?: string } | undefined)?.podIP
  if (!isProxied(host)) throw badRequest('address not allowed')
  const declared = containers.flatMap(({ ports = [] }) => ports)[0]?.containerPort
  return { scheme, host, port: portOf(port) ?? declared ?? 80, path: restOf(context) }
}

function isProxied(host = ''): host is string {
  const family = isIP(host)
  return family !== 0 && !notProxied.check(host, family === 6 ? 'ipv6' : 'ipv4')
}

interface EndpointAddress {
  readonly ip: string
  readonly targetRef?: { readonly namespace?: string; readonly name?: string }
}

/** Who may write Endpoints must not thereby reach any address: it has to be one of a pod that the address names. */
function isPodAddress(context: RequestContext, parts: Parts, address: EndpointAddress): boolean {
  const { namespace } = context.info
  const { ip, targetRef } = address
  if (targetRef?.name === undefined || targetRef.namespace !== namespace) return false
  const pod = parts.cache.get(parts.resources.pods, namespace, targetRef.name)
  const status = pod?.['status'] as { podIP?: string; podIPs?: { ip: string }[] } | undefined
  const isOwn = status?.podIP === ip || status?.podIPs?.some((one) => one.ip === ip) === true
  return isOwn && isProxied(ip)
}

/** The name of the port that a request means: a number stands for the name of that port, and nothing for the port without a name. */
function servicePortName({ metadata, spec }: Service, port: string): string {
  if (!/^\d+$/.test(port)) return port
  const found = spec?.ports?.find((one) => one.port === Number(port))
  if (found !== undefined) return found.name ?? ''
  throw new StatusError(
    'ServiceUnavailable',
    `no service port ${port} found for service "${metadata.name}"`,
  )
}

function serviceTarget(context: RequestContext, resource: Resource, parts: Parts): Target {
  const { scheme, name, port } = splitTarget(context.info.name)
  const service = parts.cache.get(resource, context.info.namespace, name) as Service | undefined
  if (service === undefined) throw notFound(resource, name)
  const endpoints = parts.cache.get(parts.resources.endpoints, context.info.namespace, name)
  const wanted = servicePortName(service, port)
  for (const subset of (endpoints?.['subsets'] ?? []) as {
    addresses?: EndpointAddress[]
    ports?: { name?: string; port: number }[]
  }[]) {
    const address = subset.addresses?.find((one) => isPodAddress(context, parts, one))
    const at = subset.ports?.find((one) => (one.name ?? '') === wanted)
    if (address !== undefined && at !== undefined) {
      return { scheme, host: address.ip, port: at.port, path: restOf(context) }
    }
  }
  throw new StatusError('ServiceUnavailable', `no endpoints available for service "${name}"`)
}

/** Writes what comes, as fast as it is taken, until the client is gone. */
export async function pipe(
  from: IncomingMessage,
  sink: ResponseSink,
  shown: (chunk: Buffer) => Buffer = (chunk) => chunk,
): Promise<void> {
  for await (const chunk of from as AsyncIterable<Buffer>) {
    if (!sink.write(shown(chunk))) await sink.drained()
    if (sink.signal.aborted) return
  }
}

/** Sends the request on and answers with what comes back; an unreachable target is a 503. */
async function forward(
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
            ...(credentials ? connectionTo(credentials) : { rejectUnauthorized: false }),
          })
        : httpRequest(options)
    outgoing.once('response', resolve)
    outgoing.on('error', (error) => {
      reject(
        new StatusError('ServiceUnavailable', `error trying to reach service: ${error.message}`, {
          cause: error,
        }),
      )
    })
    outgoing.end(body)
  })
  // Nobody reads the body of this answer.
  if (context.http.method === 'HEAD') answer.resume()
  return {
    status: answer.statusCode ?? 502,
    headers: forwardable(answer.headers),
    body: (sink) => pipe(answer, sink),
  }
}

/** Lets admission look at a connection that is about to be made (upstream: ConnectResource). */
export async function admitConnection(
  context: RequestContext,
  resource: Resource,
  parts: Parts,
  options: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const { info, user, warnings } = context
  const { namespace, name, subresource } = info
  const { kind = 'PodProxyOptions', version = 'v1' } =
    resource.subresources.find((one) => one.name === subresource) ?? {}
  const [path] = subresource === 'proxy' ? restOf(context).split('?') : []
  await parts.registry.admit({
    operation: 'CONNECT',
    resource,
    subresource,
    namespace,
    name,
    object: { kind, apiVersion: version, metadata: {}, ...(path ? { path } : {}), ...options },
    old: undefined,
    user,
    dryRun: false,
    warnings,
    context,
  })
}

/** The handlers of nodes/proxy, pods/proxy and services/proxy. */
export function createProxyHandlers(
  credentials: NodeAgentCredentials,
): Readonly<Record<string, ResourceHandler>> {
  return {
    'nodes/proxy': async (context, resource, parts) => {
      await admitConnection(context, resource, parts)
      const { name } = splitTarget(context.info.name)
      const target = { scheme: 'https' as const, ...nodeTarget(parts, name), path: restOf(context) }
      return await forward(context, target, credentials)
    },
    'pods/proxy': async (context, resource, parts) => {
      await admitConnection(context, resource, parts)
      return await forward(context, podTarget(context, resource, parts), undefined)
    },
    'services/proxy': async (context, resource, parts) => {
      await admitConnection(context, resource, parts)
      return await forward(context, serviceTarget(context, resource, parts), undefined)
    },
  }
}
