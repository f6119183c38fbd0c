/** Timers: what is due when, in the order of time, and of what was asked for first. It measures no time itself. */

export interface TimerMark {
  /** It recurs for as long as the process runs, or is a deadline: nothing waits for it. */
  readonly isBackground: boolean
  /** Of background timers, one that may come late when nothing else happens: it keeps things as they are. */
  readonly isUpkeep?: boolean
  /** Whose it is, for messages. */
  readonly owner?: string
}

/** The first timer that is no background timer. */
export interface AwaitedTimer {
  readonly dueMs: number
  readonly owner?: string
}

interface Timer {
  readonly dueMs: number
  readonly order: number
  readonly fire: () => void
  readonly mark: TimerMark
}

export class Timers {
  #timers: Timer[] = []
  #order = 0

  /** When the first is due. */
  get dueMs(): number | undefined {
    return this.#timers[0]?.dueMs
  }

  /** The first that something waits for. */
  get awaited(): AwaitedTimer | undefined {
    const first = this.#timers.find(({ mark }) => !mark.isBackground)
    if (first === undefined) return undefined
    const { owner } = first.mark
    return { dueMs: first.dueMs, ...(owner === undefined ? {} : { owner }) }
  }

  /** When the first is due that is no upkeep; Infinity without one. */
  get restlessMs(): number {
    return this.#timers.find(({ mark }) => mark.isUpkeep !== true)?.dueMs ?? Infinity
  }

  /** The returned function takes it away again. */
  add(dueMs: number, fire: () => void, mark: TimerMark): () => void {
    this.#order += 1
    const timer = { dueMs, order: this.#order, fire, mark }
    this.#timers.splice(placeOf(this.#timers, timer), 0, timer)
    return () => {
      const at = placeOf(this.#timers, timer)
      if (this.#timers[at] === timer) this.#timers.splice(at, 1)
    }
  }

  /** Fires what is due by then, and not what is asked for meanwhile. */
  fire(nowMs: number): void {
    const last = this.#order
    for (let first = this.#timers[0]; first !== undefined; first = this.#timers[0]) {
      if (first.dueMs > nowMs || first.order > last) return
      this.#timers.shift()
      first.fire()
    }
  }

  clear(): void {
    this.#timers = []
  }
}

/** Where the timer is, or belongs. */
function placeOf(timers: readonly Timer[], { dueMs, order }: Timer): number {
  let low = 0
  let high = timers.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const one = timers[middle] as Timer
    if (one.dueMs < dueMs || (one.dueMs === dueMs && one.order < order)) low = middle + 1
    else high = middle
  }
  return low
}
