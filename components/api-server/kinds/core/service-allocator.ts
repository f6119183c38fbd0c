/**
 * ServiceAllocator: which addresses and node ports Services use. The stored Services are the record; what a request was given is
 * reserved until it ends. Servers that share a store settle the rest by claims.
 */
import { parseIpRange, type IpFamily } from '../../../machinery/validation/ip-address.ts'
import { keyOf, type KubeObject } from '../../../machinery/objects/object.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import type { Metrics } from '../../../component-base/metrics.ts'
import type { ObjectReader } from '../../watch-cache/object-reader.ts'
import {
  addressBands,
  addressOffsets,
  freeOffset,
  staticPart,
  type AddressOffsets,
  type Band,
} from './address-offsets.ts'
import { countedAddresses, countedPorts } from './allocator-metrics.ts'
import { Reservations, type AllocationRequest } from './reservations.ts'
import type { ServicePool } from './service-pool.ts'

/** Where servers that share a store settle who uses a value. */
export interface ValueClaims<T> {
  /** Takes all the values, or none: resolves with those that are taken already. */
  take(values: readonly T[], service: KubeObject): Promise<readonly T[]>
  give(values: readonly T[]): Promise<void>
}

/** Of what no other server gives out, there are none. */
export interface ServiceClaims {
  readonly addresses?: ValueClaims<string> | undefined
  readonly nodePorts?: ValueClaims<number> | undefined
}

export interface ServiceAllocator {
  /** Undefined where one server alone gives out values: its pools settle it. */
  readonly claims?: ServiceClaims
  readonly family: IpFamily
  readonly addresses: ServicePool<string>
  readonly nodePorts: ServicePool<number>
}

export interface ServiceAllocatorOptions {
  readonly reader: ObjectReader
  /** The resource core/v1 Service. */
  readonly services: Resource
  /** Default `10.96.0.0/16`. */
  readonly clusterIpRange?: string
  /** First and last port; default `30000-32767`. */
  readonly nodePortRange?: string
  /** Gives addresses instead of the range (the gate MultiCIDRServiceAllocator). The range still says which family. */
  readonly addresses?: ServicePool<string>
  readonly claims?: ServiceClaims | undefined
  /** Absent: nothing is counted. */
  readonly metrics?: Metrics
}

export const inUse = 'provided IP is already allocated'
export const portInUse = 'provided port is already allocated'

/** What Services use, by offset into the range of values. */
class Usage {
  readonly #users = new Map<number, string>()
  readonly #reserved = new Reservations<number>()

  get size(): number {
    return this.#users.size
  }

  isFree(offset: number, request: AllocationRequest): boolean {
    return !this.#users.has(offset) && !this.#reserved.has(offset, request)
  }

  /** Also true for what the same draft has reserved. */
  isFreeFor(offset: number, request: AllocationRequest): boolean {
    return !this.#users.has(offset) && !this.#reserved.hasOther(offset, request)
  }

  reserve(offset: number, request: AllocationRequest): void {
    this.#reserved.reserve(offset, request)
  }

  pick(offset: number, request: AllocationRequest): void {
    this.#reserved.pick(offset, request)
  }

  isPicked(offset: number, request: AllocationRequest): boolean {
    return this.#reserved.isPicked(offset, request)
  }

  release(draft: KubeObject): void {
    this.#reserved.release(draft)
  }

  /** Replaces what the Service of that key used before. */
  commit(key: string, { before, now }: { before: readonly number[]; now: readonly number[] }) {
    for (const offset of before) {
      if (this.#users.get(offset) === key) this.#users.delete(offset)
    }
    for (const offset of now) this.#users.set(offset, key)
  }
}

interface ServiceValues {
  readonly addresses: readonly number[]
  readonly ports: readonly number[]
}

interface ServiceUse {
  readonly clusterIPs?: readonly string[]
  readonly ports?: readonly { readonly nodePort?: number }[]
  readonly healthCheckNodePort?: number
}

/** Reads the stored Services on first use and follows their changes from then on. */
class ServiceIndex {
  readonly addresses = new Usage()
  readonly ports = new Usage()
  readonly #options: ServiceAllocatorOptions
  readonly #offsetOfAddress: (text: string) => number | undefined
  readonly #values = new Map<string, ServiceValues>()
  #isFollowing = false

  constructor(
    options: ServiceAllocatorOptions,
    offsetOfAddress: (text: string) => number | undefined,
  ) {
    this.#options = options
    this.#offsetOfAddress = offsetOfAddress
  }

  follow(): this {
    if (this.#isFollowing) return this
    this.#isFollowing = true
    const { reader, services } = this.#options
    for (const object of reader.list(services))
      this.#set(keyOf(object), valuesOf(object, this.#offsetOfAddress))
    reader.onChange(services, (change) => {
      const isGone = change.type === 'DELETED'
      this.#set(change.key, isGone ? undefined : valuesOf(change.object(), this.#offsetOfAddress))
    })
    return this
  }

  #set(key: string, now: ServiceValues | undefined): void {
    const before = this.#values.get(key)
    const none: readonly number[] = []
    this.addresses.commit(key, {
      before: before?.addresses ?? none,
      now: now?.addresses ?? none,
    })
    this.ports.commit(key, { before: before?.ports ?? none, now: now?.ports ?? none })
    if (now === undefined) this.#values.delete(key)
    else this.#values.set(key, now)
  }
}

/** What a Service uses; of its addresses those that have an offset. */
export function valuesOf(
  object: KubeObject,
  offsetOf: (address: string) => number | undefined,
): ServiceValues {
  const spec = (object['spec'] ?? {}) as ServiceUse
  const addresses = (spec.clusterIPs ?? []).flatMap((text) => offsetOf(text) ?? [])
  const ports = (spec.ports ?? []).flatMap(({ nodePort }) => (nodePort ? [nodePort] : []))
  if (spec.healthCheckNodePort) ports.push(spec.healthCheckNodePort)
  return { addresses, ports }
}

/** Addresses of an IPv6 range that Services can have (upstream: ipallocator, as many as its bitmap holds). */
const mostIpv6Addresses = 65_536

/** Addresses that servers on one store share: each has a bit in a key (upstream: maxCIDRBits). */
export const mostSharedAddresses = 2 ** 20

/** Throws TypeError for an invalid range. */
export function offsetsOf(text: string, most = 2 ** 32): AddressOffsets {
  const range = parseIpRange(text)
  if (range === undefined) throw new TypeError(`not a range of addresses: ${text}`)
  return addressOffsets(range, range.family === 'IPv4' ? most : Math.min(most, mostIpv6Addresses))
}

/** The first address a Service can have: the API server's own. Throws TypeError for an invalid range. */
export function firstAddress(rangeText: string): string {
  return offsetsOf(rangeText).textOf(1)
}

/** Reserves a free offset of the first band that has one. */
function takeNext(
  usage: Usage,
  bands: readonly Band[],
  request: AllocationRequest,
): number | undefined {
  for (const band of bands) {
    const isFree = (at: number): boolean => usage.isFree(at, request)
    const offset = freeOffset(band, isFree, () => request.random())
    if (offset === undefined) continue
    usage.pick(offset, request)
    return offset
  }
  return undefined
}

function addressPool(
  index: ServiceIndex,
  offsets: AddressOffsets,
  rangeText: string,
): ServicePool<string> {
  const bands = addressBands(offsets)
  return {
    take(text, request) {
      const { addresses } = index.follow()
      const offset = offsets.offsetOf(text)
      if (offset === undefined) {
        return `the provided IP (${text}) is not in the valid range. The range of valid IPs is ${rangeText}`
      }
      if (!addresses.isFreeFor(offset, request)) return inUse
      addresses.reserve(offset, request)
      return undefined
    },
    next(request) {
      const offset = takeNext(index.follow().addresses, bands, request)
      return offset === undefined ? undefined : offsets.textOf(offset)
    },
    isPicked(text, request) {
      const offset = offsets.offsetOf(text)
      return offset !== undefined && index.addresses.isPicked(offset, request)
    },
    release: (draft) => index.addresses.release(draft),
  }
}

/** Throws TypeError for an invalid range. */
export function portsOf(rangeText: string): { readonly first: number; readonly last: number } {
  const [first = 0, last = -1] = rangeText.split('-').map(Number)
  if (first > 0 && last >= first && last <= 65_535) return { first, last }
  throw new TypeError(`not a range of ports: ${rangeText}`)
}

/** Throws TypeError for an invalid range. */
function portPool(index: ServiceIndex, rangeText: string): ServicePool<number> {
  const { first, last } = portsOf(rangeText)
  const split = first + staticPart(last - first + 1, { min: 16, max: 128, share: 32 })
  const bands = [
    { start: split, end: last + 1 },
    { start: first, end: split },
  ]
  return {
    take(port, request) {
      const { ports } = index.follow()
      if (port < first || port > last) {
        return `provided port is not in the valid range. The range of valid ports is ${rangeText}`
      }
      if (!ports.isFreeFor(port, request)) return portInUse
      ports.reserve(port, request)
      return undefined
    },
    next: (request) => takeNext(index.follow().ports, bands, request),
    isPicked: (port, request) => index.ports.isPicked(port, request),
    release: (draft) => index.ports.release(draft),
  }
}

/** The same pools. Of addresses only those of the range are counted, not those of ServiceCIDRs. */
function countedPools(
  pools: Pick<ServiceAllocator, 'nodePorts' | 'addresses'>,
  of: ServiceAllocatorOptions & { readonly index: ServiceIndex; readonly offsets: AddressOffsets },
): Pick<ServiceAllocator, 'nodePorts' | 'addresses'> {
  const { metrics, index, offsets, addresses: given } = of
  const { nodePortRange = '30000-32767', clusterIpRange: cidr = '10.96.0.0/16' } = of
  if (metrics === undefined) return pools
  const { first, last } = portsOf(nodePortRange)
  const ports = () => ({ used: index.follow().ports.size, size: last - first + 1 })
  const addresses = () => ({ used: index.follow().addresses.size, size: offsets.end - 1 })
  return {
    nodePorts: countedPorts(pools.nodePorts, { metrics, use: ports }),
    addresses:
      given === undefined
        ? countedAddresses(pools.addresses, { metrics, cidr, use: addresses })
        : pools.addresses,
  }
}

/** Throws TypeError for an invalid range. One per API server. */
export function createServiceAllocator(options: ServiceAllocatorOptions): ServiceAllocator {
  const { clusterIpRange = '10.96.0.0/16', nodePortRange = '30000-32767', claims } = options
  const offsets = offsetsOf(clusterIpRange, claims?.addresses && mostSharedAddresses)
  const index = new ServiceIndex(options, offsets.offsetOf)
  const nodePorts = portPool(index, nodePortRange)
  const addresses = options.addresses ?? addressPool(index, offsets, clusterIpRange)
  return {
    family: offsets.family,
    ...countedPools({ nodePorts, addresses }, { ...options, index, offsets }),
    ...(claims && { claims }),
  }
}
