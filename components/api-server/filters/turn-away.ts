/**
 * turn-away: while the server ends, new requests get 429 and the ones in flight are counted until they are answered (upstream:
 * filters/with_retry_after.go, waitgroup.go; --shutdown-send-retry-after).
 */
import type { Answer } from '../../component-base/http.ts'
import { answerText } from '../codec/respond.ts'
import { isLongRunning } from '../request/long-running.ts'
import type { Filter, RequestContext } from '../request/request.ts'

const retryAfterSeconds = 5
const message = 'The apiserver is shutting down, please try again later.\n'
/** Of those that see whether the server may be used. */
const healthPaths = ['/healthz', '/livez', '/readyz']

/** The requests of a server that ends, apart from those that last as long as their client wants. */
export class InFlight {
  #isTurningAway = false
  #count = 0
  #onEmpty: (() => void) | undefined

  /** From now on new requests are turned away. Resolves when those in flight are answered. */
  async drain(): Promise<void> {
    this.#isTurningAway = true
    if (this.#count === 0) return
    await new Promise<void>((resolve) => (this.#onEmpty = resolve))
  }

  #begin(): () => void {
    this.#count += 1
    let hasEnded = false
    return () => {
      if (hasEnded) return
      hasEnded = true
      this.#count -= 1
      if (this.#count === 0) this.#onEmpty?.()
    }
  }

  readonly filter: Filter = async (context, next) => {
    if (isExempt(context)) return await next(context)
    if (this.#isTurningAway) return turnedAway()
    if (isLongRunning(context)) return await next(context)
    const end = this.#begin()
    let isStreaming = false
    try {
      const answer = await next(context)
      const { body } = answer
      if (Buffer.isBuffer(body) || context.http.method === 'HEAD') return answer
      isStreaming = true
      // The body of a client that is gone never runs.
      const { signal } = context.http
      if (signal.aborted) end()
      else signal.addEventListener('abort', end, { once: true })
      return { ...answer, body: (sink) => body(sink).finally(end) }
    } finally {
      if (!isStreaming) end()
    }
  }
}

function isExempt({ info }: RequestContext): boolean {
  return healthPaths.some((path) => info.path === path || info.path.startsWith(`${path}/`))
}

function turnedAway(): Answer {
  const answer = answerText(429, message)
  return {
    ...answer,
    headers: { ...answer.headers, 'retry-after': String(retryAfterSeconds), connection: 'close' },
  }
}
