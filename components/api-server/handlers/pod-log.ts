/** pods/log: the log of a container, streamed from the agent of the pod's node (upstream: registry/core/pod LogLocation). */
import type { IncomingMessage } from 'node:http'
import { FieldPath } from '../../machinery/validation/field-path.ts'
import { badRequest, invalid, notFound, StatusError } from '../../machinery/objects/status-error.ts'
import { protocolsWithoutToken } from '../authn/bearer-token.ts'
import { networkFault } from '../egress/network-fault.ts'
import { NodeFault } from '../request/node-fault.ts'
import {
  getFromAgent,
  nodeTarget,
  type NodeAddress,
  type NodeAgentCredentials,
} from '../egress/node-agents.ts'
import { queryFlag } from '../request/request-info.ts'
import type { Answer, RequestContext } from '../request/request.ts'
import { isWebSocketRequest } from '../request/websocket-request.ts'
import type { ResourceHandler } from './parts.ts'
import { pipe } from './proxy.ts'

interface Named {
  readonly name: string
}

export interface PodSpec {
  readonly nodeName?: string
  readonly containers?: readonly Named[]
  readonly initContainers?: readonly Named[]
  readonly ephemeralContainers?: readonly Named[]
}

/** An integer in the query, by the rules of Go; undefined without one. */
function integerOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (/^[+-]?\d{1,18}$/.test(text)) return Number(text)
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
}

/** Throws 422 for invalid options (upstream: ValidatePodLogOptions). */
function checkOptions({ info }: RequestContext): void {
  const { query, name } = info
  const root = FieldPath.root()
  const tailLines = integerOf(query, 'tailLines')
  const limitBytes = integerOf(query, 'limitBytes')
  const sinceSeconds = integerOf(query, 'sinceSeconds')
  const sinceTime = query.get('sinceTime')
  if (tailLines !== undefined && tailLines < 0) {
    root.child('tailLines').invalid(tailLines, 'must be greater than or equal to 0')
  }
  if (limitBytes !== undefined && limitBytes < 1) {
    root.child('limitBytes').invalid(limitBytes, 'must be greater than 0')
  }
  if (sinceSeconds !== undefined && sinceTime) {
    root.forbidden('at most one of `sinceTime` or `sinceSeconds` may be specified')
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    root.child('sinceSeconds').invalid(sinceSeconds, 'must be greater than 0')
  }
  if (sinceTime && Number.isNaN(Date.parse(sinceTime))) {
    throw badRequest(`parsing time ${JSON.stringify(sinceTime)}: cannot be read`)
  }
  if (root.errors.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, name, root.errors)
}

/** The container in the query, or the only main one. Throws 400 for others (upstream: validateContainer). */
export function containerOf(context: RequestContext, spec: PodSpec): string {
  const { query, name: pod } = context.info
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec
  const all = [...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => name)
  const asked = query.get('container') ?? ''
  if (asked === '') {
    const [only, ...others] = containers
    if (only !== undefined && others.length === 0) return only.name
    throw badRequest(
      `a container name must be specified for pod ${pod}, choose one of: [${all.join(' ')}]`,
    )
  }
  if (all.includes(asked)) return asked
  throw badRequest(`container ${asked} is not valid for pod ${pod}`)
}

/** The path for the agent, with the known options of the request only. */
function pathOf({ info }: RequestContext, container: string): string {
  const { query, namespace, name } = info
  const words = new URLSearchParams()
  for (const flag of ['follow', 'previous', 'timestamps']) {
    if (queryFlag(query, flag)) words.set(flag, 'true')
  }
  for (const option of ['sinceSeconds', 'sinceTime', 'tailLines', 'limitBytes']) {
    const text = query.get(option)
    if (text) words.set(option, text)
  }
  const path = ['containerLogs', namespace, name, container].map(encodeURIComponent).join('/')
  return `/${path}${words.size === 0 ? '' : `?${words.toString()}`}`
}

/** Longer texts of an agent's refusal are cut (upstream: maxReadLength of the response checker). */
const mostRefusalBytes = 50_000

/** The agent's refusal as an error of this server, with the agent's text (upstream: GenericHttpResponseChecker). */
async function refusal(incoming: IncomingMessage): Promise<StatusError> {
  const { statusCode: code = 502 } = incoming
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= mostRefusalBytes) break
  }
  const text = Buffer.concat(chunks).subarray(0, mostRefusalBytes).toString()
  if (code === 400) return badRequest(text)
  if (code < 400) {
    return new NodeFault('', `the server responded with the status code ${code}`, { details: {} })
  }
  const reason = code === 404 ? 'NotFound' : 'InternalError'
  return new NodeFault(reason, text, { code, details: {} })
}

/** Statuses that Go's client follows when they have a Location. */
const redirects = new Set([301, 302, 303, 307, 308])

/** The log as the agent sends it. Throws a StatusError for a refusal, and for a redirect, which the server never follows. */
async function logOf(
  context: RequestContext,
  target: NodeAddress & { readonly path: string },
  credentials: NodeAgentCredentials,
): Promise<IncomingMessage> {
  const fail = (url: string, why: string, cause?: unknown): never => {
    throw new NodeFault('', `Get ${JSON.stringify(url)}: ${why}`, { cause })
  }
  const host = target.host.includes(':') ? `[${target.host}]` : target.host
  const url = `https://${host}:${target.port}${target.path}`
  const incoming = await getFromAgent(target, credentials, {
    signal: context.http.signal,
    isTrusting: queryFlag(context.info.query, 'insecureSkipTLSVerifyBackend'),
  }).catch((error: unknown) => fail(url, networkFault(error) ?? (error as Error).message, error))
  const { statusCode: code = 502, headers } = incoming
  if (redirects.has(code) && headers.location !== undefined) {
    incoming.destroy()
    return fail(headers.location, 'redirects forbidden')
  }
  if (code < 200 || code > 206) throw await refusal(incoming)
  return incoming
}

/** The WebSocket protocols of a log. The first is the default (upstream: wsstream NewDefaultReaderProtocols). */
const binaryProtocol = 'binary.k8s.io'
const base64Protocol = 'base64.binary.k8s.io'

/** The first offered protocol that is supported; '' when the client offers none. Throws a 403 StatusError. */
function protocolOf(context: RequestContext): string {
  const offered = protocolsWithoutToken(context.http, context.dialect)
  const known = [binaryProtocol, base64Protocol]
  const protocol = offered.length === 0 ? '' : offered.find((one) => known.includes(one))
  if (protocol !== undefined) return protocol
  throw new StatusError(
    'Forbidden',
    `requested protocol(s) are not supported: [${offered.join(' ')}]; supports [${known.join(' ')}]`,
  )
}

/** The log as WebSocket messages: an empty one first, then one per chunk. */
function messagesOf(incoming: IncomingMessage, protocol: string): Answer {
  const isBase64 = protocol === base64Protocol
  return {
    status: 101,
    headers: {
      'content-type': isBase64 ? 'text/plain' : 'application/octet-stream',
      ...(protocol === '' ? {} : { 'sec-websocket-protocol': protocol }),
    },
    body: async (sink) => {
      sink.write(Buffer.alloc(0))
      await pipe(incoming, sink, (chunk) =>
        isBase64 ? Buffer.from(chunk.toString('base64')) : chunk,
      )
    },
  }
}

export function createPodLog(credentials: NodeAgentCredentials): ResourceHandler {
  return async (context, resource, parts) => {
    const { namespace, name } = context.info
    checkOptions(context)
    await parts.cache.refresh()
    const pod = parts.cache.get(resource, namespace, name)
    if (pod === undefined) throw notFound(resource, name)
    const spec = pod['spec'] as PodSpec
    const container = containerOf(context, spec)
    if (!spec.nodeName) {
      // An unscheduled Pod has no log yet, which upstream shows as an empty one.
      return { status: 200, headers: { 'content-type': 'text/plain' }, body: Buffer.alloc(0) }
    }
    const protocol = isWebSocketRequest(context.http) ? protocolOf(context) : undefined
    const target = { ...nodeTarget(parts, spec.nodeName), path: pathOf(context, container) }
    const incoming = await logOf(context, target, credentials)
    if (protocol !== undefined) return messagesOf(incoming, protocol)
    // The agent's headers are not passed on: a browser would take its content type or a cookie for this server's.
    return {
      status: 200,
      headers: { 'content-type': 'text/plain' },
      body: (sink) => pipe(incoming, sink),
    }
  }
}
