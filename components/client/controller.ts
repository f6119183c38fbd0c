/** Controller: informers -> keys -> work queue -> reconciler. Level based: a reconciler gets a key, never an event. */

/** What a reconciler wants next. Returning nothing means done; throwing retries with back-off, TerminalError does not. */
export interface Result {
  /** Look at the key again after this time even if nothing changes. */
  readonly requeueAfterMs?: number
}

export type Reconciler = (key: string, signal: AbortSignal) => Promise<Result | void>

/** An error that retrying cannot mend. It is logged and the key is forgotten until it changes. */
export class TerminalError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'TerminalError'
  }
}
