/**
 * ServiceAllocator: which addresses and node ports Services use. It reads the stored Services and remembers for a while
 * what it gave out, until the commit shows up (upstream keeps bitmaps in its store; here the Services are the record).
 */
import {
  formatIpAddress,
  parseIpAddress,
  parseIpRange,
  rangeContains,
  sizeOfRange,
  type IpFamily,
} from '../../../machinery/validation/ip-address.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import type { ObjectReader } from '../../watch-cache/object-reader.ts'

/** Who asks: the draft itself, and when. Nothing stays reserved for a dry run. */
export interface AllocationRequest {
  readonly draft: KubeObject
  readonly nowMs: number
  readonly dryRun: boolean
  random(): number
}

/** A finite set of values, each used by at most one Service. */
export interface ServicePool<T> {
  /** Undefined when the value is the draft's now, else upstream's reason why not. */
  take(value: T, request: AllocationRequest): string | undefined
  /** A free value, or undefined without one. */
  next(request: AllocationRequest): T | undefined
}

export interface ServiceAllocator {
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
}

/** How long a value stays reserved for a draft whose commit is not seen. */
const reservationMs = 30_000

interface Reservation {
  readonly draft: KubeObject
  readonly untilMs: number
}

const inUse = 'provided IP is already allocated'
const portInUse = 'provided port is already allocated'

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`
}

/** What Services use, by offset into the range of values. */
class Usage {
  readonly #users = new Map<number, string>()
  readonly #reserved = new Map<number, Reservation>()

  isFree(offset: number, nowMs: number): boolean {
    return !this.#users.has(offset) && this.#reservation(offset, nowMs) === undefined
  }

  /** Also true for what the same draft, or an earlier attempt at the same Service, has reserved. */
  isFreeFor(offset: number, { draft, nowMs }: AllocationRequest): boolean {
    if (this.#users.has(offset)) return false
    const reservation = this.#reservation(offset, nowMs)
    if (reservation === undefined || reservation.draft === draft) return true
    return keyOf(reservation.draft) === keyOf(draft)
  }

  #reservation(offset: number, nowMs: number): Reservation | undefined {
    const reservation = this.#reserved.get(offset)
    if (reservation === undefined || reservation.untilMs > nowMs) return reservation
    this.#reserved.delete(offset)
    return undefined
  }

  reserve(offset: number, { draft, nowMs, dryRun }: AllocationRequest): void {
    if (!dryRun) this.#reserved.set(offset, { draft, untilMs: nowMs + reservationMs })
  }

  /** Replaces what the Service of that key used before. */
  commit(key: string, { before, now }: { before: readonly number[]; now: readonly number[] }) {
    for (const offset of before) {
      if (this.#users.get(offset) === key) this.#users.delete(offset)
    }
    for (const offset of now) {
      this.#users.set(offset, key)
      this.#reserved.delete(offset)
    }
  }
}

interface Band {
  readonly start: number
  readonly end: number
}

/** A free offset at or after a random one of the band, going around once. */
function freeOffset(usage: Usage, { start, end }: Band, request: AllocationRequest) {
  const size = end - start
  const first = Math.floor(request.random() * size)
  for (let i = 0; i < size; i += 1) {
    const offset = start + ((first + i) % size)
    if (usage.isFree(offset, request.nowMs)) return offset
  }
  return undefined
}

/** The lower part of a range is left to those who name their value (upstream: KEP 3070, 3668). */
function staticPart(size: number, rules: { min: number; max: number; share: number }): number {
  if (size <= rules.min) return 0
  return Math.min(rules.max, Math.max(rules.min, Math.floor(size / rules.share)))
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
    for (const object of reader.list(services)) this.#set(keyOf(object), this.#valuesOf(object))
    reader.onChange(services, (change) => {
      const isGone = change.type === 'DELETED'
      this.#set(change.key, isGone ? undefined : this.#valuesOf(change.object()))
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

  #valuesOf(object: KubeObject): ServiceValues {
    const spec = (object['spec'] ?? {}) as ServiceUse
    const addresses: number[] = []
    for (const text of spec.clusterIPs ?? []) {
      const offset = this.#offsetOfAddress(text)
      if (offset !== undefined) addresses.push(offset)
    }
    const ports = (spec.ports ?? []).flatMap(({ nodePort }) => (nodePort ? [nodePort] : []))
    if (spec.healthCheckNodePort) ports.push(spec.healthCheckNodePort)
    return { addresses, ports }
  }
}

/** The first address a Service can have: the API server's own. */
export function firstAddress(range: string): string {
  const [network = ''] = range.split('/')
  return network.replace(/\d+$/, (last) => String(Number(last) + 1))
}

/** The addresses of a range, by their offsets into it. */
interface AddressOffsets {
  readonly family: IpFamily
  /** After the last offset that a Service can have; the first is 1. */
  readonly end: number
  /** Undefined for what is no address that a Service can have. */
  offsetOf(text: string): number | undefined
  textOf(offset: number): string
}

/** Throws TypeError for an invalid range. */
function addressOffsets(text: string): AddressOffsets {
  const range = parseIpRange(text)
  if (range === undefined) throw new TypeError(`not a range of addresses: ${text}`)
  const { family, base } = range
  const total = Number(sizeOfRange(range) > 65_536n ? 65_536n : sizeOfRange(range))
  // The network's own address is never given out, nor is the broadcast address of IPv4.
  const end = family === 'IPv4' ? total - 1 : total
  return {
    family,
    end,
    offsetOf(address) {
      const parsed = parseIpAddress(address)
      if (parsed === undefined || !rangeContains(range, parsed)) return undefined
      const offset = Number(parsed.value - base)
      return offset >= 1 && offset < end ? offset : undefined
    },
    textOf: (offset) => formatIpAddress({ family, value: base + BigInt(offset) }),
  }
}

/** Reserves a free offset of the first band that has one. */
function takeNext(
  usage: Usage,
  bands: readonly Band[],
  request: AllocationRequest,
): number | undefined {
  for (const band of bands) {
    const offset = freeOffset(usage, band, request)
    if (offset === undefined) continue
    usage.reserve(offset, request)
    return offset
  }
  return undefined
}

function addressPool(
  index: ServiceIndex,
  { end, offsetOf, textOf }: AddressOffsets,
  rangeText: string,
): ServicePool<string> {
  const split = 1 + staticPart(end - 1, { min: 16, max: 256, share: 16 })
  const bands = [
    { start: split, end },
    { start: 1, end: split },
  ]
  return {
    take(text, request) {
      const { addresses } = index.follow()
      const offset = offsetOf(text)
      if (offset === undefined) {
        return `the provided IP (${text}) is not in the valid range. The range of valid IPs is ${rangeText}`
      }
      if (!addresses.isFreeFor(offset, request)) return inUse
      addresses.reserve(offset, request)
      return undefined
    },
    next(request) {
      const offset = takeNext(index.follow().addresses, bands, request)
      return offset === undefined ? undefined : textOf(offset)
    },
  }
}

/** Throws TypeError for an invalid range. */
function portPool(index: ServiceIndex, rangeText: string): ServicePool<number> {
  const [first = 0, last = -1] = rangeText.split('-').map(Number)
  if (!(first > 0 && last >= first && last <= 65_535)) {
    throw new TypeError(`not a range of ports: ${rangeText}`)
  }
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
  }
}

/** Throws TypeError for an invalid range. One per API server. */
export function createServiceAllocator(options: ServiceAllocatorOptions): ServiceAllocator {
  const { clusterIpRange = '10.96.0.0/16', nodePortRange = '30000-32767' } = options
  const offsets = addressOffsets(clusterIpRange)
  const index = new ServiceIndex(options, offsets.offsetOf)
  return {
    family: offsets.family,
    addresses: addressPool(index, offsets, clusterIpRange),
    nodePorts: portPool(index, nodePortRange),
  }
}
