/** FaultyNetwork: the network of an embedded cluster as its parts see it, each by its own end, with the faults that hold. */
import type { RequestHandler } from '../components/component-base/answering.ts'
import type { Clock } from '../components/component-base/clock.ts'
import type { Answer, HttpRequest, ResponseSink } from '../components/component-base/http.ts'
import type { LocalNetwork } from '../components/component-base/local-network.ts'
import type { UnderWay } from '../components/component-base/under-way.ts'
import type { HeldFault, NamedFault } from '../cluster/lab/levers.ts'
import {
  concerns,
  delayOf,
  isSevered,
  isSilent,
  isUsedUp,
} from '../cluster/lab/network/network-rules.ts'
import type { Direction, Ends, NetworkRule } from '../cluster/lab/network/network-rules.ts'
import { cannotHold, noSuchPart } from '../cluster/lab/no-such-part.ts'
import { LateSink } from './late-sink.ts'

/** A stream that a client follows: the body of an answer. */
interface Followed {
  readonly ends: Ends
  /** The server's messages were kept back by a cut. */
  hasLost: boolean
  readonly cut: (why: Error) => void
}

/** How long the next message takes, in milliseconds. */
export type Latency = () => number

/** Up to `mostMs`, each as likely. */
export function latencyOf(clock: Pick<Clock, 'random'>, mostMs: number): Latency {
  return () => Math.floor(clock.random() * (mostMs + 1))
}

export interface FaultyNetworkOptions {
  /** The cluster's. */
  readonly clock: Clock
  /** The requests of the cluster's parts. */
  readonly underWay: Pick<UnderWay, 'stall'>
  /** Without it messages arrive at once. */
  readonly latency?: Latency | undefined
}

/** Whether its answer lasts as long as the client wants. */
const isFollowed = ({ url }: HttpRequest): boolean => /[?&](?:watch|follow)=(?:1|true)\b/.test(url)

/** The answer as one message. */
async function whole(answer: Answer, { signal }: HttpRequest): Promise<Answer> {
  const { body } = answer
  if (typeof body !== 'function') return answer
  const chunks: Buffer[] = []
  await body({
    write: (chunk) => {
      chunks.push(chunk)
      return true
    },
    drained: async () => {},
    buffered: 0,
    signal,
  })
  return { ...answer, body: Buffer.concat(chunks) }
}

const lost = (): Error => new Error('the connection was cut by a fault of the network')

export class FaultyNetwork {
  readonly #network: LocalNetwork
  readonly #clock: Clock
  readonly #underWay: Pick<UnderWay, 'stall'>
  readonly #latency: Latency | undefined
  readonly #rules: NetworkRule[] = []
  readonly #followed = new Set<Followed>()
  /** Those that wait for the rules to change. */
  readonly #waiting = new Set<() => void>()

  constructor(network: LocalNetwork, { clock, underWay, latency }: FaultyNetworkOptions) {
    this.#network = network
    this.#clock = clock
    this.#underWay = underWay
    this.#latency = latency
  }

  /** As the part sees it; all others that it calls are the API server. */
  of(part: string): LocalNetwork {
    const ends = { dialer: [part], acceptor: ['api-server'] }
    return {
      ...(this.#latency === undefined ? {} : { clock: this.#clock }),
      serve: (origin, handler) => this.#network.serve(origin, handler),
      find: (origin) => {
        const handler = this.#network.find(origin)
        return handler && ((request) => this.#exchange(request, { handler, ends }))
      },
    }
  }

  /** `parts`: those that call the API server. */
  hold(named: Extract<NamedFault, { kind: 'network' }>, parts: readonly string[]): HeldFault {
    const { name, fault, times } = named
    const all = ['api-server', ...parts]
    for (const part of [fault.from, fault.to]) if (!all.includes(part)) throw noSuchPart(part, all)
    if (![fault.from, fault.to].includes('api-server'))
      throw cannotHold(named, `${fault.from} and ${fault.to} do not talk to each other`)
    const { action } = fault
    if (typeof action !== 'string' && !('delayMs' in action)) {
      const hint = 'start the cluster with form: processes, or use delayMs'
      throw cannotHold(named, 'an embedded cluster sends no packets', hint)
    }
    const rule: NetworkRule = { name, fault, times, fired: 0 }
    this.#rules.push(rule)
    this.#look()
    return {
      fired: async () => rule.fired,
      end: async () => {
        this.#rules.splice(this.#rules.indexOf(rule), 1)
        this.#look()
      },
    }
  }

  #rulesOf(ends: Ends, direction: Direction): NetworkRule[] {
    return this.#rules.filter((rule) => !isUsedUp(rule) && concerns(rule.fault, ends, direction))
  }

  /** The rules have changed: streams may be cut, and what waited looks again. */
  #look(): void {
    for (const one of this.#followed) {
      const rules = this.#rulesOf(one.ends, 'to-dialer')
      const severing = rules.find(({ fault }) => isSevered(fault))
      if (severing !== undefined) severing.fired += 1
      const isKept = rules.some(({ fault }) => isSilent(fault))
      if (severing !== undefined || (one.hasLost && !isKept)) one.cut(lost())
    }
    for (const wake of this.#waiting) wake()
  }

  async #exchange(
    request: HttpRequest,
    { handler, ends }: { readonly handler: RequestHandler; readonly ends: Ends },
  ): Promise<Answer> {
    await this.#travel(request)
    if (this.#rules.length > 0) await this.#pass(ends, 'to-acceptor', request)
    const given = await handler(request)
    const answer =
      this.#latency === undefined || isFollowed(request) ? given : await whole(given, request)
    if (this.#rules.length > 0) await this.#pass(ends, 'to-dialer', request)
    await this.#travel(request)
    const { body } = answer
    return typeof body === 'function' ? { ...answer, body: this.#followedBody(body, ends) } : answer
  }

  async #travel({ signal }: HttpRequest): Promise<void> {
    if (this.#latency === undefined) return
    const goOn = this.#underWay.stall()
    try {
      await this.#clock.sleep(this.#latency(), signal)
    } finally {
      goOn()
    }
  }

  /** Resolves when the message has arrived. Rejects when it never will. */
  async #pass(ends: Ends, direction: Direction, { signal }: HttpRequest): Promise<void> {
    const counted = new Set<NetworkRule>()
    for (;;) {
      const rules = this.#rulesOf(ends, direction)
      const stopping = rules.find(({ fault }) => isSilent(fault))
      for (const rule of stopping === undefined ? rules : [stopping]) {
        if (counted.has(rule)) continue
        counted.add(rule)
        rule.fired += 1
        const ms = delayOf(rule.fault, { bytes: 0, random: () => this.#clock.random() })
        if (ms > 0) await this.#clock.sleep(ms, signal)
      }
      if (stopping === undefined) return
      if (isSevered(stopping.fault)) throw lost()
      await this.#changed(signal)
      // A cut loses what it has kept back; of connections that are half open it arrives late.
      if (stopping.fault.action === 'cut') throw lost()
    }
  }

  /** Resolves at the next change of the rules; rejects when the client gives up. */
  async #changed(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = (): void => reject(signal.reason as Error)
    this.#waiting.add(resolve)
    const goOn = this.#underWay.stall()
    signal.addEventListener('abort', leave, { once: true })
    try {
      signal.throwIfAborted()
      await promise
    } finally {
      this.#waiting.delete(resolve)
      goOn()
      signal.removeEventListener('abort', leave)
    }
  }

  #followedBody(
    body: (sink: ResponseSink) => Promise<void>,
    ends: Ends,
  ): (sink: ResponseSink) => Promise<void> {
    return async (sink) => {
      const cut = Promise.withResolvers<never>()
      cut.promise.catch(() => {}) // the body may have ended by then
      const followed: Followed = { ends, hasLost: false, cut: cut.reject }
      this.#followed.add(followed)
      const late = this.#latency && new LateSink(sink, this.#clock, this.#latency)
      try {
        await Promise.race([body(this.#sink(late ?? sink, followed)), cut.promise])
        await Promise.race([late?.isEmpty(), cut.promise])
      } finally {
        late?.end()
        this.#followed.delete(followed)
      }
    }
  }

  /** A sink that keeps back what a fault keeps back. */
  #sink(sink: ResponseSink, followed: Followed): ResponseSink {
    const write: ResponseSink['write'] = (bytes, onSent) => {
      const silent = this.#rulesOf(followed.ends, 'to-dialer').find(({ fault }) => isSilent(fault))
      if (silent === undefined) return sink.write(bytes, onSent)
      silent.fired += 1
      followed.hasLost = true
      onSent?.()
      return true
    }
    return {
      write,
      drained: () => sink.drained(),
      get signal() {
        return sink.signal
      },
      get buffered() {
        return sink.buffered
      },
    }
  }
}
