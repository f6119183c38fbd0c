/** WatchRelay: one watch of the controller under test. It passes the server's events on, late or not at all where a fault says so. */
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../components/component-base/clock.ts'
import type { ResponseSink } from '../../components/component-base/http.ts'

/** What to do with the next event: `drop` hides it and all that follow until the watch is expired. */
export type EventFate = 'drop' | 'expire' | ShownEvent

export interface ShownEvent {
  readonly notBeforeMs: number
  /** How often it is shown. */
  readonly times: number
}

export const shownNow: ShownEvent = { notBeforeMs: 0, times: 1 }

export interface WatchRelayOptions {
  readonly clock: Pick<Clock, 'now' | 'after'>
  /** The watch begins with the objects that there are. */
  readonly hasInitialEvents: boolean
  fateOf(): EventFate
  onShown(): void
}

const expired = {
  type: 'ERROR',
  object: {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'too old resource version',
    reason: 'Expired',
    code: 410,
  },
}

export class WatchRelay {
  readonly #options: WatchRelayOptions
  readonly #ended = Promise.withResolvers<void>()
  readonly #waiting: (ShownEvent & { readonly line: string })[] = []
  #sink: ResponseSink | undefined
  #isInitial: boolean
  #isBlind = false
  #hasEnded = false
  #cancel: (() => void) | undefined

  constructor(options: WatchRelayOptions) {
    this.#options = options
    this.#isInitial = options.hasInitialEvents
  }

  /** Events that wait to be shown. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** It has hidden events. */
  get isBlind(): boolean {
    return this.#isBlind
  }

  /** Resolves when the watch is over. */
  async run(from: IncomingMessage, sink: ResponseSink): Promise<void> {
    this.#sink = sink
    let text = ''
    from.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = `${text}${chunk}`.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) if (line !== '') this.#take(line)
    })
    from.on('error', () => this.#end())
    from.on('close', () => this.#end())
    sink.signal.addEventListener('abort', () => this.#end(), { once: true })
    try {
      await this.#ended.promise
    } finally {
      this.#cancel?.()
      from.destroy()
    }
  }

  /** The watch ends with 410: the client has to list again. */
  expire(): void {
    this.#write(JSON.stringify(expired))
    this.#end()
  }

  #take(line: string): void {
    if (this.#hasEnded) return
    const isBookmark = line.startsWith('{"type":"BOOKMARK"')
    if (this.#isInitial) {
      if (isBookmark) this.#isInitial = false
      this.#write(line)
      return
    }
    // A bookmark would tell that the client has seen what it has not.
    if (isBookmark) {
      if (!this.#isBlind && this.#waiting.length === 0) this.#write(line)
      return
    }
    const fate = this.#isBlind ? 'drop' : this.#options.fateOf()
    if (fate === 'drop') this.#isBlind = true
    else if (fate === 'expire') this.expire()
    else this.#later(line, fate)
  }

  #later(line: string, fate: ShownEvent): void {
    this.#waiting.push({ line, ...fate })
    if (this.#waiting.length === 1) this.#release()
  }

  /** In order: an event never overtakes one before it. */
  #release(): void {
    const { clock } = this.#options
    while (!this.#hasEnded) {
      const [next] = this.#waiting
      if (next === undefined) return
      const waitMs = next.notBeforeMs - clock.now()
      if (waitMs > 0) {
        this.#cancel = clock.after(waitMs, () => this.#release())
        return
      }
      for (let times = 0; times < next.times; times += 1) this.#write(next.line)
      this.#waiting.shift()
      this.#options.onShown()
    }
  }

  #write(line: string): void {
    this.#sink?.write(Buffer.from(`${line}\n`))
  }

  #end(): void {
    this.#hasEnded = true
    this.#waiting.length = 0
    this.#ended.resolve()
  }
}
