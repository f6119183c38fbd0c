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

/** The request with a signal that also aborts when the component is killed. */
function requestOf(request: HttpRequest, life: ComponentLife): HttpRequest {
  let signal: AbortSignal | undefined
  const both = (): AbortSignal => (signal ??= AbortSignal.any([request.signal, life.killed]))
  return Object.create(request, { signal: { get: both } }) as HttpRequest
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
    const answer = await unlessKilled(life, handler(requestOf(request, life)))
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
