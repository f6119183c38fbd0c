/** One HTTP/1.1 request and its answer, in the same shape as those of HTTP/2. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { readBody } from './http-body.ts'
import { headerText, RequestAbortedError } from './http.ts'
import type { Answer, HttpRequest, PeerCertificate, ResponseSink } from './http.ts'
import { drainOf } from './http2-exchange.ts'
import { STATUS_CODES } from './node-http.ts'
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

  values(name: string): readonly string[] {
    return this.#message.headersDistinct[name]?.map(headerText) ?? []
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
    write: (chunk, onSent) =>
      !response.destroyed && !response.writableEnded && response.write(chunk, onSent),
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

const faultStatus: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** A client may send for this long after its answer, and the server drops it; then the connection is cut off. */
const lingerMs = 1000

/**
 * Answers what could not be read as a request, and ends the connection once the client has had the chance to read that: an end
 * that leaves bytes unread would overtake the answer.
 */
export function answerUnreadable(socket: Duplex, { code = '' }: NodeJS.ErrnoException): void {
  if (!socket.writable || code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const status = faultStatus[code] ?? 400
  const phrase = `${status} ${STATUS_CODES[status]}`
  socket.end(
    `HTTP/1.1 ${phrase}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${phrase}`,
  )
  const cutOff = setTimeout(() => socket.destroy(), lingerMs)
  socket.on('close', () => clearTimeout(cutOff))
}
