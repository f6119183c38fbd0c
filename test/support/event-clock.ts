/** EventClock: a clock whose callbacks run one after the other without a turn of the event loop, in nanoseconds. */
import type { Clock } from '../../components/component-base/clock.ts'

interface Event {
  readonly atNs: number
  readonly order: number
  readonly fire: () => void
}

export class EventClock implements Pick<Clock, 'elapsed' | 'after'> {
  #nowNs = 0
  #order = 0
  /** In the order in which they are due. */
  #events: Event[] = []

  elapsed(): number {
    return this.#nowNs / 1e6
  }

  after(ms: number, fire: () => void): () => void {
    this.#order += 1
    const event = { atNs: this.#nowNs + Math.round(ms * 1e6), order: this.#order, fire }
    let at = this.#events.length
    while (at > 0 && (this.#events[at - 1] as Event).atNs > event.atNs) at -= 1
    this.#events.splice(at, 0, event)
    return () => {
      this.#events = this.#events.filter((other) => other !== event)
    }
  }

  /** Runs everything that is due until then, or until nothing is left. */
  run(untilMs = Infinity): void {
    for (let next = this.#events[0]; next !== undefined; next = this.#events[0]) {
      if (next.atNs > untilMs * 1e6) break
      this.#events.shift()
      this.#nowNs = Math.max(this.#nowNs, next.atNs)
      next.fire()
    }
    if (untilMs !== Infinity) this.#nowNs = Math.round(untilMs * 1e6)
  }
}
