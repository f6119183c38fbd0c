/** ActiveFault: how often a fault has fired, and whether it fires now. */
import { seededRandom } from '../../component-base/seeded-random.ts'

export interface Firing {
  readonly id: string
  readonly times?: number
  readonly chance?: number
  readonly seed?: number
}

export class ActiveFault {
  readonly id: string
  readonly #times: number
  readonly #chance: number
  readonly #random: () => number
  #fired: number

  /** `before`: the fault of this id until now, whose count and sequence go on. Without a seed, `random` decides. */
  constructor(
    fault: Firing,
    from: { readonly random: () => number; readonly before?: ActiveFault | undefined },
  ) {
    const { id, times = Infinity, chance = 1, seed } = fault
    this.id = id
    this.#times = times
    this.#chance = chance
    this.#fired = from.before?.fired ?? 0
    this.#random = from.before?.random ?? (seed === undefined ? from.random : seededRandom(seed))
  }

  get fired(): number {
    return this.#fired
  }

  /** Whether it may fire again. */
  get isOver(): boolean {
    return this.#fired >= this.#times
  }

  /** Whether nothing but its end keeps it from firing. */
  get isCertain(): boolean {
    return !this.isOver && this.#chance >= 1
  }

  get random(): () => number {
    return this.#random
  }

  /** Decides for one request, event or write, and counts it. */
  fires(): boolean {
    if (this.isOver) return false
    if (this.#chance < 1 && this.#random() >= this.#chance) return false
    this.#fired += 1
    return true
  }
}
