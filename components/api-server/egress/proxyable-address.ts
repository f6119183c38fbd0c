/** Addresses to which the proxies of pods and services connect (upstream: IsGlobalUnicast, proxy/util IsProxyableIP). */
import { BlockList, isIP } from 'node:net'

/** Unspecified, broadcast, loopback, link-local and multicast addresses. */
const refused = new BlockList()
refused.addAddress('0.0.0.0')
refused.addAddress('255.255.255.255')
refused.addAddress('::', 'ipv6')
refused.addAddress('::1', 'ipv6')
refused.addSubnet('127.0.0.0', 8)
refused.addSubnet('169.254.0.0', 16)
refused.addSubnet('224.0.0.0', 4)
refused.addSubnet('fe80::', 10, 'ipv6')
refused.addSubnet('ff00::', 8, 'ipv6')

/** An IPv4 address in the form of IPv6 (`::ffff:127.0.0.1`) counts as the IPv4 address. */
export function isProxyable(address = ''): address is string {
  const family = isIP(address)
  return family !== 0 && !refused.check(address, family === 6 ? 'ipv6' : 'ipv4')
}
