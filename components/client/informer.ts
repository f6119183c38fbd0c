/** Informer: list + watch + cache of one resource, shared by all its users (upstream: client-go tools/cache SharedInformer). */
import { aborted } from '../component-base/aborted.ts'
import type { Clock } from '../component-base/clock.ts'
import type { Log } from '../component-base/log.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import type { Resource } from '../machinery/objects/resource.ts'
import { changeCause, startCause, withCause } from './cause.ts'
import { createChanges } from './changes.ts'
import type { ObjectChange } from './changes.ts'
import type { Client } from './client.ts'
import { createObjectCache } from './object-cache.ts'
import { runReflector } from './reflector.ts'
import type { ReflectorOptions, ReflectorSink } from './reflector.ts'

export type InformerEvent<T> = ObjectChange<T>

export interface Informer<T extends KubeObject = KubeObject> {
  readonly resource: Resource
  /** Lists and watches until `signal` aborts; reconnects with back-off and logs what it waits for. */
  run(signal: AbortSignal): Promise<void>
  /** Resolves once the cache holds a first whole list and its handlers have seen it. */
  readonly ready: Promise<void>
  /** Frozen objects without managedFields, by `namespace/name`. Never older than the last event that handlers got. */
  get(key: string): T | undefined
  list(): readonly T[]
  /** Objects whose index function returned `value`; the index is added with `addIndex` before `run`. */
  byIndex(index: string, value: string): readonly T[]
  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void
  /**
   * Called in order per object, synchronously, after the cache has changed. States may be skipped, never reordered. The change is the
   * cause (`cause.ts`) of what a handler does.
   */
  onEvent(handler: (event: InformerEvent<T>) => void): void
}

/** The informers of one process: one per resource (and selector), started together. */
export interface InformerFactory {
  informer<T extends KubeObject>(
    resource: Resource,
    options?: { namespace?: string; fieldSelector?: string; labelSelector?: string },
  ): Informer<T>
  /** The informer of all objects of a resource, if someone has asked for it. */
  known(resource: Resource): Informer | undefined
  /** Runs all informers asked for so far or later; returns when `signal` aborts and all have stopped. */
  run(signal: AbortSignal): Promise<void>
  /** Resolves when all informers asked for so far are ready. */
  ready(): Promise<void>
}

type Selection = { namespace?: string; fieldSelector?: string; labelSelector?: string }

/** The object without its field owners, which no controller reads and which take more memory than the rest (upstream: kube-controller-manager's WithTransform). */
function slim<T extends KubeObject>(object: T): T {
  const { managedFields, ...metadata } = object.metadata
  return managedFields === undefined ? object : { ...object, metadata }
}

/** An informer of one selection of a resource. A handler that is added late first gets an 'add' for every object in the cache. */
export function createInformer<T extends KubeObject>(options: {
  readonly client: ReflectorOptions<T>['client']
  readonly selection?: Selection
  readonly initialEventsEnd?: string | undefined
  readonly clock: Clock
  readonly log: Log
}): Informer<T> {
  const { client, selection = {}, initialEventsEnd, clock, log } = options
  const cache = createObjectCache<T>()
  const handlers: ((event: InformerEvent<T>) => void)[] = []
  const { promise: ready, resolve: nowReady } = Promise.withResolvers<void>()
  const notify = (handler: (event: InformerEvent<T>) => void, event: InformerEvent<T>): void => {
    try {
      handler(event)
    } catch (error) {
      log.error('informer handler failed', { resource: client.resource.plural, error })
    }
  }
  let isFirstList = true
  const distribute = (event: InformerEvent<T>): void => {
    const cause = isFirstList ? startCause : changeCause(client.resource, event.object)
    withCause(cause, () => {
      for (const handler of handlers) notify(handler, event)
    })
  }
  const changes = createChanges(cache, distribute)
  const sink: ReflectorSink<T> = {
    apply: (type, object) => changes.apply(type, slim(object)),
    replace: (objects) => {
      changes.replace(objects.map(slim))
      isFirstList = false
      nowReady()
    },
  }
  return {
    resource: client.resource,
    run: (signal) =>
      runReflector({ client, selection, sink, initialEventsEnd, clock, log }, signal),
    ready,
    get: (key) => cache.get(key),
    list: () => cache.list(),
    byIndex: (name, value) => cache.byIndex(name, value),
    addIndex: (name, valuesOf) => cache.addIndex(name, valuesOf),
    onEvent: (handler) => {
      handlers.push(handler)
      withCause(startCause, () => {
        for (const object of cache.list()) notify(handler, { type: 'add', object })
      })
    },
  }
}

/**
 * Informers that share caches: the same resource and selection is the same informer. With `initialEventsEnd` they get their first
 * state from their watches (`ReflectorOptions`).
 */
export function createInformerFactory(
  client: Pick<Client, 'resource'>,
  clock: Clock,
  log: Log,
  { initialEventsEnd }: { readonly initialEventsEnd?: string } = {},
): InformerFactory {
  const informers = new Map<string, Informer>()
  let start: ((informer: Informer) => void) | undefined
  const idOf = ({ group, version, plural }: Resource, selection: Selection): string => {
    const { namespace = '', labelSelector = '', fieldSelector = '' } = selection
    return [group, version, plural, namespace, labelSelector, fieldSelector].join('|')
  }
  return {
    known: (resource) => informers.get(idOf(resource, {})),
    informer: <T extends KubeObject>(resource: Resource, selection: Selection = {}) => {
      const id = idOf(resource, selection)
      const known = informers.get(id)
      if (known !== undefined) return known as unknown as Informer<T>
      const made = createInformer<T>({
        client: client.resource<T>(resource),
        selection,
        initialEventsEnd,
        clock,
        log,
      })
      informers.set(id, made as unknown as Informer)
      start?.(made as unknown as Informer)
      return made
    },
    run: async (signal) => {
      const running: Promise<void>[] = []
      start = (informer) => void running.push(informer.run(signal))
      for (const informer of informers.values()) start(informer)
      await aborted(signal)
      await Promise.all(running)
    },
    ready: async () => {
      await Promise.all([...informers.values()].map((informer) => informer.ready))
    },
  }
}
