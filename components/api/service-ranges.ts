/**
 * ServiceCIDRs and IPAddresses as API server and controller manager read them (upstream: pkg/api/servicecidr,
 * registry/core/service/ipallocator; KEP-1880).
 */
import type { KubeObject } from '../machinery/objects/object.ts'
import type { IpAddress, IpFamily, IpRange } from '../machinery/validation/ip-address.ts'
import { parseIpRange, rangeContains, sizeOfRange } from '../machinery/validation/ip-address.ts'
import type { Dialect } from './dialect.ts'
import { apiKey, labelKey } from './dialect.ts'
import type { Condition } from './generated/types.ts'

export interface ServiceCidr extends KubeObject {
  readonly spec?: { readonly cidrs?: readonly string[] }
  readonly status?: { readonly conditions?: readonly Condition[] }
}

export interface ParentReference {
  readonly group?: string
  readonly resource?: string
  readonly namespace?: string
  readonly name?: string
}

export interface IpAddressObject extends KubeObject {
  readonly spec?: { readonly parentRef?: ParentReference }
}

export interface ServiceRangeKeys {
  /** Keeps a ServiceCIDR until no address needs it. */
  readonly finalizer: string
  /** Label of an IPAddress: its family. */
  readonly family: string
  /** Label of an IPAddress: who made it. */
  readonly managedBy: string
  /** The value of that label for addresses of Services. */
  readonly allocator: string
}

export function serviceRangeKeys(dialect: Dialect): ServiceRangeKeys {
  return {
    finalizer: apiKey(dialect, 'networking', 'service-cidr-finalizer'),
    family: labelKey(dialect, 'ipaddress', 'ip-family'),
    managedBy: labelKey(dialect, 'ipaddress', 'managed-by'),
    allocator: `ipallocator.${dialect.apiDomain}`,
  }
}

/** The ServiceCIDR that the API server makes of its `--service-cluster-ip-range`. */
export function defaultServiceCidrName(dialect: Dialect): string {
  return dialect.apiServerService
}

/** The ranges of a ServiceCIDR, without those that cannot be read. */
export function rangesOf({ spec }: ServiceCidr): IpRange[] {
  return (spec?.cidrs ?? []).flatMap((text) => parseIpRange(text) ?? [])
}

/** The network's own address is never given out, nor is the broadcast address of IPv4. */
export function offersAddress(range: IpRange, address: IpAddress): boolean {
  if (!rangeContains(range, address) || address.value === range.base) return false
  return range.family === 'IPv6' || address.value !== range.base + sizeOfRange(range) - 1n
}

/** Whether all addresses of `inner` are in `outer`. */
export function containsRange(outer: IpRange, { family, base, prefixLength }: IpRange): boolean {
  return outer.prefixLength <= prefixLength && rangeContains(outer, { family, value: base })
}

export function rangesOverlap(one: IpRange, other: IpRange): boolean {
  return containsRange(one, other) || containsRange(other, one)
}

/** A ServiceCIDR without a Ready condition counts as ready, so that Services work without a controller manager. */
export function isOffered({ metadata, status }: ServiceCidr): boolean {
  if (metadata.deletionTimestamp !== undefined) return false
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  return ready === undefined || ready.status === 'True'
}

/** The IPAddress that records a Service's use of an address. */
export function ipAddressFor(
  { name, family }: { readonly name: string; readonly family: IpFamily },
  service: KubeObject,
  dialect: Dialect,
): IpAddressObject {
  const keys = serviceRangeKeys(dialect)
  const { namespace = '', name: serviceName = '' } = service.metadata
  const labels = { [keys.family]: family, [keys.managedBy]: keys.allocator }
  return {
    metadata: { name, labels },
    spec: { parentRef: { resource: 'services', namespace, name: serviceName } },
  }
}
