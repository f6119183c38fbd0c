/** One HTTP/1.1 request and its answer, in the same shape as those of HTTP/2. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { readBody } from './http-body.ts'
import { RequestAbortedError } from './http.ts'
import type { Answer, HttpRequest, PeerCertificate, ResponseSink } from './http.ts'
import { drainOf } from './http2-exchange.ts'
import type { Connection } from './http2-exchange.ts'

export class Http1Request implements HttpRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly #message: IncomingMessage
  readonly #connection: Connection
  #abort: AbortController | undefined
  #gone = false

  constructor(message: IncomingMessage, connection: Connection) {
    this.method = message.method ?? 'GET'
    this.url = message.url ?? '/'
    this.headers = message.headers
    this.#message = message
    this.#connection = connection
  }

  get remoteAddress(): string {
    return this.#connection.remoteAddress
  }

  get peer(): PeerCertificate | undefined {
    return this.#connection.peer
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController()
    if (this.#gone) this.#abort.abort(new RequestAbortedError('the client went away'))
    return this.#abort.signal
  }

  body(maxBytes: number): Promise<Buffer> {
    const message = this.#message
    return readBody(message, {
      maxBytes,
      timeoutMs: this.#connection.bodyTimeoutMs,
      declared: this.headers['content-length'],
      isComplete: () => message.complete,
    })
  }

  /** Called when the connection closes before the answer was all sent. */
  closed(): void {
    this.#gone = true
    this.#abort?.abort(new RequestAbortedError('the client went away'))
  }
}

function sinkOf(response: ServerResponse, request: HttpRequest): ResponseSink {
  return {
    write: (chunk) => !response.destroyed && !response.writableEnded && response.write(chunk),
    drained: () => drainOf(response),
    get buffered() {
      return response.writableLength
    },
    get signal() {
      return request.signal
    },
  }
}

/** Sends an answer, as sendHttp2 does. A request body left unread closes the connection after the answer. */
export async function sendHttp1(
  message: IncomingMessage,
  response: ServerResponse,
  request: Http1Request,
  answer: Answer,
): Promise<void> {
  if (response.destroyed) return
  const { body } = answer
  if (!message.complete && Number(message.headers['content-length'] ?? 1) > 0)
    response.shouldKeepAlive = message.method === 'GET' && response.shouldKeepAlive
  if (typeof body !== 'function') {
    response.writeHead(answer.status, { 'content-length': body.length, ...answer.headers })
    response.end(body)
    return
  }
  response.writeHead(answer.status, answer.headers)
  response.flushHeaders()
  await body(sinkOf(response, request))
  response.end()
}

/** Answers an upgrade request with a plain response and closes its connection. */
export function refuseUpgrade(socket: Duplex, answer: Answer): void {
  const body = Buffer.isBuffer(answer.body) ? answer.body : Buffer.alloc(0)
  const headers = { 'content-length': String(body.length), ...answer.headers, connection: 'close' }
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((item) => `${name}: ${item}\r\n`),
  )
  const reason = STATUS_CODES[answer.status] ?? ''
  socket.write(`HTTP/1.1 ${answer.status} ${reason}\r\n${lines.join('')}\r\n`)
  socket.end(body)
}
