/** The transport's view of requests and answers: one shape for HTTP/1.1 and HTTP/2, shared by every listener of ours. */

/** A client certificate as the TLS layer received it; one value per connection, so it can key a cache. */
export interface PeerCertificate {
  readonly der: Buffer
  /** DER of the chain the client sent after its own certificate. */
  readonly intermediates: readonly Buffer[]
}

/** The transport's view of a request: the same for HTTP/1.1 and HTTP/2. Header names are lower case. */
export interface HttpRequest {
  readonly method: string
  /** The raw target: path and query as sent. */
  readonly url: string
  /** `host` is set for HTTP/2 too; pseudo headers (`:path` and the like) may be present and should be ignored. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly remoteAddress: string
  /** The verified or unverified peer certificate in DER, when the client sent one. */
  readonly peer: PeerCertificate | undefined
  /** Reads the whole body; rejects with BodyTooLargeError past `maxBytes`, RequestAbortedError when it cannot come. */
  body(maxBytes: number): Promise<Buffer>
  /** Aborts when the client has gone or the server gives the request up. */
  readonly signal: AbortSignal
}

/** Where a streamed answer goes. */
export interface ResponseSink {
  /** False when the peer is slow: wait for `drained()` before writing much more. */
  write(chunk: Buffer): boolean
  /** Resolves when the peer has caught up; rejects when it has gone. */
  drained(): Promise<void>
  /** Bytes accepted but not yet taken by the peer. */
  readonly buffered: number
  readonly signal: AbortSignal
}

/** A handler's result. A function body streams; the response ends when its promise settles, cut short if it rejects. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: Buffer | ((sink: ResponseSink) => Promise<void>)
}

/** The request's body is longer than its reader takes: 413. */
export class BodyTooLargeError extends Error {
  readonly maxBytes: number
  constructor(maxBytes: number) {
    super(`the request body is larger than ${maxBytes} bytes`)
    this.name = 'BodyTooLargeError'
    this.maxBytes = maxBytes
  }
}

/** The client has gone, sends too slowly, or the server shuts down: nobody reads an answer. */
export class RequestAbortedError extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'RequestAbortedError'
  }
}
