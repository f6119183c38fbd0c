/**
 * HeldNetwork: the network as one run of a component has it, as client and as server. While the component is paused, what is sent to it waits. When
 * it is killed, its connections are lost, as the other end sees.
 */
import type { RequestHandler } from '../components/component-base/answering.ts'
import { ConnectionCutError } from '../components/component-base/http.ts'
import type { Answer, HttpRequest, ResponseSink } from '../components/component-base/http.ts'
import type { LocalNetwork } from '../components/component-base/local-network.ts'
import type { ComponentLife } from './component-life.ts'

/** Settles as the work does; rejects when the component is killed before. */
async function unlessKilled<T>(life: ComponentLife, work: Promise<T>): Promise<T> {
  const cut = Promise.withResolvers<never>()
  const leave = life.onKill(() => cut.reject(new ConnectionCutError()))
  try {
    return await Promise.race([work, cut.promise])
  } finally {
    leave()
  }
}

/** The request with a signal that also aborts when the component is killed, made when it is first asked for. */
class HeldRequest implements HttpRequest {
  readonly #request: HttpRequest
  readonly #life: ComponentLife
  #signal: AbortSignal | undefined
  readonly method: string
  readonly url: string
  readonly headers: HttpRequest['headers']
  readonly remoteAddress: string
  readonly peer: HttpRequest['peer']

  constructor(request: HttpRequest, life: ComponentLife) {
    this.#request = request
    this.#life = life
    this.method = request.method
    this.url = request.url
    this.headers = request.headers
    this.remoteAddress = request.remoteAddress
    this.peer = request.peer
  }

  values(name: string): readonly string[] {
    return this.#request.values(name)
  }

  body(maxBytes: number): Promise<Buffer> {
    return this.#request.body(maxBytes)
  }

  get signal(): AbortSignal {
    return (this.#signal ??= AbortSignal.any([this.#request.signal, this.#life.killed]))
  }
}

function sinkOf(sink: ResponseSink, life: ComponentLife): ResponseSink {
  const signal = AbortSignal.any([sink.signal, life.killed])
  return {
    write: (bytes, onSent) => {
      if (!life.isPaused) return sink.write(bytes, onSent)
      life.run(() => void sink.write(bytes, onSent))
      return true
    },
    drained: () => sink.drained(),
    get buffered() {
      return sink.buffered
    },
    signal,
  }
}

function answerOf(answer: Answer, life: ComponentLife): Answer {
  const { body } = answer
  if (typeof body !== 'function') return answer
  return {
    ...answer,
    body: async (sink) => {
      await unlessKilled(life, body(sinkOf(sink, life)))
      if (life.isPaused) await life.turn()
    },
  }
}

/** Resolves when the component goes on. Whoever advances the clock does not wait for what waits here. */
async function goesOn(life: ComponentLife): Promise<void> {
  const turn = life.turn()
  if (turn === undefined) return
  const goOn = life.stall()
  try {
    await turn
  } finally {
    goOn()
  }
}

/** The handler as the component calls it, or as it serves it. */
function through(handler: RequestHandler, life: ComponentLife): RequestHandler {
  return async (request) => {
    if (life.isKilled) throw new ConnectionCutError()
    if (life.isPaused) await unlessKilled(life, goesOn(life))
    const answer = await unlessKilled(life, handler(new HeldRequest(request, life)))
    if (life.isPaused) await unlessKilled(life, goesOn(life))
    return answerOf(answer, life)
  }
}

export function heldNetwork(network: LocalNetwork, life: ComponentLife): LocalNetwork {
  return {
    ...network,
    serve: (origin, handler) => {
      const end = network.serve(origin, through(handler, life))
      const leave = life.onKill(end)
      return () => {
        leave()
        end()
      }
    },
    find: (origin) => {
      const handler = network.find(origin)
      return handler && through(handler, life)
    },
  }
}
