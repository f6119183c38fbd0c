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
  /** Each value of a header as it was sent, in order: in `headers` repeats are one text that a comma inside a value looks like. */
  values(name: string): readonly string[]
  readonly remoteAddress: string
  /** The verified or unverified peer certificate in DER, when the client sent one. */
  readonly peer: PeerCertificate | undefined
  /** Reads the whole body; rejects with BodyTooLargeError past `maxBytes`, RequestAbortedError when it cannot come. */
  body(maxBytes: number): Promise<Buffer>
  /** Aborts when the client has gone or the server gives the request up. */
  readonly signal: AbortSignal
}

/** A header's value with its bytes read as UTF-8; Node reads them as Latin-1. */
export function headerText(value: string): string {
  // oxlint-disable-next-line no-control-regex -- all of ASCII
  return /^[\u0000-\u007f]*$/.test(value) ? value : Buffer.from(value, 'latin1').toString('utf8')
}

/**
 * What headers with this prefix say, by the rest of their names: percent-decoded, where that leaves text. The prefix in lower
 * case.
 */
export function prefixedHeaders(
  request: Pick<HttpRequest, 'headers' | 'values'>,
  prefix: string,
): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const name of Object.keys(request.headers)) {
    if (!name.startsWith(prefix)) continue
    let key = name.slice(prefix.length)
    try {
      key = decodeURIComponent(key)
    } catch {
      // Upstream takes a key that is not percent-encoded as it stands.
    }
    found.set(key, [...(found.get(key) ?? []), ...request.values(name)])
  }
  return found
}

/** Where a streamed answer goes. */
export interface ResponseSink {
  /**
   * False when the peer is slow: wait for `drained()` before writing much more. `onSent` is called later, when the chunk has been
   * sent, or has failed to be, and may be written to again; a sink that keeps chunks or sends messages never calls it.
   */
  write(chunk: Buffer, onSent?: () => void): boolean
  /** Resolves when the peer has caught up; rejects when it has gone. */
  drained(): Promise<void>
  /** Bytes accepted but not yet taken by the peer. */
  readonly buffered: number
  readonly signal: AbortSignal
}

/**
 * A handler's result. A function body streams; the response ends when its promise settles, cut short if it rejects. The header
 * `connection: close` ends the connection once all its requests are answered, and tells the client to open another one.
 */
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

/** The client has gone, sends too slowly, or the server shuts down: no answer would be read. */
export class RequestAbortedError extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'RequestAbortedError'
  }
}

/** A fault of the lab ends the exchange: the client gets no further byte, and no answer if it has none. */
export class ConnectionCutError extends RequestAbortedError {
  constructor() {
    super('a fault cut the connection')
    this.name = 'ConnectionCutError'
  }
}
