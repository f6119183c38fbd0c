/** The flags of the node-ipam-controller as ranges and sizes (upstream: kube-controller-manager/app startNodeIpamController). */
import { StartError } from '../../component-base/component.ts'
import type { IpFamily, IpRange } from '../../machinery/validation/ip-address.ts'
import { parseIpRange } from '../../machinery/validation/ip-address.ts'
import type { ControllerManagerOptions } from '../options.ts'
import type { CidrSetMetrics } from '../cidr-set-metrics.ts'
import { CidrSet } from '../cidr-set.ts'

const defaultMaskSize = { IPv4: 24, IPv6: 64 } as const satisfies Record<IpFamily, number>

function parseRanges(flag: string, texts: readonly string[]): IpRange[] {
  return texts.map((text) => {
    const range = parseIpRange(text.trim())
    if (range === undefined) throw new StartError(`--${flag}: invalid CIDR address: ${text}`)
    return range
  })
}

function clusterRanges(options: ControllerManagerOptions): IpRange[] {
  const ranges = parseRanges('cluster-cidr', options['cluster-cidr'])
  if (ranges.length === 0)
    throw new StartError('must specify --cluster-cidr if --allocate-node-cidrs is set')
  const families = new Set(ranges.map(({ family }) => family))
  if (ranges.length > 1 && families.size === 1) {
    throw new StartError(
      `len of ClusterCIDRs==${ranges.length} and they are not configured as dual stack (at least one from each IPFamily)`,
    )
  }
  if (ranges.length > 2)
    throw new StartError(`length of clusterCIDRs is:${ranges.length} more than max allowed of 2`)
  return ranges
}

/** The size that the flags give a node's range of each cluster range. */
function maskSizes(options: ControllerManagerOptions, ranges: readonly IpRange[]): number[] {
  const general = options['node-cidr-mask-size']
  const ofFamily = {
    IPv4: options['node-cidr-mask-size-ipv4'],
    IPv6: options['node-cidr-mask-size-ipv6'],
  }
  const [only] = ranges
  if (general !== undefined && ranges.length > 1)
    throw new StartError('usage of --node-cidr-mask-size is not allowed with dual-stack clusters')
  if (general !== undefined && (ofFamily.IPv4 ?? ofFamily.IPv6) !== undefined) {
    throw new StartError(
      'usage of --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6 is not allowed if --node-cidr-mask-size is set. ' +
        'For dual-stack clusters please unset it and use IPFamily specific flags',
    )
  }
  for (const family of ['IPv4', 'IPv6'] as const) {
    if (ranges.length > 1 || only?.family === family || ofFamily[family] === undefined) continue
    throw new StartError(
      `usage of --node-cidr-mask-size-${family.toLowerCase()} is not allowed for a single-stack ${only?.family} cluster`,
    )
  }
  return ranges.map(({ family }) => general ?? ofFamily[family] ?? defaultMaskSize[family])
}

/**
 * One set for each range of --cluster-cidr, in its order; what the ranges of services take is occupied. Throws a StartError
 * for flags that cannot be used.
 */
export function cidrSetsOf(options: ControllerManagerOptions, metrics: CidrSetMetrics): CidrSet[] {
  const ranges = clusterRanges(options)
  const sizes = maskSizes(options, ranges)
  const services = (options['service-cluster-ip-range'] ?? '')
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '')
  const families = parseRanges('service-cluster-ip-range', services).map(({ family }) => family)
  if (families.length > 1 && new Set(families).size === 1) {
    throw new StartError(
      'serviceCIDR and secondaryServiceCIDR are not dualstack (from different IPfamiles)',
    )
  }
  return ranges.map((range, index) => {
    const set = createSet(range, sizes[index] ?? 0, metrics)
    for (const service of services) if (set.overlaps(service)) set.occupy(service)
    return set
  })
}

function createSet(range: IpRange, size: number, metrics: CidrSetMetrics): CidrSet {
  try {
    return new CidrSet(range, size, metrics)
  } catch (error) {
    throw new StartError((error as Error).message, error)
  }
}
