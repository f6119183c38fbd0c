/** Which fields of a Service its type calls for (upstream: pkg/registry/core/service/storage/alloc.go, strategy.go). */
import type { ServiceSpec } from '../../../api/generated/types.ts'

/** The clusterIP of a Service without one. */
export const noClusterIp = 'None'

const typesWithClusterIp = ['ClusterIP', 'NodePort', 'LoadBalancer']

export function needsClusterIp(spec: ServiceSpec): boolean {
  return typesWithClusterIp.includes(spec.type ?? '')
}

export function isHeadless(spec: ServiceSpec): boolean {
  return spec.clusterIPs?.length === 1 && spec.clusterIPs[0] === noClusterIp
}

/** Has node ports of its own: allocated ones, or with allocation off those that the client names. */
export function mayHaveNodePort({ type }: ServiceSpec): boolean {
  return type === 'NodePort' || type === 'LoadBalancer'
}

export function needsNodePort(spec: ServiceSpec): boolean {
  if (spec.type === 'NodePort') return true
  return spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false
}

export function needsHealthCheckPort(spec: ServiceSpec): boolean {
  return spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local'
}

/** Reachable from outside the cluster, so that a policy for such traffic makes sense. */
export function isExternallyAccessible(spec: ServiceSpec): boolean {
  if (spec.type === 'LoadBalancer' || spec.type === 'NodePort') return true
  return spec.type === 'ClusterIP' && (spec.externalIPs?.length ?? 0) > 0
}

export function sameTexts(
  a: readonly string[] | undefined,
  b: readonly string[] | undefined,
): boolean {
  const [left, right] = [a ?? [], b ?? []]
  return left.length === right.length && left.every((text, i) => text === right[i])
}
