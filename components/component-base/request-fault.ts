/** RequestFault: a fault of the API server's answers, in the JSON form that the command `faults` takes. */

/** Which requests. A field that is missing matches all; of a list one entry has to match. Names take `*` for any text. */
export interface RequestMatch {
  readonly users?: readonly string[]
  readonly groups?: readonly string[]
  /** As in RBAC: get, list, watch, create, update, patch, delete, deletecollection; `write` stands for the last five. */
  readonly verbs?: readonly string[]
  /** `pods`, `deployments.apps`, `pods/status`, `*.example.com`. */
  readonly resources?: readonly string[]
  readonly namespaces?: readonly string[]
  /** Names of objects. */
  readonly names?: readonly string[]
  /** The User-Agent header. */
  readonly userAgents?: readonly string[]
}

/** What happens to a request that matches; exactly one field. */
export interface RequestAction {
  /** It gets a Status of this code without being handled. */
  readonly status?: {
    readonly code: 409 | 410 | 429 | 500 | 503 | 504
    readonly retryAfterSeconds?: number
  }
  /** It is handled this much later. */
  readonly delayMs?: number
  /**
   * Its connection (of HTTP/2: its stream) ends: before anything is done, in the middle of the answer, or after the work was done and before
   * the answer.
   */
  readonly cut?: 'before' | 'during' | 'after'
  /** Lists and gets show the state of this long ago, as a server whose cache lags. 410 where history does not reach as far. */
  readonly staleMs?: number
  /** Watches only. `drop`: it gets no further events, and stays open. `expire`: it ends with 410. */
  readonly watch?:
    | { readonly events: 'drop' | 'expire' | 'end' | 'repeat' }
    | { readonly delayMs: number }
    | { readonly bookmarks: 'withhold' }
  /** The answer is written this slowly. */
  readonly bytesPerSecond?: number
}

export interface RequestFault {
  readonly id: string
  readonly match: RequestMatch
  readonly action: RequestAction
  /** It fires this often at most; undefined: until it is taken away. */
  readonly times?: number
  /** The part of matching requests that it fires for, chosen by the seed; default all. */
  readonly chance?: number
  readonly seed?: number
}

/** A fault of the store under the API server. */
export interface StoreFault {
  readonly id: string
  readonly action: { readonly full: true } | { readonly delayMs: number } | { readonly fail: true }
  readonly times?: number
  readonly chance?: number
  readonly seed?: number
}

/** Parameters of the command `faults`: all that the API server has to obey from now on. Its result is a FaultCounts. */
export interface ObeyedFaults {
  readonly requests: readonly RequestFault[]
  readonly store: readonly StoreFault[]
}

/** How often each fault has fired, by its id; the result of `faults` and of `fault-counts`. */
export type FaultCounts = Readonly<Record<string, number>>
