/** A pod as a Service's endpoint: whether it counts, at which addresses and ports (upstream: endpointslice/util, endpoints). Pure. */
import type { ObjectReference, Pod, Service } from '../../api/generated/types.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { isReady, isTerminal } from '../pod-state.ts'

export type AddressType = 'IPv4' | 'IPv6'

/** It has an address and has not ended; one on its way out counts only if asked for. */
export function isEndpoint(pod: Pod, options: { includeTerminating: boolean }): boolean {
  if (isTerminal(pod) || podAddresses(pod).length === 0) return false
  return options.includeTerminating || pod.metadata.deletionTimestamp === undefined
}

/** All its addresses, or those of one family. */
export function podAddresses(pod: Pod, family?: AddressType): string[] {
  const { podIP, podIPs = [] } = pod.status ?? {}
  const all = podIPs.length > 0 ? podIPs.map(({ ip }) => ip) : podIP ? [podIP] : []
  return family === undefined ? all : all.filter((ip) => familyOf(ip) === family)
}

export function familyOf(address: string): AddressType {
  return address.includes(':') ? 'IPv6' : 'IPv4'
}

export function isHeadless(service: Service): boolean {
  const { clusterIP = '' } = service.spec ?? {}
  return clusterIP === 'None' || clusterIP === ''
}

/** The families the Service has addresses of; both when nothing says. */
export function familiesOf(service: Service): AddressType[] {
  const { ipFamilies = [], clusterIP = '' } = service.spec ?? {}
  if (ipFamilies.length > 0) return ipFamilies as AddressType[]
  return isHeadless(service) ? ['IPv4', 'IPv6'] : [familyOf(clusterIP)]
}

/** The name the pod has below its Service's in DNS. */
export function hostnameOf(pod: Pod, service: Service): string | undefined {
  const { hostname, subdomain } = pod.spec ?? {}
  const isBelow =
    subdomain === service.metadata.name && pod.metadata.namespace === service.metadata.namespace
  return hostname && isBelow ? hostname : undefined
}

export function referenceToPod({ metadata }: Pod): ObjectReference {
  const { namespace = '', name = '', uid = '' } = metadata
  return { kind: 'Pod', namespace, name, uid }
}

/** Whether a pod's change may change a Service's endpoints. */
export function isEndpointChange(old: Pod, pod: Pod): boolean {
  const facts = (one: Pod): unknown => [
    one.metadata.labels,
    one.metadata.deletionTimestamp,
    podAddresses(one),
    isReady(one),
    isTerminal(one),
    one.spec?.nodeName,
    one.spec?.hostname,
    one.spec?.subdomain,
  ]
  return !deepEqual(facts(old), facts(pod))
}
