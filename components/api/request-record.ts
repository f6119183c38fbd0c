/**
 * RequestRecord: one answered request, as the API server's request journal keeps it and `/explain/requests` streams it. Nothing in it
 * is secret: it has no bodies, no query beyond selectors and dry run, and no credentials. Long texts are cut.
 */

/** Why a component sent a request, as it says itself in the header `Skiff-Cause`. The API server passes it on without believing it. */
export interface RequestCause {
  /** `watch`: it saw a change of an object. `timer`: a time had come. `start`: it had just started. */
  readonly kind: 'watch' | 'timer' | 'start'
  /** `watch`: `pods`, or `deployments.apps`. `timer`: what the time was for, in a word or two. */
  readonly what: string
  /** `watch`: the object, `namespace/name` or `name`, and the resourceVersion that was seen. */
  readonly key?: string
  readonly revision?: string
}

export interface RequestRecord {
  /** Position in the journal of this server; grows by at least one, also when the server restarts. Servers have journals of their own. */
  readonly seq: number
  /** The request's `Audit-ID`. */
  readonly id: string
  /** When it was received, in milliseconds since the epoch by the cluster's clock. */
  readonly atMs: number
  /** Until its answer began, by the same clock. A watch is recorded when it begins. */
  readonly durationMs: number
  readonly user: string
  /** Who impersonated `user`. */
  readonly impersonator?: string
  readonly userAgent: string
  /** As authorizers see it: get, list, watch, create, update, patch, delete, deletecollection; of other paths the method in lower case. */
  readonly verb: string
  /** Empty for non-resource requests, which have a `path` alone. */
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  /** Of a create that succeeded: the name of what it created. */
  readonly name: string
  /** Without the query. */
  readonly path: string
  /** Of a list, a watch or a deletion of a collection. */
  readonly fieldSelector?: string
  readonly labelSelector?: string
  /** Of a list or a watch: what it asked for. */
  readonly limit?: number
  readonly resourceVersion?: string
  /** Of a list: it goes on after another (`continue`). */
  readonly isNextPage?: true
  /** Of a watch: it begins with the present state (`sendInitialEvents`). */
  readonly hasInitialEvents?: true
  /** The patch is a server-side apply. */
  readonly isApply?: boolean
  readonly status: number
  /** Which authenticator accepted the credential; absent for a 401 and for anonymous requests. */
  readonly authenticator?: string
  /** What authorization decided and why, as in audit records; absent when it was not asked. */
  readonly decision?: 'allow' | 'deny'
  readonly reason?: string
  /** The message of a failed answer. */
  readonly message?: string
  /** Of a write that changed something: the resourceVersion it made, the newest if it made several. */
  readonly revision?: string
  /** Of a write that changed several objects, or one several times: each resourceVersion, oldest first, 1,000 at most. */
  readonly revisions?: readonly string[]
  readonly dryRun?: boolean
  /** Of an update: the resourceVersion in its body, empty for one without. */
  readonly sentVersion?: string
  /** Of a create: whether its body names an owner. */
  readonly isOwned?: boolean
  /** It would change the status, which only a request to the sub-resource `status` does. */
  readonly isStatusIgnored?: true
  readonly cause?: RequestCause
  /** The ids of the faults of the lab that it met, with commas between them. */
  readonly fault?: string
}

/** A line of `/explain/requests?follow=true` in the place of records that its reader is not sent. */
export interface MissedRequests {
  /** How many: the reader was too slow. Null: some between `since` and the oldest record that is kept. */
  readonly missed: number | null
}

/** What `/explain/requests` answers without `follow`. */
export interface RequestRecords {
  /** The newest last. */
  readonly items: readonly RequestRecord[]
}

/** A line of `/explain/requests?follow=true`. */
export type JournalLine = RequestRecord | MissedRequests

/** A watch that is open now, as `/explain/watches` lists it. */
export interface OpenWatch {
  readonly id: string
  readonly user: string
  readonly userAgent: string
  readonly group: string
  readonly resource: string
  readonly namespace: string
  readonly fieldSelector?: string
  readonly labelSelector?: string
  /** When it began, in milliseconds since the epoch by the cluster's clock. */
  readonly sinceMs: number
  /** Events sent. */
  readonly events: number
  /** Bytes that wait for the client. */
  readonly waitingBytes: number
  /** Events that wait for the client. */
  readonly behind: number
}

/** What `/explain/watches` answers. */
export interface OpenWatches {
  /** The oldest first. */
  readonly items: readonly OpenWatch[]
}

/** Header of a component's request that names its cause, in the text form of `request-cause.ts`. */
export const causeHeader = 'skiff-cause'

/** Header of answers while the cluster's clock is not real time: the cluster's time, RFC 3339 with milliseconds. */
export const timeHeader = 'skiff-time'
