/** Objects besides RBAC that every cluster starts with: namespaces, priority classes, the API server's Service. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Dialect } from '../dialect.ts'
import { apiGroup, labelKey } from '../dialect.ts'

export function systemNamespaces(dialect: Dialect): KubeObject[] {
  const names = [
    'default',
    dialect.systemNamespace,
    dialect.publicNamespace,
    dialect.nodeLeaseNamespace,
  ]
  return names.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }))
}

/** The two classes above everything a user may make. */
export function systemPriorityClasses(dialect: Dialect): KubeObject[] {
  const priorityClass = (name: string, value: number, description: string): KubeObject => ({
    apiVersion: `${apiGroup(dialect, 'scheduling')}/v1`,
    kind: 'PriorityClass',
    metadata: { name },
    value,
    description,
    preemptionPolicy: 'PreemptLowerPriority',
  })
  return [
    priorityClass(
      'system-cluster-critical',
      2_000_000_000,
      'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
    ),
    priorityClass(
      'system-node-critical',
      2_000_001_000,
      'Used for system critical pods that must not be moved from their current node.',
    ),
  ]
}

/** Where a server really listens. */
export interface ServerAddress {
  readonly address: string
  readonly port: number
}

/** Where pods reach the API server. */
export interface ApiServerAddress extends ServerAddress {
  /** First address of the service range. */
  readonly serviceIp: string
  readonly servicePort: number
}

function familyOf(address: string): string {
  return address.includes(':') ? 'IPv6' : 'IPv4'
}

/** The Service of the API server in namespace `default`. */
export function apiServerService(dialect: Dialect, at: ApiServerAddress): KubeObject {
  const name = dialect.apiServerService
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace: 'default',
      labels: { component: 'apiserver', provider: name },
    },
    spec: {
      type: 'ClusterIP',
      clusterIP: at.serviceIp,
      clusterIPs: [at.serviceIp],
      ipFamilies: [familyOf(at.serviceIp)],
      ipFamilyPolicy: 'SingleStack',
      internalTrafficPolicy: 'Cluster',
      ports: [{ name: 'https', port: at.servicePort, protocol: 'TCP', targetPort: at.port }],
      sessionAffinity: 'None',
    },
  }
}

/** Addresses by port, in ascending order of ports. */
function byPort(servers: readonly ServerAddress[]): readonly (readonly [number, string[]])[] {
  const ports = new Map<number, string[]>()
  for (const { address, port } of servers) {
    ports.set(port, [...(ports.get(port) ?? []), address])
  }
  return [...ports].toSorted(([a], [b]) => a - b)
}

/**
 * The endpoints of that Service: servers of one port are a subset. An EndpointSlice has one list of ports, so that each further
 * port has a slice of its own, with the port at the end of its name.
 */
export function apiServerEndpoints(
  dialect: Dialect,
  servers: readonly ServerAddress[],
): { readonly endpoints: KubeObject; readonly endpointSlices: readonly KubeObject[] } {
  const name = dialect.apiServerService
  const ports = byPort(servers)
  const portsOf = (port: number) => [{ name: 'https', port, protocol: 'TCP' }]
  return {
    endpoints: {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: {
        name,
        namespace: 'default',
        labels: { [labelKey(dialect, 'endpointslice', 'skip-mirror')]: 'true' },
      },
      subsets: ports.map(([port, addresses]) => ({
        addresses: addresses.map((ip) => ({ ip })),
        ports: portsOf(port),
      })),
    },
    endpointSlices: ports.map(([port, addresses], at) => ({
      apiVersion: `${apiGroup(dialect, 'discovery')}/v1`,
      kind: 'EndpointSlice',
      metadata: {
        name: at === 0 ? name : `${name}-${port}`,
        namespace: 'default',
        labels: { [labelKey(dialect, '', 'service-name')]: name },
      },
      addressType: familyOf(addresses[0] ?? ''),
      endpoints: addresses.map((address) => ({
        addresses: [address],
        conditions: { ready: true },
      })),
      ports: portsOf(port),
    })),
  }
}
