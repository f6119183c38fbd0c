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
 * A range of 10.128.0.0/10 that follows from the node's name and holds `maxPods` addresses (at least a /24): good until
 * the cluster gives the node one.
 */
export function defaultPodRange(nodeName: string, maxPods: number): string {
  const bits = Math.max(8, Math.ceil(Math.log2(maxPods + 3)))
  const slot = createHash('sha256').update(nodeName).digest().readUInt32BE(0) % 2 ** (22 - bits)
  return `${toText(toNumber('10.128.0.0') + slot * 2 ** bits)}/${32 - bits}`
}

interface AddressRequest {
  readonly podUid: string
  /** The address it had before. */
  readonly preferred?: string | undefined
  readonly onAddress: (address: string) => void
}

export class PodAddresses {
  #first = 0
  #size = 0
  /** All ranges so far: a pod keeps its address when the range changes. */
  readonly #block = new BlockList()
  readonly #byPod = new Map<string, string>()
  readonly #taken = new Set<string>()
  /** Pods that found none free, in the order they asked. */
  readonly #waiting = new Map<string, AddressRequest['onAddress']>()
  #next = 2

  /** Throws when `range` is no IPv4 range such as 10.244.1.0/24. */
  constructor(range: string) {
    this.useRange(range)
  }

  /** Takes new addresses from this range; those that pods have stay theirs. Throws when it is no IPv4 range, and changes nothing. */
  useRange(range: string): void {
    const [base = '', bits = ''] = range.split('/')
    const prefix = Number(bits)
    if (!isIPv4(base) || !/^\d+$/.test(bits) || prefix < 8 || prefix > 30) {
      throw new Error(`"${range}" is not an IPv4 range such as 10.244.1.0/24`)
    }
    this.#size = 2 ** (32 - prefix)
    this.#first = Math.floor(toNumber(base) / this.#size) * this.#size
    this.#next = 2
    this.#block.addSubnet(base, prefix)
  }

  /**
   * Calls `onAddress` with the pod's address: the one it has, the preferred one, or any. It is called before this returns, or,
   * when all are taken, as soon as one is released; requests are served in order.
   */
  assign({ podUid, preferred, onAddress }: AddressRequest): void {
    const address = this.#byPod.get(podUid) ?? this.#findFree(preferred)
    if (address === undefined) this.#waiting.set(podUid, onAddress)
    else this.#give(podUid, address, onAddress)
  }

  /** The pod needs no address any more. */
  release(podUid: string): void {
    this.#waiting.delete(podUid)
    const address = this.#byPod.get(podUid)
    if (address === undefined) return
    this.#byPod.delete(podUid)
    this.#taken.delete(address)
    for (const [next, onAddress] of this.#waiting) {
      this.#waiting.delete(next)
      this.#give(next, address, onAddress)
      return
    }
  }

  #findFree(preferred: string | undefined): string | undefined {
    if (preferred !== undefined && isIPv4(preferred) && this.#block.check(preferred)) {
      if (!this.#taken.has(preferred)) return preferred
    }
    // .0 names the range, .1 is its gateway, the last is broadcast.
    for (let tried = 0; tried < this.#size - 3; tried++) {
      const address = toText(this.#first + this.#next)
      this.#next = this.#next + 1 >= this.#size - 1 ? 2 : this.#next + 1
      if (!this.#taken.has(address)) return address
    }
    return undefined
  }

  #give(podUid: string, address: string, onAddress: AddressRequest['onAddress']): void {
    this.#byPod.set(podUid, address)
    this.#taken.add(address)
    onAddress(address)
  }
}
