/** Whether a ServiceCIDR can go without leaving a Service's address in no range (upstream: servicecidrs canDeleteCIDR). Pure. */
import type { Dialect } from '../../api/dialect.ts'
import {
  containsRange,
  offersAddress,
  rangesOf,
  serviceRangeKeys,
  type IpAddressObject,
  type ServiceCidr,
} from '../../api/service-ranges.ts'
import { parseIpAddress } from '../../machinery/validation/ip-address.ts'

export interface Neighbours {
  /** All ServiceCIDRs, with the one in question. */
  readonly cidrs: readonly ServiceCidr[]
  readonly addresses: readonly IpAddressObject[]
  readonly dialect: Dialect
}

export function mayGo(cidr: ServiceCidr, { cidrs, addresses, dialect }: Neighbours): boolean {
  const others = cidrs.filter(({ metadata }) => metadata.name !== cidr.metadata.name)
  const otherRanges = others.flatMap(rangesOf)
  const own = rangesOf(cidr)
  if (own.every((range) => otherRanges.some((other) => containsRange(other, range)))) return true
  const { managedBy, allocator } = serviceRangeKeys(dialect)
  return !addresses.some(({ metadata }) => {
    const address = parseIpAddress(metadata.name ?? '')
    if (address === undefined || metadata.labels?.[managedBy] !== allocator) return false
    if (!own.some((range) => offersAddress(range, address))) return false
    return !otherRanges.some((range) => offersAddress(range, address))
  })
}
