/**
 * ConnectionError: no answer came from the server. Whether the request had any effect is not known, and a read does not settle
 * it: a server that lives goes on with a request whose client has given up, and may commit it after the read. A read is final
 * only when the process that received the request has ended. No write is sent again after it, as in client-go (rest/request.go);
 * but for `unprocessed`, which Go's transport sends again too.
 */

export type ConnectionErrorCode =
  /** Nothing listens there. */
  | 'refused'
  /** No such host, or no way to it. */
  | 'unreachable'
  /** TLS failed: the server's certificate is not trusted, or it refused ours. */
  | 'untrusted'
  /** The connection broke, or the answer was cut short. */
  | 'lost'
  /** The server has not looked at the request: it may be sent again (RFC 9113, 8.7). */
  | 'unprocessed'
  | 'timeout'
  /** The answer is not one of an API server. */
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
