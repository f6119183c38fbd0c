/** Operation: what one client asked of one object, and what it was answered. Times are milliseconds of one clock. */

export type Request =
  | { readonly verb: 'create'; readonly value: string }
  | {
      readonly verb: 'update' | 'patch'
      readonly value: string
      /** The resourceVersion that the object must have. */
      readonly expected?: number
    }
  | { readonly verb: 'delete'; readonly expected?: number }
  /** `isCached`: a read at resourceVersion=0, which may be of any age. */
  | { readonly verb: 'get'; readonly isCached?: boolean }

export type Outcome =
  /** An error, a cut connection or no answer in time: a write may have happened, or may happen yet. */
  | { readonly result: 'unknown' }
  | { readonly result: 'written'; readonly revision: number }
  | { readonly result: 'deleted' }
  | { readonly result: 'found'; readonly revision: number; readonly value: string }
  | { readonly result: 'absent' }
  /** The name is taken. */
  | { readonly result: 'exists' }
  /** The object has another resourceVersion. */
  | { readonly result: 'conflict' }
  /** The server refused the request before it looked at the object. */
  | { readonly result: 'refused' }

export interface Operation {
  readonly id: number
  readonly client: string
  /** The server's process: another one after each restart. */
  readonly server: string
  readonly key: string
  readonly request: Request
  readonly callMs: number
  /** When the client gave up, if the outcome is unknown. */
  readonly returnMs: number
  readonly outcome: Outcome
}

/** A list of all keys. */
export interface ListOperation {
  readonly client: string
  readonly server: string
  readonly isCached: boolean
  /** The revision that was asked for exactly. */
  readonly exactly?: number
  readonly callMs: number
  readonly returnMs: number
  readonly revision: number
  readonly items: readonly {
    readonly key: string
    readonly revision: number
    readonly value: string
  }[]
}

export function isWrite({ request }: Operation): boolean {
  return request.verb !== 'get'
}

export function describeOperation(operation: Operation): string {
  const { id, client, server, key, request, callMs, returnMs, outcome } = operation
  const times = `${callMs.toFixed(1)}-${returnMs.toFixed(1)} ms`
  return `#${id} ${client} on ${server}, ${times}: ${key} ${JSON.stringify(request)} -> ${JSON.stringify(outcome)}`
}
