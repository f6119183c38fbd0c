/** ObjectHistory: what became of one object, revision by revision, and who did it. `skiff history -o json` prints it. */
import type { ChangedField } from '../../components/api/explanations.ts'
import type { RequestCause } from '../../components/api/request-record.ts'

/** Who made a revision, by the request journal. */
export interface RevisionAuthor {
  readonly user: string
  readonly impersonator?: string
  readonly userAgent: string
  /** `update`, or `apply` for a server-side apply. */
  readonly verb: string
  readonly subresource: string
  readonly cause?: RequestCause
  /** The faults of the lab that the request met. */
  readonly fault?: string
}

export interface ObjectRevision {
  readonly resourceVersion: string
  /** `existing`: it is older than the history. */
  readonly type: 'existing' | 'created' | 'changed' | 'deleted'
  /** Undefined where neither the journal nor a field manager says it. */
  readonly time?: string
  readonly managers: readonly string[]
  /** Undefined where the journal does not know the revision. */
  readonly author?: RevisionAuthor
  /** Of a change: fields other than the signs of life that each write leaves. */
  readonly fields: readonly ChangedField[]
}

export interface ObjectHistory {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  /** The oldest revision of the cluster that the history holds. */
  readonly since: string
  /** Why authors and causes are missing, all or some; undefined with the journals of all API servers. */
  readonly noJournal?: string
  /** Oldest first. */
  readonly revisions: readonly ObjectRevision[]
}
