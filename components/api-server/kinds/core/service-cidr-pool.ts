/**
 * The addresses of all ServiceCIDRs that are ready, of one family; IPAddress objects say which are in use (upstream:
 * ipallocator/cidrallocator.go MetaAllocator; KEP-1880).
 */
import {
  isOffered,
  offersAddress,
  rangesOf,
  type ServiceCidr,
} from '../../../api/service-ranges.ts'
import {
  formatIpAddress,
  parseIpAddress,
  type IpFamily,
  type IpRange,
} from '../../../machinery/validation/ip-address.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import type { ObjectReader } from '../../watch-cache/object-reader.ts'
import { addressBands, addressOffsets, freeOffset } from './address-offsets.ts'
import { Reservations, type AllocationRequest } from './reservations.ts'
import { inUse } from './service-allocator.ts'
import type { ServicePool } from './service-pool.ts'

export interface ServiceCidrPoolOptions {
  readonly reader: ObjectReader
  readonly serviceCidrs: Resource
  readonly ipAddresses: Resource
  readonly family: IpFamily
}

/** Offsets are numbers. Larger ranges have more addresses than can ever be in use: the others are given only to those who name them. */
const mostOffsets = 2 ** 48

const noRange = 'the provided network does not match the current range'

export function createServiceCidrPool(options: ServiceCidrPoolOptions): ServicePool<string> {
  const { reader, serviceCidrs, ipAddresses, family } = options
  const reserved = new Reservations<string>()
  const isUsed = (name: string): boolean => reader.get(ipAddresses, '', name) !== undefined
  const ranges = (): IpRange[] =>
    (reader.list(serviceCidrs) as readonly ServiceCidr[])
      .filter(isOffered)
      .flatMap(rangesOf)
      .filter((range) => range.family === family)
  const nextOf = (range: IpRange, request: AllocationRequest): string | undefined => {
    const offsets = addressOffsets(range, mostOffsets)
    const isFree = (offset: number): boolean => {
      const name = offsets.textOf(offset)
      return !isUsed(name) && !reserved.has(name, request)
    }
    for (const band of addressBands(offsets)) {
      const offset = freeOffset(band, isFree, () => request.random())
      if (offset !== undefined) return offsets.textOf(offset)
    }
    return undefined
  }
  return {
    take(text, request) {
      const address = parseIpAddress(text)
      if (address === undefined || !ranges().some((range) => offersAddress(range, address))) {
        return noRange
      }
      const name = formatIpAddress(address)
      if (isUsed(name) || reserved.hasOther(name, request)) return inUse
      reserved.reserve(name, request)
      return undefined
    },
    next(request) {
      for (const range of ranges()) {
        const name = nextOf(range, request)
        if (name === undefined) continue
        reserved.pick(name, request)
        return name
      }
      return undefined
    },
    isPicked: (name, request) => reserved.isPicked(name, request),
    release: (draft) => reserved.release(draft),
  }
}
