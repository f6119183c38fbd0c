/**
 * proxy: forwards a request to a node agent, a Pod or a Service and streams the answer back (upstream: UpgradeAwareHandler).
 */
import type { ClientRequest, IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { RequestOptions } from 'node:https'
import { connect as connectTls } from 'node:tls'
import { request as httpRequest } from '../../component-base/node-http.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { StatusError } from '../../machinery/objects/status-error.ts'
import { maxBodyBytes } from '../codec/decode-body.ts'
import { forwardable } from '../egress/forwardable-headers.ts'
import { connectionTo, nodeTarget, type NodeAgentCredentials } from '../egress/node-agents.ts'
import { connectToPod } from '../egress/pod-connection.ts'
import type { Answer, RequestContext, ResponseSink } from '../request/request.ts'
import type { Parts, ResourceHandler } from './parts.ts'
import { nodeAgentTarget, podTarget, serviceTarget, type PodTarget } from './proxy-target.ts'

/** A proxied request opens no WebSocket, and these headers may hold a bearer token. */
const webSocketPrefix = 'sec-websocket-'

function restOf(context: RequestContext): string {
  const question = context.http.url.indexOf('?')
  const query = question < 0 ? '' : context.http.url.slice(question)
  const { path, rest } = context.info
  const end = path.endsWith('/') && rest.length > 0 ? '/' : ''
  return `/${rest.map(encodeURIComponent).join('/')}${end}${query}`
}

/** Streams to the client until it is gone, waiting for a slow one. */
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

interface Way {
  readonly host: string
  readonly port: number
  /** Connects. Resolves with a function that sends a request on that connection. */
  open(): Promise<(options: RequestOptions) => ClientRequest>
}

const unreachable = (error: Error): StatusError =>
  new StatusError('ServiceUnavailable', `error trying to reach service: ${error.message}`, {
    cause: error,
  })

/** Sends the request on and streams the answer. An unreachable target is a 503. */
async function forward(context: RequestContext, { host, port, open }: Way): Promise<Answer> {
  const body = await context.http.body(maxBodyBytes)
  const { method, headers, signal } = context.http
  const ask = await open()
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    ask({
      host,
      port,
      path: restOf(context),
      method,
      headers: { ...forwardable(headers, webSocketPrefix), 'content-length': String(body.length) },
      signal,
    })
      .once('response', resolve)
      .on('error', (error) => reject(unreachable(error)))
      .end(body)
  })
  // The body of an answer to HEAD is never read.
  if (method === 'HEAD') answer.resume()
  return {
    status: answer.statusCode ?? 502,
    headers: forwardable(answer.headers, webSocketPrefix),
    body: (sink) => pipe(answer, sink),
  }
}

/** The connection to a port of a pod, through its node's agent. */
function wayToPod(
  context: RequestContext,
  parts: Parts,
  to: { target: PodTarget; credentials: NodeAgentCredentials },
): Way {
  const { scheme, node, pod, host, port } = to.target
  const { credentials } = to
  const { namespace } = context.info
  const agent = nodeTarget(parts, node)
  const open: Way['open'] = async () => {
    const more = { credentials, signal: context.http.signal }
    const socket = await connectToPod(agent, { namespace, pod, port }, more).catch(
      (error: Error) => {
        throw unreachable(error)
      },
    )
    // The pod's certificate is not verified, as upstream.
    const isSecure = scheme === 'https'
    const connection = isSecure ? connectTls({ socket, rejectUnauthorized: false }) : socket
    const defaultPort = isSecure ? 443 : 80
    return (options) => httpRequest({ ...options, defaultPort, createConnection: () => connection })
  }
  return { host, port, open }
}

/** Runs admission for the connection, before it is made (upstream: ConnectResource). */
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

/** The handlers of nodes/proxy, pods/proxy and services/proxy (docs/decisions/0006-proxies.md). */
export function createProxyHandlers(
  credentials: NodeAgentCredentials,
): Readonly<Record<string, ResourceHandler>> {
  const toPod =
    (find: typeof podTarget): ResourceHandler =>
    async (context, resource, parts) => {
      await admitConnection(context, resource, parts)
      await parts.cache.refresh()
      const target = find(context, resource, parts)
      return await forward(context, wayToPod(context, parts, { target, credentials }))
    }
  return {
    'nodes/proxy': async (context, resource, parts) => {
      await admitConnection(context, resource, parts)
      const open: Way['open'] = async () => (options) =>
        httpsRequest({ ...options, ...connectionTo(credentials) })
      return await forward(context, { ...nodeAgentTarget(context, parts), open })
    },
    'pods/proxy': toPod(podTarget),
    'services/proxy': toPod(serviceTarget),
  }
}
