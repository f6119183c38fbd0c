/** write: what the generic verbs are asked for and answer. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { RequestContext, UserInfo } from './request.ts'
import type { Entry } from '../watch-cache/entry.ts'

/**
 * What every write says. `resource` is the request's; objects are in its storage form from here on, those of custom kinds in the
 * request's version until they are stored.
 */
export interface WriteTarget {
  readonly resource: Resource
  readonly namespace: string
  readonly user: UserInfo
  readonly dryRun: boolean
  /** Who owns the fields that this changes; absent when the owners are on the object already, as after an apply. */
  readonly manager?: string
  /** Texts for `Warning` headers, appended to. */
  readonly warnings: string[]
  /** The client's request, for admission webhooks and the audit record; absent for the server's own writes. */
  readonly context?: Pick<RequestContext, 'info' | 'annotations' | 'isLarge'>
  /** Admission has seen what this is a part of (an eviction, a binding) and is not asked again. */
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
  /** What to create when there is nothing to update; absent: 404. */
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

/** The outcome of a write. `entry` is the state it made; for a dry run one that was never stored. */
export interface Written {
  readonly entry: Entry
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'terminating' | 'removed'
}
