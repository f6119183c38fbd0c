/** LateSink: what is written arrives later, by the cluster's clock and in its order. */
import type { Clock } from '../components/component-base/clock.ts'
import type { ResponseSink } from '../components/component-base/http.ts'

export class LateSink implements ResponseSink {
  readonly #sink: ResponseSink
  readonly #clock: Pick<Clock, 'now' | 'after'>
  readonly #latency: () => number
  readonly #onTheWay = new Set<() => void>()
  #lastMs = 0
  #bytes = 0
  #emptied = Promise.withResolvers<void>()

  constructor(sink: ResponseSink, clock: Pick<Clock, 'now' | 'after'>, latency: () => number) {
    this.#sink = sink
    this.#clock = clock
    this.#latency = latency
  }

  write(bytes: Buffer, onSent?: () => void): boolean {
    const nowMs = this.#clock.now()
    this.#lastMs = Math.max(this.#lastMs, nowMs + this.#latency())
    this.#bytes += bytes.byteLength
    const cancel = this.#clock.after(this.#lastMs - nowMs, () => {
      this.#onTheWay.delete(cancel)
      this.#bytes -= bytes.byteLength
      this.#sink.write(bytes, onSent)
      if (this.#onTheWay.size === 0) this.#emptied.resolve()
    })
    this.#onTheWay.add(cancel)
    return true
  }

  drained(): Promise<void> {
    return this.#sink.drained()
  }

  get signal(): AbortSignal {
    return this.#sink.signal
  }

  get buffered(): number {
    return this.#sink.buffered + this.#bytes
  }

  /** Resolves when nothing is on its way. */
  async isEmpty(): Promise<void> {
    while (this.#onTheWay.size > 0) {
      this.#emptied = Promise.withResolvers()
      await this.#emptied.promise
    }
  }

  /** What is on its way is lost. */
  end(): void {
    for (const cancel of this.#onTheWay) cancel()
    this.#onTheWay.clear()
  }
}
