/** LoadBalancerAddresses: which Service has which addresses of the simulated load balancer. */
import type { IpFamily } from '../../machinery/validation/ip-address.ts'
import { parseIpAddress, parseIpRange } from '../../machinery/validation/ip-address.ts'
import { CidrSet } from '../cidr-set.ts'

const bitsOf = { IPv4: 32, IPv6: 128 } as const satisfies Record<IpFamily, number>

function asRange(address: string): string {
  return `${address}/${bitsOf[parseIpAddress(address)?.family ?? 'IPv4']}`
}

function createSet(text: string): CidrSet {
  const range = parseIpRange(text)
  if (range === undefined) throw new Error(`invalid CIDR address: ${text}`)
  const bits = bitsOf[range.family]
  // No more than 65,536 addresses of a range are used.
  const whole = { ...range, prefixLength: Math.max(range.prefixLength, bits - 16) }
  const set = new CidrSet(whole, bits)
  // The first address names the range.
  if (whole.prefixLength < bits) set.allocateNext()
  return set
}

export class LoadBalancerAddresses {
  readonly #sets = new Map<IpFamily, CidrSet>()
  readonly #byService = new Map<string, readonly string[]>()

  /** `ranges`: one of each IP family at most. Throws for a text that is no range, and for two of one family. */
  constructor(ranges: readonly string[]) {
    for (const text of ranges) {
      const set = createSet(text.trim())
      const { family } = set.whole
      if (this.#sets.has(family)) throw new Error(`two ranges of ${family}: one is allowed`)
      this.#sets.set(family, set)
    }
  }

  /** The Service has these addresses, whatever it had; those of other ranges are not looked after here. */
  occupy(service: string, addresses: readonly string[]): void {
    if (this.#byService.get(service)?.join() === addresses.join()) return
    this.release(service)
    const own = addresses.filter((address) => this.#setOf(address) !== undefined)
    for (const address of own) this.#setOf(address)?.occupy(asRange(address))
    if (own.length > 0) this.#byService.set(service, own)
  }

  /**
   * The Service's addresses, one of each family that has a range; those it has already stay. Throws when there is no range of
   * any of the families, when all addresses are taken, or when the one it asks for cannot be had.
   */
  allocate(
    service: string,
    { families, wanted }: { families: readonly IpFamily[]; wanted: string | undefined },
  ): readonly string[] {
    const served = families.filter((family) => this.#sets.has(family))
    if (served.length === 0)
      throw new Error(`the simulated load balancer has no range of ${families.join(' or ')}`)
    const had = this.#byService.get(service) ?? []
    this.release(service)
    const addresses: string[] = []
    try {
      for (const family of served) addresses.push(this.#take(family, { had, wanted }))
    } catch (error) {
      for (const address of addresses) this.#setOf(address)?.release(asRange(address))
      this.occupy(service, had)
      throw error
    }
    this.#byService.set(service, addresses)
    return addresses
  }

  release(service: string): void {
    for (const address of this.#byService.get(service) ?? [])
      this.#setOf(address)?.release(asRange(address))
    this.#byService.delete(service)
  }

  #take(
    family: IpFamily,
    { had, wanted }: { had: readonly string[]; wanted: string | undefined },
  ): string {
    const isOfFamily = (address: string): boolean => parseIpAddress(address)?.family === family
    const asked = wanted !== undefined && isOfFamily(wanted) ? wanted : had.find(isOfFamily)
    const set = this.#sets.get(family)
    if (asked !== undefined) {
      if (this.#setOf(asked) === undefined)
        throw new Error(`requested address ${asked} is not in the range of the load balancer`)
      if (set?.isOccupied(asRange(asked)))
        throw new Error(`requested address ${asked} is already in use`)
      set?.occupy(asRange(asked))
      return asked
    }
    const range = set?.allocateNext()
    if (range === undefined) throw new Error(`no ${family} address of the load balancer is free`)
    return range.slice(0, range.indexOf('/'))
  }

  #setOf(address: string): CidrSet | undefined {
    const family = parseIpAddress(address)?.family
    const set = family && this.#sets.get(family)
    return set?.overlaps(asRange(address)) ? set : undefined
  }
}
