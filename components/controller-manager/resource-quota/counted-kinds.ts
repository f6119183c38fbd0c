/** CountedKinds: informers of the kinds that quotas count by number, each while some quota names it (upstream: pkg/controller/resourcequota/resource_quota_monitor.go). */
import type { Client } from '../../client/client.ts'
import { createInformer, type Informer } from '../../client/informer.ts'
import type { ReflectorOptions } from '../../client/reflector.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { indexByNamespace } from '../pod-indexes.ts'

/** A kind to watch. */
export interface CountedKind {
  readonly resource: Resource
  /** Whether metadata is enough. */
  readonly countsOnly: boolean
}

export interface CountedKinds {
  /** Starts those that are new, stops those that are not wanted any more. Each has a key of the caller's. */
  watch(wanted: ReadonlyMap<string, CountedKind>): void
  /** Undefined for a kind that is not watched, and until it has been listed. */
  listed(key: string): Informer | undefined
  isWatched(key: string): boolean
  /** Resolves when all have stopped; they do when `signal` aborts. */
  stopped(): Promise<void>
}

interface Watched {
  readonly resource: Resource
  readonly informer: Informer
  readonly stop: AbortController
  isListed: boolean
}

export interface CountedKindsOptions {
  readonly client: Client
  readonly clock: Clock
  readonly log: Log
  /** Called when a kind has been listed. */
  readonly onListed: (key: string) => void
  /** Called when an object is gone, or has changed. */
  readonly onChange: (key: string, object: KubeObject, old: KubeObject | undefined) => void
}

function sourceOf(client: Client, kind: CountedKind): ReflectorOptions<KubeObject>['client'] {
  const { resource, countsOnly: metadataOnly } = kind
  const full = client.resource(resource)
  return {
    resource,
    list: (selection, signal) => full.list({ ...selection, metadataOnly }, signal),
    watch: (selection, signal) => full.watch({ ...selection, metadataOnly }, signal),
  }
}

export function createCountedKinds(
  options: CountedKindsOptions,
  signal: AbortSignal,
): CountedKinds {
  const { client, clock, log, onListed, onChange } = options
  const kinds = new Map<string, Watched>()
  const running = new Set<Promise<void>>()

  function start(key: string, kind: CountedKind): Watched {
    const informer = createInformer({ client: sourceOf(client, kind), clock, log })
    indexByNamespace(informer)
    informer.onEvent((event) => {
      if (event.type === 'delete') onChange(key, event.object, undefined)
      if (event.type === 'update') onChange(key, event.object, event.old)
    })
    const stop = new AbortController()
    const watched = { resource: kind.resource, informer, stop, isListed: false }
    const run = informer.run(AbortSignal.any([signal, stop.signal]))
    running.add(run)
    void run.finally(() => running.delete(run))
    void informer.ready.then(() => {
      watched.isListed = true
      if (kinds.get(key) === watched) onListed(key)
    })
    return watched
  }

  return {
    watch: (wanted) => {
      if (signal.aborted) return
      for (const [key, { resource, stop }] of kinds) {
        if (wanted.get(key)?.resource === resource) continue
        kinds.delete(key)
        stop.abort(new Error('no quota counts it any more'))
      }
      for (const [key, kind] of wanted) if (!kinds.has(key)) kinds.set(key, start(key, kind))
    },
    listed: (key) => {
      const watched = kinds.get(key)
      return watched?.isListed === true ? watched.informer : undefined
    },
    isWatched: (key) => kinds.has(key),
    stopped: async () => {
      await Promise.all(running)
    },
  }
}
