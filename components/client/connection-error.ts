/** ConnectionError: no answer came from the server. Whether the request had any effect is not known. */

export type ConnectionErrorCode =
  /** Nothing listens there. */
  | 'refused'
  /** No such host, or no way to it. */
  | 'unreachable'
  /** TLS failed: the server's certificate is not trusted, or it refused ours. */
  | 'untrusted'
  /** The connection broke, or the answer was cut short. */
  | 'lost'
  | 'timeout'
  /** What came is no answer of an API server. */
  | 'malformed'
  /** This client was closed. */
  | 'closed'

export class ConnectionError extends Error {
  readonly code: ConnectionErrorCode
  constructor(code: ConnectionErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'ConnectionError'
    this.code = code
  }
}
