/** SlowSink: passes an answer on at so many bytes a second, and takes no more from its writer than it can send. */
import type { Clock } from '../../component-base/clock.ts'
import type { ResponseSink } from '../../component-base/http.ts'

interface Waiting {
  readonly bytes: Buffer
  readonly onSent: (() => void) | undefined
}

/** How often a piece is sent, at most. */
const perSecond = 10

export class SlowSink implements ResponseSink {
  readonly #sink: ResponseSink
  readonly #clock: Pick<Clock, 'sleep'>
  readonly #rate: number
  readonly #isMessages: boolean
  readonly #waiting: Waiting[] = []
  #bytes = 0
  #sending: Promise<void> | undefined

  /** `isMessages`: what is written is never divided. */
  constructor(
    sink: ResponseSink,
    by: {
      readonly bytesPerSecond: number
      readonly clock: Pick<Clock, 'sleep'>
      readonly isMessages: boolean
    },
  ) {
    this.#sink = sink
    this.#clock = by.clock
    this.#rate = by.bytesPerSecond
    this.#isMessages = by.isMessages
  }

  get signal(): AbortSignal {
    return this.#sink.signal
  }

  get buffered(): number {
    return this.#bytes + this.#sink.buffered
  }

  write(bytes: Buffer, onSent?: () => void): boolean {
    if (this.signal.aborted) return false
    this.#waiting.push({ bytes, onSent })
    this.#bytes += bytes.length
    if (this.#sending === undefined) {
      this.#sending = this.#send().finally(() => (this.#sending = undefined))
      // Whoever waits for the end gets the error.
      this.#sending.catch(() => {})
    }
    return false
  }

  /** Also resolves at the end of the last byte. Rejects when the peer has gone. */
  async drained(): Promise<void> {
    await this.#sending
  }

  async #send(): Promise<void> {
    const most = this.#isMessages ? Infinity : Math.ceil(this.#rate / perSecond)
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const { bytes, onSent } = next
      for (let at = 0; at < bytes.length; at += most) {
        const piece = bytes.subarray(at, Math.min(bytes.length, at + most))
        await this.#clock.sleep((piece.length * 1000) / this.#rate, this.signal)
        const isLast = at + piece.length === bytes.length
        const isTaken = isLast ? this.#sink.write(piece, onSent) : this.#sink.write(piece)
        this.#bytes -= piece.length
        if (!isTaken) await this.#sink.drained()
      }
    }
  }
}
