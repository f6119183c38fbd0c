/** runStoppedController: a controller of the user that is stopped as planned and started anew, as a process that is killed. */
import { createClientOver } from '../components/client/client.ts'
import type { Client } from '../components/client/client.ts'
import type { RestClient, RestRequest } from '../components/client/rest-client.ts'
import type { Clock } from '../components/component-base/clock.ts'
import type { ControllerStop } from './controller-stops.ts'

export interface StoppedControllerOptions {
  /** Of one controller, in the order of time. */
  readonly stops: readonly ControllerStop[]
  /** No stop waits for a write longer than this, after the beginning. */
  readonly untilMs: number
  readonly clock: Clock
  /** Aborts when the run is over. */
  readonly signal: AbortSignal
  /** Each life has a connection of its own. */
  readonly connect: () => Client
  readonly work: (life: { readonly client: Client; readonly signal: AbortSignal }) => Promise<void>
}

/** Resolves when the controller has ended by itself, or the run is over; rejects with what it rejects with while it lives. */
export async function runStoppedController(options: StoppedControllerOptions): Promise<void> {
  const { clock, signal } = options
  const left = [...options.stops]
  const startMs = clock.now()
  for (;;) {
    const life = new Life(options)
    await stopAsPlanned(life, left, { ...options, startMs })
    if (!life.isStopped) return await life.ended
    await sleepUntil(clock, clock.now() + life.awayMs, signal)
    if (signal.aborted) return
  }
}

/** Resolves when the life is over, or no stop is left. */
async function stopAsPlanned(
  life: Life,
  left: ControllerStop[],
  { clock, startMs, untilMs }: StoppedControllerOptions & { readonly startMs: number },
): Promise<void> {
  for (let stop = left.shift(); stop !== undefined; stop = left.shift()) {
    await sleepUntil(clock, startMs + stop.atMs, life.over)
    if (life.over.aborted) return
    life.stop(stop)
    // It may write no more: a stop that waits longer would come when all has to be at rest.
    await sleepUntil(clock, startMs + untilMs, life.over)
    if (life.over.aborted) return
    life.spare()
  }
}

async function sleepUntil(clock: Clock, atMs: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(Math.max(0, atMs - clock.now()), signal)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

class Life {
  /** When the controller has ended by itself; rejects when it fails. Of one that was stopped it says nothing. */
  readonly ended: Promise<void>
  /** Aborts when it was stopped or has ended, or the run is over. */
  readonly over: AbortSignal
  awayMs = 0
  readonly #client: Client
  readonly #stopped = new AbortController()
  #next: ControllerStop | undefined

  constructor({ connect, work, signal }: StoppedControllerOptions) {
    this.#client = connect()
    const end = new AbortController()
    this.over = AbortSignal.any([signal, this.#stopped.signal, end.signal])
    const client = createClientOver(this.#stoppable(this.#client.rest), this.#client)
    const running = work({ client, signal: AbortSignal.any([signal, this.#stopped.signal]) })
    this.ended = running.finally(() => end.abort(new Error('the controller has ended')))
    this.ended.catch(() => {
      // Whoever awaits it is told; what a stopped controller throws is its own affair.
    })
  }

  get isStopped(): boolean {
    return this.#stopped.signal.aborted
  }

  stop(stop: ControllerStop): void {
    if (stop.when === 'now') this.#end(stop)
    else this.#next = stop
  }

  /** A stop that still waits for a write does not happen. */
  spare(): void {
    this.#next = undefined
  }

  #end({ forMs }: ControllerStop): void {
    this.awayMs = forMs
    this.#stopped.abort(new Error('the controller was stopped by the simulation'))
    this.#client.close()
  }

  /** The stop that comes with this request. */
  #stopAt({ method }: RestRequest): ControllerStop | undefined {
    if (method === 'GET' || method === 'HEAD') return undefined
    const stop = this.#next
    this.#next = undefined
    return stop
  }

  async #send<T>(request: RestRequest, send: () => Promise<T>): Promise<T> {
    const { signal } = this.#stopped
    signal.throwIfAborted()
    const stop = this.#stopAt(request)
    if (stop === undefined) return await send()
    try {
      if (stop.when === 'after-write') await send()
    } finally {
      this.#end(stop)
    }
    throw signal.reason
  }

  #stoppable(rest: RestClient): RestClient {
    return {
      server: rest.server,
      json: async (request) => await this.#send(request, async () => await rest.json(request)),
      bytes: async (request) => await this.#send(request, async () => await rest.bytes(request)),
      stream: async (request) => await this.#send(request, async () => await rest.stream(request)),
      dialing: async () => await rest.dialing(),
      setCredentials: (credentials) => rest.setCredentials(credentials),
      close: () => rest.close(),
    }
  }
}
