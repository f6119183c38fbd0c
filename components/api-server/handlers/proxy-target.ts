/** proxy-target: the pod, port and scheme of a proxied request (upstream: ResourceLocation of pods, services and nodes). */
import type { Endpoints, Pod, Service } from '../../api/generated/types.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { badRequest, notFound, StatusError } from '../../machinery/objects/status-error.ts'
import { nodeTarget, type NodeAddress } from '../egress/node-agents.ts'
import { isProxyable } from '../egress/proxyable-address.ts'
import type { RequestContext } from '../request/request.ts'
import type { Parts } from './parts.ts'

export interface PodTarget {
  readonly scheme: 'http' | 'https'
  readonly node: string
  readonly pod: string
  /** The pod's address, for the Host header. The connection goes through the node's agent. */
  readonly host: string
  readonly port: number
}

const notAllowed = 'address not allowed'

/** The segment is `name`, `name:port` or `scheme:name:port`. */
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

function targetOf(pod: Pod, at: Omit<PodTarget, 'node' | 'pod'>): PodTarget {
  const { metadata, spec } = pod
  const { name = '' } = metadata
  if (!spec?.nodeName) throw badRequest(`pod ${name} does not have a host assigned`)
  return { ...at, pod: name, node: spec.nodeName }
}

/** Throws a 404 StatusError for a missing pod, and a 400 for an address that no pod can have. */
export function podTarget(context: RequestContext, resource: Resource, parts: Parts): PodTarget {
  const { scheme, name, port } = splitTarget(context.info.name)
  const pod = parts.cache.get(resource, context.info.namespace, name) as Pod | undefined
  if (pod === undefined) throw notFound(resource, name)
  const host = pod.status?.podIP
  if (!isProxyable(host)) throw badRequest(notAllowed)
  const [declared] = (pod.spec?.containers ?? []).flatMap(({ ports = [] }) => ports)
  return targetOf(pod, { scheme, host, port: portOf(port) ?? declared?.containerPort ?? 80 })
}

interface EndpointAddress {
  readonly ip: string
  readonly targetRef?: { readonly namespace?: string; readonly name?: string }
}

/**
 * The pod at an address of Endpoints. The right to write Endpoints must not reach arbitrary addresses, so the address has to
 * be that of the pod it names.
 */
function podAt(context: RequestContext, parts: Parts, address: EndpointAddress): Pod | undefined {
  const { namespace } = context.info
  const { ip, targetRef } = address
  if (targetRef?.name === undefined || targetRef.namespace !== namespace) return undefined
  const pod = parts.cache.get(parts.resources.pods, namespace, targetRef.name) as Pod | undefined
  const { podIP, podIPs = [] } = pod?.status ?? {}
  const isOwn = podIP === ip || podIPs.some((one) => one.ip === ip)
  return isOwn && isProxyable(ip) ? pod : undefined
}

/**
 * The name of the requested port: a number selects the port of the Service with that number, no port the one without a name.
 */
function servicePortName({ metadata, spec }: Service, port: string): string {
  if (!/^\d+$/.test(port)) return port
  const found = spec?.ports?.find((one) => one.port === Number(port))
  if (found !== undefined) return found.name ?? ''
  throw new StatusError(
    'ServiceUnavailable',
    `no service port ${port} found for service "${metadata.name}"`,
  )
}

/** Throws a 404 StatusError for a missing Service, and a 503 for one without a ready pod. */
export function serviceTarget(
  context: RequestContext,
  resource: Resource,
  parts: Parts,
): PodTarget {
  const { namespace } = context.info
  const { scheme, name, port } = splitTarget(context.info.name)
  const service = parts.cache.get(resource, namespace, name) as Service | undefined
  if (service === undefined) throw notFound(resource, name)
  const wanted = servicePortName(service, port)
  const endpoints = parts.cache.get(parts.resources.endpoints, namespace, name)
  for (const subset of (endpoints as Endpoints | undefined)?.subsets ?? []) {
    const at = subset.ports?.find((one) => (one.name ?? '') === wanted)
    if (at === undefined) continue
    for (const address of subset.addresses ?? []) {
      const pod = podAt(context, parts, address)
      if (pod !== undefined) return targetOf(pod, { scheme, host: address.ip, port: at.port })
    }
  }
  throw new StatusError('ServiceUnavailable', `no endpoints available for service "${name}"`)
}

/** The node's agent, the only target on a node. Throws a 400 StatusError for another port. */
export function nodeAgentTarget(context: RequestContext, parts: Parts): NodeAddress {
  const { name, port } = splitTarget(context.info.name)
  const target = nodeTarget(parts, name)
  if (port !== '' && portOf(port) !== target.port) throw badRequest(notAllowed)
  return target
}
