/** PodAddresses: the node's range of pod addresses, each given to one pod at a time. */
import { BlockList, isIPv4 } from 'node:net'
import { createHash } from 'node:crypto'

function toNumber(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

function toText(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.')
}

/**
 * A range of 10.128.0.0/9 that follows from the node's name and holds `maxPods` addresses (at least a /24): good until
 * somebody assigns one.
 */
export function defaultPodRange(nodeName: string, maxPods: number): string {
  const bits = Math.max(8, Math.ceil(Math.log2(maxPods + 3)))
  const slot = createHash('sha256').update(nodeName).digest().readUInt32BE(0) % 2 ** (23 - bits)
  return `${toText(toNumber('10.128.0.0') + slot * 2 ** bits)}/${32 - bits}`
}

export class PodAddresses {
  readonly range: string
  readonly #first: number
  readonly #size: number
  readonly #block = new BlockList()
  readonly #byPod = new Map<string, string>()
  readonly #taken = new Set<string>()
  #next = 2

  /** Throws when `range` is no IPv4 range such as 10.244.1.0/24. */
  constructor(range: string) {
    const [base = '', bits = ''] = range.split('/')
    const prefix = Number(bits)
    if (!isIPv4(base) || !/^\d+$/.test(bits) || prefix < 8 || prefix > 30) {
      throw new Error(`"${range}" is not an IPv4 range such as 10.244.1.0/24`)
    }
    this.range = range
    this.#size = 2 ** (32 - prefix)
    this.#first = Math.floor(toNumber(base) / this.#size) * this.#size
    this.#block.addSubnet(base, prefix)
  }

  /** The pod's address; the same one as long as it is not released. Undefined when all are taken. */
  allocate(podUid: string, preferred?: string): string | undefined {
    const known = this.#byPod.get(podUid)
    if (known !== undefined) return known
    if (preferred !== undefined && isIPv4(preferred) && this.#block.check(preferred)) {
      if (!this.#taken.has(preferred)) return this.#keep(podUid, preferred)
    }
    // .0 names the range, .1 is its gateway, the last is broadcast.
    for (let tried = 0; tried < this.#size - 3; tried++) {
      const address = toText(this.#first + this.#next)
      this.#next = this.#next + 1 >= this.#size - 1 ? 2 : this.#next + 1
      if (!this.#taken.has(address)) return this.#keep(podUid, address)
    }
    return undefined
  }

  release(podUid: string): void {
    const address = this.#byPod.get(podUid)
    if (address === undefined) return
    this.#byPod.delete(podUid)
    this.#taken.delete(address)
  }

  #keep(podUid: string, address: string): string {
    this.#byPod.set(podUid, address)
    this.#taken.add(address)
    return address
  }
}
