/** Columns of services, endpoints and load balancer addresses. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import { ageColumn, column, formatLabels, nameColumn, tablePrinter } from './table-printer.ts'

/** Addresses that a load balancer has given, sorted; shared by services and ingresses. */
export function loadBalancerAddresses(object: KubeObject): string[] {
  const points: readonly { ip?: string; hostname?: string }[] =
    object['status']?.loadBalancer?.ingress ?? []
  const addresses = points.map(({ ip, hostname }) => ip || hostname || '').filter(Boolean)
  return [...new Set(addresses)].sort()
}

function externalAddresses(service: KubeObject): string {
  const { type, externalIPs = [], externalName = '' } = service['spec'] ?? {}
  switch (type) {
    case 'ClusterIP':
    case 'NodePort':
      return externalIPs.join(',') || '<none>'
    case 'LoadBalancer':
      return [...loadBalancerAddresses(service), ...externalIPs].join(',') || '<pending>'
    case 'ExternalName':
      return externalName
    default:
      return '<unknown>'
  }
}

function portsOf(service: KubeObject): string {
  const ports: readonly { port: number; nodePort?: number; protocol?: string }[] =
    service['spec']?.ports ?? []
  const texts = ports.map(({ port, nodePort = 0, protocol = 'TCP' }) =>
    nodePort > 0 ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
  )
  return texts.join(',') || '<none>'
}

export const servicePrinter = tablePrinter(
  nameColumn,
  column(['Type', 'How the service is reached.'], (service) => service['spec']?.type ?? ''),
  column(
    ['Cluster-IP', 'Its address inside the cluster.'],
    (service) => service['spec']?.clusterIPs?.[0] ?? service['spec']?.clusterIP ?? '<none>',
  ),
  column(['External-IP', 'Its addresses outside the cluster.'], externalAddresses),
  column(['Port(s)', 'Its ports, with the port on the nodes where there is one.'], portsOf),
  ageColumn,
  column(
    ['Selector', 'Labels of the pods behind it.'],
    (service) => formatLabels(service['spec']?.selector),
    { wide: true },
  ),
)

function hostPort(ip: string, port: number): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`
}

const maxEndpoints = 3

function endpointsOf(object: KubeObject): string {
  const subsets: readonly {
    addresses?: readonly { ip: string }[]
    ports?: readonly { port: number }[]
  }[] = object['subsets'] ?? []
  if (subsets.length === 0) return '<none>'
  const all = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) => addresses.map(({ ip }) => hostPort(ip, port))),
  )
  const shown = all.slice(0, maxEndpoints).join(',')
  return all.length > maxEndpoints ? `${shown} + ${all.length - maxEndpoints} more...` : shown
}

export const endpointsPrinter = tablePrinter(
  nameColumn,
  column(['Endpoints', 'Addresses and ports of the pods that are ready.'], endpointsOf),
  ageColumn,
)
