/** faulted-answer: an answer that is sent slowly, or ends in its middle. */
import type { Clock } from '../../component-base/clock.ts'
import {
  ConnectionCutError,
  RequestAbortedError,
  type Answer,
  type ResponseSink,
} from '../../component-base/http.ts'
import { SlowSink } from './slow-sink.ts'

type Streamed = Exclude<Answer['body'], Buffer>

/** The answer with a body that streams, and the length that it announces still. */
function streamed(answer: Answer): Answer & { readonly body: Streamed } {
  const { headers, body } = answer
  if (!Buffer.isBuffer(body)) return { ...answer, body }
  return {
    ...answer,
    headers: { 'content-length': String(body.length), ...headers },
    body: async (sink) => {
      if (body.length > 0 && !sink.write(body)) await sink.drained()
    },
  }
}

export function slowed(
  answer: Answer,
  bytesPerSecond: number,
  clock: Pick<Clock, 'sleep'>,
): Answer {
  const { body, ...rest } = streamed(answer)
  const isMessages = answer.status === 101
  return {
    ...rest,
    body: async (sink) => {
      const slow = new SlowSink(sink, { bytesPerSecond, clock, isMessages })
      await body(slow)
      await slow.drained()
    },
  }
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = (): void => reject(new RequestAbortedError('the answer has ended'))
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}

interface HalfSink extends ResponseSink {
  /** Something has been written. */
  readonly hasBegun: boolean
}

/** Sends the first half of what is written first, and nothing else; `sent` is called then. */
function halfSink(
  sink: ResponseSink,
  { signal, isMessages, sent }: { signal: AbortSignal; isMessages: boolean; sent: () => void },
): HalfSink {
  let hasBegun = false
  return {
    signal,
    get hasBegun() {
      return hasBegun
    },
    get buffered() {
      return sink.buffered
    },
    write: (bytes) => {
      if (hasBegun) return false
      hasBegun = true
      // The writer may use its bytes again.
      sink.write(Buffer.from(bytes.subarray(0, Math.ceil(bytes.length / 2))), sent)
      // Over a WebSocket nothing says that a message has been sent.
      if (isMessages) sent()
      return false
    },
    drained: () => rejectionOf(signal),
  }
}

/** Half of the first piece of its body is sent, then its connection is cut. */
export function cutShort(answer: Answer): Answer {
  const { body, ...rest } = streamed(answer)
  const isMessages = answer.status === 101
  return {
    ...rest,
    body: async (sink) => {
      const ending = new AbortController()
      const signal = AbortSignal.any([sink.signal, ending.signal])
      const { promise: isSent, resolve: sent } = Promise.withResolvers<void>()
      try {
        const half = halfSink(sink, { signal, isMessages, sent })
        // A body that ends without a byte is cut there; one that has written waits for what it wrote.
        const ended = body(half).then(() => (half.hasBegun ? rejectionOf(signal) : undefined))
        await Promise.race([isSent, ended])
      } finally {
        ending.abort()
      }
      throw new ConnectionCutError()
    },
  }
}
