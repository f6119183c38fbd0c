/**
 * Server: the node's own HTTPS API. Every request is authenticated and authorized through the API server. One server may
 * stand for many simulated nodes: paths that name a pod find its node, others may be prefixed by `/nodes/<name>`.
 */
import type { Pod } from '../../api/generated/types.ts'
import type { DelegatedAuth } from '../../client/delegated-auth.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Answer, HttpRequest } from '../../component-base/http.ts'
import type { Log } from '../../component-base/log.ts'
import { checkpointPath, prepareCheckpointFolder } from '../runtime/checkpoint-archive.ts'
import { answerContainerLogs } from './container-logs.ts'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import type { FoundContainer } from '../pods/pod-worker.ts'
import { metricsContentType, type Metrics } from '../../component-base/metrics.ts'
import type { NodeUsage } from '../node/node-usage.ts'
import { statsSummary } from '../node/stats-summary.ts'
import { cadvisorMetrics, resourceMetrics } from '../node/usage-metrics.ts'
import { accessAttributes } from './server-access.ts'

/** One node, as the server shows it. */
export interface ServedNode {
  readonly name: string
  readonly rootDir: string
  readonly runtime: ContainerRuntime
  readonly auth: DelegatedAuth
  pods(): readonly Pod[]
  /** Undefined for a pod that is not on the node. */
  container(namespace: string, pod: string, container: string): FoundContainer | undefined
  /** The node's fault; undefined when it is healthy. */
  fault(): string | undefined
  usage(): NodeUsage
  /** Of the process and the node. */
  readonly metrics: Metrics
  probeMetrics(): Metrics
  configz(): object
}

export interface NodeServerOptions {
  readonly nodes: () => readonly ServedNode[]
  /** Gate ContainerCheckpoint. */
  readonly servesCheckpoints: boolean
  readonly clock: Clock
  readonly log: Log
}

function answer(status: number, body: string, type: string): Answer {
  const bytes = Buffer.from(body)
  return {
    status,
    headers: { 'content-type': type, 'content-length': String(bytes.length) },
    body: bytes,
  }
}

/** A plain answer. */
export const text = (status: number, body: string): Answer =>
  answer(status, body, 'text/plain; charset=utf-8')
const json = (value: unknown): Answer => answer(200, JSON.stringify(value), 'application/json')
const notFound = text(404, '404 page not found\n')

export interface Route {
  readonly node: ServedNode
  /** Without the prefix that names the node. */
  readonly path: string
  readonly parts: readonly string[]
  readonly query: URLSearchParams
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // Not an encoding: it can only be itself.
    return part
  }
}

/** Paths that go on with namespace and name of a pod. */
const podPaths = new Set(['checkpoint', 'containerLogs', 'exec', 'attach', 'portForward'])

/** Which node is meant: the one in the path, the one that has the pod in the path, else the first. */
export function routeOf(
  { pathname, searchParams }: URL,
  nodes: readonly ServedNode[],
): Route | undefined {
  let parts = pathname.split('/').slice(1).map(decoded)
  let node: ServedNode | undefined
  if (parts[0] === 'nodes' && parts.length > 2) {
    node = nodes.find(({ name }) => name === parts[1])
    // An unknown node has nothing to show; the caller is still asked who it is.
    parts = node === undefined ? [''] : parts.slice(2)
  }
  const [kind, namespace = '', pod = '', container = ''] = parts
  if (node === undefined && podPaths.has(kind ?? '')) {
    node = nodes.find((each) => each.container(namespace, pod, container) !== undefined)
  }
  node ??= nodes[0]
  return node && { node, path: `/${parts.join('/')}`, parts, query: searchParams }
}

/** The answer to a forbidden caller; undefined for an allowed one. */
export async function refusal(
  request: HttpRequest,
  { node, path }: Route,
  log: Log,
): Promise<Answer | undefined> {
  try {
    const user = await node.auth.authenticate(request)
    if (user === undefined) return text(401, 'Unauthorized')
    const attributes = accessAttributes({ method: request.method, path, nodeName: node.name })
    const access = await node.auth.authorize(user, attributes)
    if (access.isAllowed) return undefined
    const { verb, resource, subresource } = attributes.resourceAttributes ?? {}
    const what = `user=${user.username}, verb=${verb}, resource=${resource}, subresource=${subresource}`
    return text(403, `Forbidden (${what})`)
  } catch (error) {
    log.warn('the API server could not be asked about a caller', { error: String(error) })
    return text(500, 'the API server could not be asked about the caller')
  }
}

/** The request handler of the node's server. */
export function createNodeServer(
  options: NodeServerOptions,
): (request: HttpRequest) => Promise<Answer> {
  return async (request) => {
    const target = URL.parse(request.url, 'https://localhost')
    if (target === null) return text(400, '400 Bad Request')
    const route = routeOf(target, options.nodes())
    if (route === undefined) return notFound
    return (await refusal(request, route, options.log)) ?? (await serve(options, request, route))
  }
}

async function serve(
  options: NodeServerOptions,
  request: HttpRequest,
  route: Route,
): Promise<Answer> {
  const { node, parts } = route
  const allow = (method: string): Answer | undefined =>
    request.method === method ? undefined : text(405, '405: Method Not Allowed')
  switch (parts[0]) {
    case 'checkpoint':
      if (!options.servesCheckpoints || parts.length !== 4 || parts.includes('')) return notFound
      return allow('POST') ?? (await checkpoint(options, route))
    case 'containerLogs':
      if (parts.length !== 4 || parts.includes('')) return notFound
      return allow('GET') ?? containerLogs(options, route)
    case 'exec':
    case 'attach':
    case 'portForward':
      return text(400, 'Upgrade request required\n')
    case 'pods':
      return (
        allow('GET') ??
        json({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items: node.pods() })
      )
    case 'healthz':
      return health(route)
    case 'metrics': {
      const shown = metricsAt(route)
      if (shown === undefined) return notFound
      return allow('GET') ?? answer(200, shown(), metricsContentType)
    }
    case 'stats':
      if (parts.length !== 2 || parts[1] !== 'summary') return notFound
      return allow('GET') ?? json(statsSummary(node.name, node.usage()))
    case 'configz':
      return allow('GET') ?? json({ kubeletconfig: node.configz() })
    default:
      return notFound
  }
}

/** The text below `/metrics`; undefined for an unknown path. */
function metricsAt({ node, path }: Route): (() => string) | undefined {
  switch (path) {
    case '/metrics':
      return () => node.metrics.text()
    case '/metrics/resource':
      return () => resourceMetrics(node.usage()).text()
    case '/metrics/cadvisor':
      return () => cadvisorMetrics(node.usage()).text()
    case '/metrics/probes':
      return () => node.probeMetrics().text()
    default:
      return undefined
  }
}

async function checkpoint(
  { clock, log }: NodeServerOptions,
  { node, parts, query }: Route,
): Promise<Answer> {
  const [, namespace = '', pod = '', container = ''] = parts
  const found = node.container(namespace, pod, container)
  if (found === undefined) return text(404, 'pod does not exist')
  if (!found.exists) return text(404, `container ${container} does not exist`)
  const given = query.get('timeout') ?? '0'
  // Upstream's answer to a time that is no number is 404 as well.
  if (!/^[+-]?\d+$/.test(given)) return text(404, 'cannot parse value of timeout parameter')
  const what = `${namespace}/${pod}/${container}`
  try {
    if (found.id === undefined) throw new Error('the container has not started')
    const nowMs = clock.now()
    const location = checkpointPath(node.rootDir, { namespace, pod, container, nowMs })
    await prepareCheckpointFolder(location)
    const timeoutSeconds = Number(given)
    await node.runtime.checkpoint({ containerId: found.id, location, timeoutSeconds })
    log.info('container checkpointed', { node: node.name, container: what, archive: location })
    return json({ items: [location] })
  } catch (error) {
    log.warn('checkpoint failed', { node: node.name, container: what, error: String(error) })
    const why = error instanceof Error ? error.message : String(error)
    return text(500, `checkpointing of ${what} failed (${why})`)
  }
}

function containerLogs({ clock }: NodeServerOptions, { node, parts, query }: Route): Answer {
  const [, namespace = '', pod = '', container = ''] = parts
  const found = node.container(namespace, pod, container)
  if (found === undefined) return text(404, `pod "${pod}" not found`)
  if (!found.exists) return text(404, `container "${container}" not found in pod "${pod}"`)
  const { runtime } = node
  return answerContainerLogs(
    { pod, container, id: found.id, waitingReason: found.waitingReason, query },
    { runtime, clock },
  )
}

function health({ node }: Route): Answer {
  const fault = node.fault()
  return fault === undefined ? text(200, 'ok') : text(500, `unhealthy: ${fault}\n`)
}
