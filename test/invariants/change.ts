/** Change: one step of a cluster's history, as watches tell it, and what an invariant makes of it. */
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { keyOf } from '../../components/machinery/objects/object.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly resource: Pick<Resource, 'group' | 'plural' | 'kind'>
  /** The new state; of a deletion the last one. */
  readonly object: KubeObject
  /** The state before; undefined for the first one. */
  readonly old: KubeObject | undefined
  /** The store's revision that made the change: changes of all kinds have one order. */
  readonly revision: number
  /** It comes from a list, so that states between `old` and `object` are unknown. */
  readonly isListed: boolean
  /** When the watch told it, in milliseconds since the epoch. */
  readonly atMs: number
}

/** Finds violations of one rule in a history. It is given all changes of the watched kinds in the order of their revisions. */
export interface Invariant {
  readonly name: string
  /** Violations that this change shows, each as one line that names objects and revisions. */
  take(change: Change): string[]
  /** Violations that a cluster shows in which nothing has happened for a while; `nowMs` is the time of the check. */
  rest?(nowMs: number): string[]
}

/** `Pod default/web-0 (uid 1234)` */
export function nameOf({ resource, object }: Pick<Change, 'resource' | 'object'>): string {
  return `${resource.kind} ${keyOf(object)} (uid ${object.metadata.uid ?? 'unknown'})`
}

/** Whether a change is one of these kinds, by plural. */
export function isOf({ resource }: Change, ...plurals: string[]): boolean {
  return plurals.includes(resource.plural)
}

export const uidOf = ({ metadata }: KubeObject): string => metadata.uid ?? ''
