/** Informer: list + watch + cache of one resource, shared by all who ask for it (upstream: client-go tools/cache SharedInformer). */
import type { KubeObject } from '../machinery/object.ts'
import type { Resource } from '../machinery/resource.ts'

export type InformerEvent<T> =
  | { readonly type: 'add'; readonly object: T }
  | { readonly type: 'update'; readonly object: T; readonly old: T }
  /** `object` is the last state known; a deletion missed during a disconnect is reported with it after the relist. */
  | { readonly type: 'delete'; readonly object: T }

export interface Informer<T extends KubeObject = KubeObject> {
  readonly resource: Resource
  /** Lists and watches until `signal` aborts; reconnects with back-off and says in the log what it waits for. */
  run(signal: AbortSignal): Promise<void>
  /** Resolves once the cache holds a first whole list and its handlers have seen it. */
  readonly ready: Promise<void>
  /** Frozen objects, by `namespace/name`. Never behind what handlers were told. */
  get(key: string): T | undefined
  list(): readonly T[]
  /** Objects whose index function returned `value`; the index is added with `addIndex` before `run`. */
  byIndex(index: string, value: string): readonly T[]
  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void
  /** Called in order per object, synchronously, after the cache has changed. States may be skipped, never reordered. */
  onEvent(handler: (event: InformerEvent<T>) => void): void
}

/** The informers of one process: one per resource (and selector), started together. */
export interface InformerFactory {
  informer<T extends KubeObject>(
    resource: Resource,
    options?: { namespace?: string; fieldSelector?: string; labelSelector?: string },
  ): Informer<T>
  /** Runs all informers asked for so far or later; returns when `signal` aborts and all have stopped. */
  run(signal: AbortSignal): Promise<void>
  /** Resolves when all informers asked for so far are ready. */
  ready(): Promise<void>
}
