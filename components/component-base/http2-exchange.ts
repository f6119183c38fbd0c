/** One HTTP/2 request and its answer, on Node's core stream API (the compatibility API costs a third of the gets). */
import { constants } from 'node:http2'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { readBody } from './http-body.ts'
import { headerText, RequestAbortedError } from './http.ts'
import type { Answer, HttpRequest, PeerCertificate, ResponseSink } from './http.ts'

/** A connection, as its requests share it. */
export interface Connection {
  readonly remoteAddress: string
  /** Read from the socket once, when first asked for. */
  readonly peer: PeerCertificate | undefined
  readonly bodyTimeoutMs: number
}

export class Http2Request implements HttpRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly #stream: ServerHttp2Stream
  readonly #rawHeaders: readonly string[]
  readonly #connection: Connection
  #abort: AbortController | undefined
  #gone = false
  /** Set when the whole answer was handed to the stream; the stream's own state cannot tell an end from a reset. */
  isAnswered = false

  /** `rawHeaders` are names and values by turns. */
  constructor(
    stream: ServerHttp2Stream,
    sent: { readonly headers: IncomingHttpHeaders; readonly rawHeaders: readonly string[] },
    connection: Connection,
  ) {
    const { headers, rawHeaders } = sent
    this.method = headers[':method'] ?? 'GET'
    this.url = headers[':path'] ?? '/'
    headers.host ??= headers[':authority']
    this.headers = headers
    this.#stream = stream
    this.#rawHeaders = rawHeaders
    this.#connection = connection
  }

  get remoteAddress(): string {
    return this.#connection.remoteAddress
  }

  get peer(): PeerCertificate | undefined {
    return this.#connection.peer
  }

  /** Made when first asked for: most requests never do. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController()
    if (this.#gone) this.#abort.abort(new RequestAbortedError('the client went away'))
    return this.#abort.signal
  }

  values(name: string): readonly string[] {
    const raw = this.#rawHeaders
    const found: string[] = []
    for (let at = 0; at + 1 < raw.length; at += 2) {
      if (raw[at] === name) found.push(headerText(raw[at + 1] ?? ''))
    }
    return found
  }

  body(maxBytes: number): Promise<Buffer> {
    const stream = this.#stream
    return readBody(stream, {
      maxBytes,
      timeoutMs: this.#connection.bodyTimeoutMs,
      declared: this.headers['content-length'],
      isComplete: () => !stream.aborted && (stream.rstCode ?? 0) === constants.NGHTTP2_NO_ERROR,
    })
  }

  /** Called when the stream has closed; aborts the signal if the answer was not all sent. */
  closed(): void {
    if (this.isAnswered) return
    this.#gone = true
    this.#abort?.abort(new RequestAbortedError('the client went away'))
  }
}

/** Resolves when `stream` can take more; rejects when its peer has gone. */
export function drainOf(
  stream: NodeJS.WritableStream & {
    readonly destroyed: boolean
    readonly writableNeedDrain: boolean
  },
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (stream.destroyed) {
      reject(new RequestAbortedError('the client went away'))
      return
    }
    if (!stream.writableNeedDrain) {
      resolve()
      return
    }
    const settle = (): void => {
      stream.off('drain', onDrain)
      stream.off('close', onClose)
    }
    const onDrain = (): void => {
      settle()
      resolve()
    }
    const onClose = (): void => {
      settle()
      reject(new RequestAbortedError('the client went away'))
    }
    stream.on('drain', onDrain)
    stream.on('close', onClose)
  })
}

function sinkOf(stream: ServerHttp2Stream, request: HttpRequest): ResponseSink {
  return {
    write: (chunk, onSent) =>
      !stream.destroyed && !stream.writableEnded && stream.write(chunk, onSent),
    drained: () => drainOf(stream),
    get buffered() {
      return stream.writableLength
    },
    get signal() {
      return request.signal
    },
  }
}

/** Makes a client that still sends stop sending its body: else the stream would stay open (RFC 9113, 8.1). */
function endUnread(stream: ServerHttp2Stream): void {
  if (!stream.endAfterHeaders && !stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR)
}

/** Sends an answer. A buffer is one response; a function streams. Rejects when the answer cannot be sent or is cut short. */
export async function sendHttp2(
  stream: ServerHttp2Stream,
  request: Http2Request,
  answer: Answer,
): Promise<void> {
  if (stream.destroyed || stream.closed) return
  const { connection, ...others } = answer.headers
  // HTTP/2 has no such header: GOAWAY says it, and open streams go on (RFC 9113, 8.2.2 and 6.8).
  if (connection === 'close') stream.session?.close()
  const { body } = answer
  const headers: Record<string, string | string[] | number> = {
    ':status': answer.status,
    ...others,
  }
  if (typeof body !== 'function') {
    request.isAnswered = true
    const isEmpty = body.length === 0 || request.method === 'HEAD'
    // These two statuses have no body and may not announce one (RFC 9110).
    if (answer.status !== 204 && answer.status !== 304) headers['content-length'] ??= body.length
    stream.respond(headers, isEmpty ? { endStream: true } : undefined)
    if (!isEmpty) stream.end(body)
    endUnread(stream)
    return
  }
  if (request.method === 'HEAD') {
    request.isAnswered = true
    stream.respond(headers, { endStream: true })
    endUnread(stream)
    return
  }
  // Node ends a stream cleanly even when it is reset, so a list cut short would look whole. Held back for trailers, the end
  // is sent only when the body was.
  stream.respond(headers, { waitForTrailers: true })
  stream.on('wantTrailers', () => {
    if (request.isAnswered) stream.sendTrailers({})
    else stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  })
  await body(sinkOf(stream, request))
  request.isAnswered = true
  stream.end()
  endUnread(stream)
}
