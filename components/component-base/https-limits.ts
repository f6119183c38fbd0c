/** Limits of a listener for its clients: times, sizes and numbers, each with its default. */
export interface HttpsServerLimits {
  /** A TLS handshake, an HTTP/1.1 head or an HTTP/2 preface that takes longer ends the connection; default 30 s. */
  readonly headersTimeoutMs: number
  /** A request body that takes longer is given up; default 60 s. */
  readonly bodyTimeoutMs: number
  /** A connection without any request for this long is closed; default 90 s, as upstream. */
  readonly idleTimeoutMs: number
  /** Total size of a request's headers; default 64 KiB. */
  readonly maxHeaderBytes: number
  /** Requests at once on one HTTP/2 connection; default 1000, as upstream. */
  readonly maxConcurrentStreams: number
  /** How long shutdown waits for requests in flight; default 10 s. */
  readonly drainMs: number
}

export const defaultLimits: HttpsServerLimits = {
  headersTimeoutMs: 30_000,
  bodyTimeoutMs: 60_000,
  idleTimeoutMs: 90_000,
  maxHeaderBytes: 65_536,
  maxConcurrentStreams: 1000,
  drainMs: 10_000,
}
