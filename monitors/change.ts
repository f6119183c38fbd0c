/** Change: one step of a cluster's history, as watches report it. */
import type { KubeObject } from '../components/machinery/objects/object.ts'
import { keyOf } from '../components/machinery/objects/object.ts'
import type { Resource } from '../components/machinery/objects/resource.ts'

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly resource: Pick<Resource, 'group' | 'version' | 'plural' | 'kind'>
  /** The new state; of a deletion the last one. */
  readonly object: KubeObject
  /** The state before; undefined for the first one. */
  readonly old: KubeObject | undefined
  /** The store's revision that made the change: changes of all kinds have one order. */
  readonly revision: number
  /** It comes from a list, so that states between `old` and `object` are unknown. */
  readonly isListed: boolean
  /** When the watch reported it, in milliseconds since the epoch by the cluster's clock. */
  readonly atMs: number
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

/**
 * When the state was written, as its field managers say, in whole seconds; when it was reported where they do not. Time that is advanced
 * passes faster than reports come.
 */
export function writtenAtMs({ object, atMs }: Change): number {
  const times = (object.metadata.managedFields ?? []).map(({ time = '' }) => Date.parse(time))
  const newest = Math.max(...times.filter((time) => !Number.isNaN(time)))
  return Number.isFinite(newest) ? newest : atMs
}
