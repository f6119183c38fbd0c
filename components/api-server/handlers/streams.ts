/**
 * streams: pods/exec, pods/attach and pods/portforward. The request goes to the agent of the pod's node with its upgrade.
 * When the agent accepts, the two connections are joined, whatever their protocol (upstream: UpgradeAwareHandler).
 */
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { badRequest, notFound } from '../../machinery/objects/status-error.ts'
import { join, type TunnelAnswer } from '../egress/tunnel.ts'
import { protocolsWithoutToken } from '../authn/bearer-token.ts'
import { NodeFault } from '../request/node-fault.ts'
import { connectionTo, nodeTarget } from '../egress/node-agents.ts'
import type { NodeAgentCredentials } from '../egress/node-agents.ts'
import { queryFlag } from '../request/request-info.ts'
import type { Answer, RequestContext } from '../request/request.ts'
import type { Parts, ResourceHandler } from './parts.ts'
import { containerOf } from './pod-log.ts'
import type { PodSpec } from './pod-log.ts'
import { admitConnection } from './proxy.ts'

const flags = { stdin: 'input', stdout: 'output', stderr: 'error', tty: 'tty' } as const

/** The request to the agent, and its options for admission. */
interface Wish {
  readonly path: string
  readonly options: Readonly<Record<string, unknown>>
}

function commandWish(context: RequestContext, spec: PodSpec): Wish {
  const { query, namespace, name, subresource } = context.info
  const container = containerOf(context, spec)
  const asked = Object.entries(flags).filter(([flag]) => queryFlag(query, flag))
  const command = subresource === 'exec' ? query.getAll('command') : []
  const words = new URLSearchParams([
    ...asked.map(([, theirs]): [string, string] => [theirs, '1']),
    ...command.map((word): [string, string] => ['command', word]),
  ])
  const path = [subresource, namespace, name, container].map(encodeURIComponent).join('/')
  return {
    path: `/${path}?${words.toString()}`,
    options: {
      ...Object.fromEntries(asked.map(([flag]) => [flag, true])),
      container,
      ...(command.length === 0 ? {} : { command }),
    },
  }
}

function portForwardWish({ info }: RequestContext): Wish {
  const { query, namespace, name } = info
  const texts = query.getAll('ports').flatMap((list) => list.split(','))
  const words = new URLSearchParams(texts.map((port): [string, string] => ['ports', port]))
  const path = ['portForward', namespace, name].map(encodeURIComponent).join('/')
  return {
    path: `/${path}?${words.toString()}`,
    options: texts.length === 0 ? {} : { ports: texts.map(Number) },
  }
}

/** The headers of the handshake that the agent needs. */
const handshakeHeaders = [
  'upgrade',
  'sec-websocket-key',
  'sec-websocket-version',
  'user-agent',
] as const

function headersFor(context: RequestContext, parts: Parts): Record<string, string | string[]> {
  const { http } = context
  const headers: Record<string, string | string[]> = {
    connection: 'Upgrade',
    'content-length': '0',
  }
  for (const name of handshakeHeaders) {
    const value = http.headers[name]
    if (value !== undefined) headers[name] = value
  }
  const versions = http.values('x-stream-protocol-version')
  if (versions.length > 0) headers['x-stream-protocol-version'] = [...versions]
  const protocols = protocolsWithoutToken(http, parts.dialect)
  if (protocols.length > 0) headers['sec-websocket-protocol'] = protocols.join(', ')
  return headers
}

/** The only headers of the agent's answer that the client gets. */
const passedOn = [
  'upgrade',
  'connection',
  'sec-websocket-accept',
  'sec-websocket-protocol',
  'x-stream-protocol-version',
] as const

const mostRefusalBytes = 50_000

/** The agent's refusal as plain text: a browser would take another content type for this server's. */
async function refusalOf(answer: IncomingMessage): Promise<Answer> {
  const { statusCode: status = 502 } = answer
  if (status < 400) {
    answer.destroy()
    throw new NodeFault('', `invalid upgrade response: status code ${status}`)
  }
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length
    chunks.push(chunk)
    if (length > mostRefusalBytes) break
  }
  return {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: Buffer.concat(chunks).subarray(0, mostRefusalBytes),
  }
}

/** The credentials for node agents, and the signal that ends streams. */
interface StreamOptions extends NodeAgentCredentials {
  readonly stopping: AbortSignal
}

/** Answers 101 when the agent accepts the upgrade, and with the agent's text when it refuses. */
async function connectStream(
  context: RequestContext,
  target: { host: string; port: number; path: string; headers: Record<string, string | string[]> },
  credentials: StreamOptions,
): Promise<Answer> {
  const { http } = context
  const outgoing = httpsRequest({
    ...target,
    method: http.method,
    signal: http.signal,
    ...connectionTo(credentials),
  })
  return await new Promise<Answer>((resolve, reject) => {
    outgoing.once('error', (error) => {
      const message = `error dialing backend: ${error.message}`
      reject(new NodeFault('InternalError', message, { cause: error, details: {} }))
    })
    outgoing.once('response', (answer) => {
      refusalOf(answer).then(resolve, reject)
    })
    outgoing.once('upgrade', (answer: IncomingMessage, socket: Duplex, head: Buffer) => {
      const headers: Record<string, string> = {}
      for (const name of passedOn) {
        const value = answer.headers[name]
        if (value !== undefined) headers[name] = String(value)
      }
      const tunnelled: TunnelAnswer = {
        status: 101,
        headers,
        body: Buffer.alloc(0),
        tunnel: (client, first) =>
          join({ socket: client, head: first }, { socket, head }, credentials.stopping),
      }
      resolve(tunnelled)
    })
    outgoing.end()
  })
}

/** The handlers of the three sub-resources. */
export function createStreamHandlers(
  credentials: StreamOptions,
): Readonly<Record<string, ResourceHandler>> {
  const stream: ResourceHandler = async (context, resource, parts) => {
    const { namespace, name, subresource } = context.info
    await parts.cache.refresh()
    const pod = parts.cache.get(resource, namespace, name)
    if (pod === undefined) throw notFound(resource, name)
    const spec = pod['spec'] as PodSpec
    const wish =
      subresource === 'portforward' ? portForwardWish(context) : commandWish(context, spec)
    await admitConnection(context, resource, parts, wish.options)
    if (!spec.nodeName) throw badRequest(`pod ${name} does not have a host assigned`)
    if (context.http.headers['upgrade'] === undefined) throw badRequest('Upgrade request required')
    const target = {
      ...nodeTarget(parts, spec.nodeName),
      path: wish.path,
      headers: headersFor(context, parts),
    }
    return await connectStream(context, target, credentials)
  }
  return { 'pods/exec': stream, 'pods/attach': stream, 'pods/portforward': stream }
}
