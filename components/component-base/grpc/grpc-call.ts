/** GrpcCall: one call on a connection, with messages both ways until it ends with a status. */
import { constants } from 'node:http2'
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2'
import type { Clock } from '../clock.ts'
import { grpcCode, GrpcError } from './grpc-error.ts'
import { decodedText, framed, grpcContentType, MessageReader } from './grpc-messages.ts'

export interface GrpcCallOptions {
  /** Sent as headers; names are in lower case. */
  readonly metadata?: Readonly<Record<string, string>>
  /**
   * The call ends with DEADLINE_EXCEEDED after this time by the client's clock. The server sees the call cancelled; it gets
   * no `grpc-timeout`, since its clock may be another one.
   */
  readonly deadlineMs?: number
  /** Cancels the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

export interface GrpcStreamOptions extends GrpcCallOptions {
  /**
   * Gets each message of the server, in order, as a view of the received bytes. While a promise that it returned is
   * pending, no more is read; a promise that rejects, or an exception, cancels the call, which rejects with that error.
   */
  readonly onMessage: (message: Buffer) => void | Promise<void>
}

export interface GrpcStream {
  /** Resolves when the connection takes more, or the call has ended. The bytes must not change meanwhile. */
  send(message: Buffer): Promise<void>
  /** The client sends nothing after this message. */
  end(message?: Buffer): void
  /** Resolves when the server ends the call with OK and all its messages are handed out; rejects with a GrpcError otherwise. */
  readonly ended: Promise<void>
}

interface CallSettings extends GrpcStreamOptions {
  readonly method: string
  readonly clock: Clock
  readonly mostReceivedBytes: number
  readonly mostSentBytes: number
  /** Called once, when the call is over. */
  readonly onOver: (call: GrpcCall) => void
}

/** The gRPC code for the HTTP status of an answer that is not gRPC (gRPC: doc/http-grpc-status-mapping.md). */
function codeOfHttpStatus(status: number): number {
  if (status === 400) return grpcCode.internal
  if (status === 401) return grpcCode.unauthenticated
  if (status === 403) return grpcCode.permissionDenied
  if (status === 404) return grpcCode.unimplemented
  return [429, 502, 503, 504].includes(status) ? grpcCode.unavailable : grpcCode.unknown
}

/** What a reset of the stream means (gRPC: doc/PROTOCOL-HTTP2.md, Errors). */
function resetError(code: number): GrpcError {
  const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM, NGHTTP2_ENHANCE_YOUR_CALM } = constants
  const what = `the server reset the call (HTTP/2 error ${code})`
  if (code === NGHTTP2_REFUSED_STREAM) {
    return new GrpcError(grpcCode.unavailable, what, { isUnsent: true })
  }
  if (code === NGHTTP2_CANCEL) return new GrpcError(grpcCode.cancelled, what)
  if (code === NGHTTP2_ENHANCE_YOUR_CALM) return new GrpcError(grpcCode.resourceExhausted, what)
  if (code === constants.NGHTTP2_INADEQUATE_SECURITY) {
    return new GrpcError(grpcCode.permissionDenied, what)
  }
  return new GrpcError(grpcCode.internal, what)
}

export class GrpcCall implements GrpcStream {
  readonly ended: Promise<void>
  readonly #settings: CallSettings
  readonly #session: ClientHttp2Session
  readonly #stream: ClientHttp2Stream
  readonly #reader: MessageReader
  readonly #outcome = Promise.withResolvers<void>()
  readonly #stopTimer: (() => void) | undefined
  readonly #cancel = (): void => this.fail(this.#settings.signal?.reason)
  #isOver = false
  #isWaiting = false
  /** Of the server, from its headers or its trailers. */
  #status: GrpcError | 'ok' | undefined

  /** Throws when the session takes no more calls. */
  constructor(session: ClientHttp2Session, settings: CallSettings) {
    this.#settings = settings
    this.#session = session
    const { method, metadata, deadlineMs, signal, clock, mostReceivedBytes } = settings
    this.#reader = new MessageReader({
      mostBytes: mostReceivedBytes,
      compressedCode: grpcCode.internal,
    })
    this.ended = this.#outcome.promise
    this.#stream = session.request({
      ...metadata,
      ':method': 'POST',
      ':path': method,
      'content-type': grpcContentType,
      te: 'trailers',
    })
    this.#listen()
    signal?.addEventListener('abort', this.#cancel, { once: true })
    if (deadlineMs !== undefined) {
      this.#stopTimer = clock.after(deadlineMs, () =>
        this.fail(
          new GrpcError(
            grpcCode.deadlineExceeded,
            `${method} got no answer within ${deadlineMs} ms`,
          ),
        ),
      )
    }
  }

  async send(message: Buffer): Promise<void> {
    if (this.#isOver || !this.#isSendable(message)) return
    const stream = this.#stream
    if (stream.write(framed(message))) return
    await new Promise<void>((resolve) => {
      const done = (): void => {
        stream.off('drain', done).off('close', done)
        resolve()
      }
      stream.on('drain', done).on('close', done)
    })
  }

  end(message?: Buffer): void {
    if (this.#isOver) return
    if (message === undefined) this.#stream.end()
    else if (this.#isSendable(message)) this.#stream.end(framed(message))
  }

  /** Ends the call from this side, unless it has ended. */
  fail(error: unknown): void {
    if (this.#isOver) return
    this.#over()
    this.#stream.close(constants.NGHTTP2_CANCEL)
    this.#outcome.reject(error)
  }

  /** As `fail`, when the connection is gone. */
  lose(error: GrpcError): void {
    const isUnsent = error.isUnsent || this.#stream.id === undefined
    this.fail(new GrpcError(error.code, error.message, { isUnsent, cause: error.cause }))
  }

  #isSendable(message: Buffer): boolean {
    const { mostSentBytes } = this.#settings
    if (message.length <= mostSentBytes) return true
    const what = `the message has ${message.length} bytes, more than the ${mostSentBytes} that are sent`
    this.fail(new GrpcError(grpcCode.resourceExhausted, what, { isUnsent: true }))
    return false
  }

  #listen(): void {
    const stream = this.#stream
    stream.on('response', (headers) => this.#noteHeaders(headers))
    stream.on('trailers', (headers: IncomingHttpHeaders) => this.#noteStatus(headers))
    stream.on('data', (chunk: Buffer) => {
      if (this.#isOver) return
      this.#reader.push(chunk)
      this.#handOut()
    })
    stream.on('end', () => this.#finish())
    // 'close' follows, and says more.
    stream.on('error', () => {})
    stream.on('close', () => {
      // The client ends the calls of a connection that is gone, and knows why it is.
      if (this.#session.destroyed || this.#isOver) return
      this.fail(resetError(stream.rstCode ?? constants.NGHTTP2_NO_ERROR))
    })
  }

  #noteHeaders(headers: IncomingHttpHeaders): void {
    const status = Number(headers[':status'])
    const type = headers['content-type'] ?? ''
    this.#noteStatus(headers)
    if (this.#status !== undefined || (status === 200 && type.startsWith('application/grpc')))
      return
    const what =
      status === 200 ? `with content type "${type}", not gRPC` : `with HTTP status ${status}`
    this.fail(new GrpcError(codeOfHttpStatus(status), `the server answered ${what}`))
  }

  #noteStatus(headers: IncomingHttpHeaders): void {
    const status = headers['grpc-status']
    if (status === undefined) return
    const code = Number(status)
    const message = decodedText(String(headers['grpc-message'] ?? ''))
    if (code === grpcCode.ok) this.#status = 'ok'
    else this.#status = new GrpcError(Number.isInteger(code) ? code : grpcCode.unknown, message)
  }

  /** Hands out whole messages, until one is waited for. */
  #handOut(): void {
    try {
      while (!this.#isWaiting && !this.#isOver) {
        const message = this.#reader.next()
        if (message === undefined) return
        const handled = this.#settings.onMessage(message)
        if (handled !== undefined) this.#waitFor(handled)
      }
    } catch (error) {
      this.fail(error)
    }
  }

  #waitFor(handled: Promise<void>): void {
    this.#isWaiting = true
    this.#stream.pause()
    handled.then(
      () => {
        this.#isWaiting = false
        this.#handOut()
        if (!this.#isWaiting) this.#stream.resume()
      },
      (error: unknown) => this.fail(error),
    )
  }

  #finish(): void {
    // A reset ends the stream, too; 'close' says which.
    if (this.#isOver || (this.#status === undefined && this.#stream.rstCode !== 0)) return
    if (this.#session.destroyed) return
    const status = this.#status
    if (status === undefined) {
      this.fail(new GrpcError(grpcCode.internal, 'the server ended the call without a status'))
    } else if (status !== 'ok') {
      this.fail(status)
    } else if (this.#reader.isWithinMessage) {
      this.fail(new GrpcError(grpcCode.internal, 'the server ended the call within a message'))
    } else {
      this.#over()
      this.#stream.close()
      this.#outcome.resolve()
    }
  }

  #over(): void {
    this.#isOver = true
    this.#stopTimer?.()
    this.#settings.signal?.removeEventListener('abort', this.#cancel)
    this.#settings.onOver(this)
  }
}
