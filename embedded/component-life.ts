/** ComponentLife: one run of a component in this thread, which is paused and killed as a process of its own would be. */
import type { Suspension } from '../components/component-base/suspension.ts'
import { UnderWay } from '../components/component-base/under-way.ts'

/** The work of one component, which ends at once when the component gets no more turns. */
class OwnUnderWay extends UnderWay {
  readonly #all: UnderWay
  readonly #ends = new Set<() => void>()

  constructor(all: UnderWay) {
    super({ elapsed: () => 0, after: () => () => {} })
    this.#all = all
  }

  override begin(): () => void {
    return this.#kept(this.#all.begin())
  }

  override beginOnMachine(): () => void {
    return this.#kept(this.#all.beginOnMachine())
  }

  #kept(end: () => void): () => void {
    this.#ends.add(end)
    return () => {
      this.#ends.delete(end)
      end()
    }
  }

  /** A request that the component serves: its client in this thread counts it, too. */
  override stall(): () => void {
    const ends = [this.#all.stall(), this.#all.stall()]
    return () => {
      for (const end of ends) end()
    }
  }

  override note(): void {
    this.#all.note()
  }

  endAll(): void {
    for (const end of this.#ends) end()
    this.#ends.clear()
  }
}

export class ComponentLife implements Suspension {
  readonly #killing = new AbortController()
  readonly #all: UnderWay
  readonly #underWay: OwnUnderWay
  readonly #onKill = new Set<() => void>()
  #paused: PromiseWithResolvers<void> | undefined
  /** What it will do when it goes on, in this order. */
  #waiting: (() => void)[] = []
  /** How far its clock is ahead of the cluster's. */
  skewMs = 0

  constructor(underWay: UnderWay) {
    this.#all = underWay
    this.#underWay = new OwnUnderWay(underWay)
  }

  get killed(): AbortSignal {
    return this.#killing.signal
  }

  get isKilled(): boolean {
    return this.#killing.signal.aborted
  }

  get isPaused(): boolean {
    return this.#paused !== undefined
  }

  get underWay(): UnderWay {
    return this.#underWay
  }

  /** A message to or from it waits, and whoever advances the clock does not wait for that, until the returned function is called. */
  stall(): () => void {
    return this.#all.stall()
  }

  turn(): Promise<void> | undefined {
    return this.isKilled ? new Promise(() => {}) : this.#paused?.promise
  }

  /** Calls back now; while it is paused, later; once it was killed, never. */
  run(callback: () => void): void {
    if (this.isKilled) return
    if (this.isPaused) this.#waiting.push(callback)
    else callback()
  }

  /** Calls back when it is killed. The returned function takes that back. */
  onKill(callback: () => void): () => void {
    this.#onKill.add(callback)
    return () => void this.#onKill.delete(callback)
  }

  pause(): void {
    if (this.isKilled) return
    this.#paused ??= Promise.withResolvers()
    this.#underWay.endAll()
  }

  resume(): void {
    const paused = this.#paused
    this.#paused = undefined
    const waiting = this.#waiting
    this.#waiting = []
    for (const callback of waiting) callback()
    paused?.resolve()
  }

  /** From now on nothing of it happens. */
  kill(): void {
    this.#killing.abort(new Error('killed'))
    this.#waiting = []
    for (const callback of this.#onKill) callback()
    this.#onKill.clear()
    this.#underWay.endAll()
  }
}
