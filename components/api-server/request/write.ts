/** write: parameters and results of the generic verbs. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { RequestContext, UserInfo } from './request.ts'
import type { Entry } from '../watch-cache/entry.ts'

/**
 * Parameters of every write. `resource` is the request's. Objects have its storage form; those of custom kinds have the
 * request's version until they are stored.
 */
export interface WriteTarget {
  readonly resource: Resource
  readonly namespace: string
  readonly user: UserInfo
  readonly dryRun: boolean
  /** The field manager of the changes; absent when the object has its managed fields already, as after an apply. */
  readonly manager?: string
  /** Texts for `Warning` headers, appended to. */
  readonly warnings: string[]
  /** The client's request, for admission webhooks and what is recorded of it; absent for the server's own writes. */
  readonly context?: Pick<
    RequestContext,
    'info' | 'annotations' | 'isLarge' | 'made' | 'isDryRun' | 'isStatusIgnored'
  >
  /** Skips admission, which has run for the request that this is part of (an eviction, a binding). */
  readonly isAdmitted?: true
}

export interface CreateRequest extends WriteTarget {
  /** A draft; the registry owns it. */
  readonly object: KubeObject
  /** From the URL, for create-on-update; else the object's own name counts. */
  readonly name?: string
}

export interface UpdateRequest extends WriteTarget {
  readonly name: string
  /** '' for the object itself. */
  readonly subresource: string
  /** Makes the new state of the stored one, as a draft. Called again after a lost race, with the newer state. */
  change(old: KubeObject, entry: Entry): KubeObject | Promise<KubeObject>
  /** Makes the object to create when it does not exist; absent: 404. */
  readonly createInstead?: () => Promise<KubeObject>
}

export interface Preconditions {
  readonly uid?: string
  readonly resourceVersion?: string
}

export interface DeleteRequest extends WriteTarget {
  readonly name: string
  readonly gracePeriodSeconds: number | undefined
  readonly preconditions: Preconditions
  readonly propagation: 'Orphan' | 'Background' | 'Foreground' | undefined
}

/** The outcome of a write. `entry` is the new state; that of a dry run is not stored. */
export interface Written {
  readonly entry: Entry
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'terminating' | 'removed'
}
