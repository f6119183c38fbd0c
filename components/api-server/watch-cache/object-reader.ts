/** ObjectReader: what authentication, authorization and admission read, straight from the watch cache, without a request. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'

export interface ObjectChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** `namespace/name` or `name`. */
  readonly key: string
  /** The state after the change; for DELETED the last state. Frozen, in the stored version, decoded on first use. */
  object(): KubeObject
}

export interface ObjectReader {
  /** The newest committed state, frozen and in the stored version, or undefined. Synchronous. */
  get(resource: Resource, namespace: string, name: string): KubeObject | undefined
  /** All objects of the resource, of one namespace or ('' or absent) of all, in key order. */
  list(resource: Resource, namespace?: string): readonly KubeObject[]
  /**
   * Resolves when what is read is as new as the store was at the call; undefined where it always is. Costs a request to the
   * store, which callers share: for what is missing, since another server may have written it just now.
   */
  refresh?(): Promise<unknown> | undefined
  /** Calls back for each commit in order, synchronously, before the commit is acknowledged. Returns the way to stop. */
  onChange(resource: Resource, handler: (change: ObjectChange) => void): () => void
}
