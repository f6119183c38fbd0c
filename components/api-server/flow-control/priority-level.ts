/**
 * priority-level: the seats of one priority level and its queues. Each request waits in the shortest of a few queues that
 * its flow's hash picks, and queues take turns, so that a busy flow delays only itself (upstream: fairqueuing).
 */
import type { PriorityLevelConfiguration } from '../../api/generated/types.ts'

/** Why a request is rejected; a label of the metric of rejected requests. */
export type Refusal = 'concurrency-limit' | 'queue-full' | 'time-out' | 'cancelled'

interface Waiter {
  readonly hash: readonly number[]
  readonly seated: (refusal: Refusal | undefined) => void
}

export class PriorityLevel {
  readonly name: string
  uid = ''
  isExempt = false
  /** The level's seats by its share, how many of them it may lend, and how many it may borrow. */
  nominal = 0
  lendable = 0
  borrowable = 0
  executing = 0
  waiting = 0
  dispatched = 0
  readonly refused: Record<Refusal, number> = {
    'concurrency-limit': 0,
    'queue-full': 0,
    'time-out': 0,
    cancelled: 0,
  }

  #handSize = 0
  #longest = 0
  #queues: Waiter[][] = []
  #turn = 0

  constructor(name: string) {
    this.name = name
  }

  get activeQueues(): number {
    return this.#queues.filter(({ length }) => length > 0).length
  }

  /** `seats` are those of its share. Waiting requests move to the new queues. */
  configure({ metadata, spec }: PriorityLevelConfiguration, seats: number): void {
    const { type, limited, exempt } = spec ?? {}
    this.uid = metadata.uid ?? ''
    this.isExempt = type === 'Exempt'
    this.nominal = seats
    const lendablePercent = limited?.lendablePercent ?? exempt?.lendablePercent ?? 0
    this.lendable = Math.round((seats * lendablePercent) / 100)
    const { borrowingLimitPercent: percent } = limited ?? {}
    this.borrowable = percent === undefined ? Infinity : Math.round((seats * percent) / 100)
    const queuing = limited?.limitResponse?.queuing
    this.#handSize = queuing?.handSize ?? 0
    this.#longest = queuing?.queueLengthLimit ?? 0
    const waiters = this.#queues.flat()
    this.#queues = Array.from({ length: queuing?.queues ?? 0 }, () => [])
    this.waiting = 0
    for (const waiter of waiters) {
      if (!this.#queue(waiter)) this.#refuse(waiter, 'queue-full')
    }
  }

  take(): void {
    this.executing += 1
    this.dispatched += 1
  }

  /** Queues a request. Returns a function that removes it, or why it cannot wait. `seated` is called once, later. */
  wait(hash: readonly number[], seated: Waiter['seated']): ((why: Refusal) => void) | Refusal {
    const waiter = { hash, seated }
    const why = this.#queues.length === 0 ? 'concurrency-limit' : 'queue-full'
    if (!this.#queue(waiter)) {
      this.refused[why] += 1
      return why
    }
    return (reason) => {
      for (const queue of this.#queues) {
        const at = queue.indexOf(waiter)
        if (at < 0) continue
        queue.splice(at, 1)
        this.waiting -= 1
        this.#refuse(waiter, reason)
      }
    }
  }

  /** Gives a seat to the next request. At least one must be waiting. */
  seatNext(): void {
    for (let step = 0; step < this.#queues.length; step += 1) {
      this.#turn = (this.#turn + 1) % this.#queues.length
      const waiter = this.#queues[this.#turn]?.shift()
      if (waiter === undefined) continue
      this.waiting -= 1
      this.take()
      waiter.seated(undefined)
      return
    }
  }

  #refuse(waiter: Waiter, why: Refusal): void {
    this.refused[why] += 1
    waiter.seated(why)
  }

  #queue(waiter: Waiter): boolean {
    let best: Waiter[] | undefined
    for (const index of handOf(waiter.hash, this.#queues.length, this.#handSize)) {
      const queue = this.#queues[index]
      if (queue !== undefined && queue.length < (best?.length ?? this.#longest)) best = queue
    }
    if (best === undefined) return false
    best.push(waiter)
    this.waiting += 1
    return true
  }
}

/** A few different queues out of `deck`, the same ones for the same hash (upstream: shufflesharding). */
function handOf(hash: readonly number[], deck: number, handSize: number): number[] {
  const hand: number[] = []
  for (let card = 0; card < Math.min(handSize, deck); card += 1) {
    let index = (hash[card % hash.length] ?? 0) % (deck - card)
    // Skips cards that have been dealt, lowest first.
    for (const taken of hand.toSorted((a, b) => a - b)) if (index >= taken) index += 1
    hand.push(index)
  }
  return hand
}
