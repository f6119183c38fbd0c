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

/** Where pods reach the API server. */
export interface ApiServerAddress {
  /** First address of the service range. */
  readonly serviceIp: string
  readonly servicePort: number
  /** Where the server really listens. */
  readonly address: string
  readonly port: number
}

export interface ApiServerObjects {
  readonly service: KubeObject
  readonly endpoints: KubeObject
  readonly endpointSlice: KubeObject
}

/** The Service of the API server in namespace `default`, with its endpoints. */
export function apiServerObjects(dialect: Dialect, at: ApiServerAddress): ApiServerObjects {
  const name = dialect.apiServerService
  const family = (address: string): string => (address.includes(':') ? 'IPv6' : 'IPv4')
  const port = { name: 'https', port: at.port, protocol: 'TCP' }
  return {
    service: {
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
        ipFamilies: [family(at.serviceIp)],
        ipFamilyPolicy: 'SingleStack',
        internalTrafficPolicy: 'Cluster',
        ports: [{ name: 'https', port: at.servicePort, protocol: 'TCP', targetPort: at.port }],
        sessionAffinity: 'None',
      },
    },
    endpoints: {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: {
        name,
        namespace: 'default',
        labels: { [labelKey(dialect, 'endpointslice', 'skip-mirror')]: 'true' },
      },
      subsets: [{ addresses: [{ ip: at.address }], ports: [port] }],
    },
    endpointSlice: {
      apiVersion: `${apiGroup(dialect, 'discovery')}/v1`,
      kind: 'EndpointSlice',
      metadata: {
        name,
        namespace: 'default',
        labels: { [labelKey(dialect, '', 'service-name')]: name },
      },
      addressType: family(at.address),
      endpoints: [{ addresses: [at.address], conditions: { ready: true } }],
      ports: [port],
    },
  }
}
