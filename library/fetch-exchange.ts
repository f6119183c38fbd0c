/** Requests and responses of the fetch standard, over those of our listeners. */
import { RequestAbortedError } from '../components/component-base/http.ts'
import type { Answer, ResponseSink } from '../components/component-base/http.ts'
import { handlerHost } from './handler-server.ts'
import type { HandlerCall } from './handler-server.ts'

/** The call as a Request with its whole body. Its signal aborts when the client leaves or the server stops. */
export async function requestOf({ request, body, stopping }: HandlerCall): Promise<Request> {
  const headers = new Headers()
  for (const [name, value = []] of Object.entries(request.headers)) {
    // Pseudo headers of HTTP/2 are no headers of a Request.
    if (!name.startsWith(':')) for (const one of [value].flat()) headers.append(name, one)
  }
  const {
    method,
    headers: { host = handlerHost },
  } = request
  const bytes = await body()
  const hasBody = bytes.length > 0 && method !== 'GET' && method !== 'HEAD'
  return new Request(`https://${String(host)}${request.url}`, {
    method,
    headers,
    signal: AbortSignal.any([request.signal, stopping]),
    ...(hasBody ? { body: new Uint8Array(bytes) } : {}),
  })
}

/** By its tag: test runners have globals of their own, so that `instanceof` does not tell. */
export const isResponse = (value: unknown): value is Response =>
  Object.prototype.toString.call(value) === '[object Response]'

/** Sends the chunks until the stream or `over` ends it; then the stream is cancelled. */
async function send(
  stream: ReadableStream<Uint8Array>,
  sink: ResponseSink,
  over: AbortSignal,
): Promise<void> {
  const reader = stream.getReader()
  const cancel = (): void => void reader.cancel(over.reason).catch(() => {})
  over.addEventListener('abort', cancel, { once: true })
  if (over.aborted) cancel()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      if (!sink.write(Buffer.from(value))) await sink.drained()
    }
  } finally {
    over.removeEventListener('abort', cancel)
  }
}

/** The response as an answer to the call. What its stream throws goes to `failed`, and cuts the answer short. */
export function answerOf(response: Response, { request, stopping, failed }: HandlerCall): Answer {
  const { status, body } = response
  const cookies = response.headers.getSetCookie()
  const headers = {
    ...Object.fromEntries(response.headers),
    ...(cookies.length === 0 ? {} : { 'set-cookie': cookies }),
  }
  if (body === null) return { status, headers, body: Buffer.alloc(0) }
  const over = AbortSignal.any([request.signal, stopping])
  const stream = async (sink: ResponseSink): Promise<void> => {
    try {
      await send(body, sink, over)
    } catch (error) {
      if (!over.aborted) failed(error)
      throw new RequestAbortedError('the response of the handler broke off')
    }
  }
  return { status, headers, body: stream }
}
