/** Monitors: one watch of metadata for each resource whose objects can own or be owned; the graph keeps what matters of them. */
import { resourcesOf } from '../../api/resources.ts'
import type { Client } from '../../client/client.ts'
import { runReflector } from '../../client/reflector.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import type { OwnerGraph } from './graph.ts'

export interface Monitors {
  /** Starts those that are new, stops those that are not wanted any more. */
  watch(resources: readonly Resource[]): void
  /** Resolves once every resource was listed, or gave no list for so long that one must not wait for it. */
  synced(): Promise<void>
  /** Those that are watched now. */
  readonly resources: readonly Resource[]
  /** Resolves when all have stopped; they do when `signal` aborts. */
  stopped(): Promise<void>
}

interface Monitor {
  readonly resource: Resource
  readonly stop: AbortController
  readonly synced: Promise<void>
}

/** As long as upstream waits for a cache before it goes on without it. */
const syncTimeoutMs = 30_000

export function createMonitors(
  options: {
    readonly client: Client
    readonly graph: OwnerGraph
    readonly clock: Clock
    readonly log: Log
    /** Called when an object that decides which resources are served is there, has changed or is gone. */
    readonly onServedChange: () => void
  },
  signal: AbortSignal,
): Monitors {
  const { client, graph, clock, log, onServedChange } = options
  const { customResourceDefinitions, apiServices } = resourcesOf(client.dialect)
  const monitors = new Map<string, Monitor>()
  const running = new Set<Promise<void>>()
  const idOf = (resource: Resource): string => `${apiVersionOf(resource)}/${resource.plural}`

  const start = (resource: Resource): Monitor => {
    const stop = new AbortController()
    const { promise: synced, resolve } = Promise.withResolvers<void>()
    const own = AbortSignal.any([signal, stop.signal])
    const decides = resource === customResourceDefinitions || resource === apiServices
    const cancel = clock.after(syncTimeoutMs, () => {
      log.warn('resource not listed yet; going on without it', { resource: idOf(resource) })
      resolve()
    })
    own.addEventListener(
      'abort',
      () => {
        cancel()
        resolve()
      },
      { once: true },
    )
    const full = client.resource(resource)
    const run = runReflector(
      {
        client: {
          resource,
          list: (selection, aborted) => full.list({ ...selection, metadataOnly: true }, aborted),
          watch: (selection, aborted) => full.watch({ ...selection, metadataOnly: true }, aborted),
        },
        selection: {},
        sink: {
          replace: (objects) => {
            graph.replace(resource, objects)
            if (decides) onServedChange()
            cancel()
            resolve()
          },
          apply: (type, object) => {
            if (type === 'DELETED') graph.forget(object.metadata.uid ?? '')
            else graph.observe(resource, object)
            if (decides) onServedChange()
          },
        },
        clock,
        log,
      },
      own,
    )
    running.add(run)
    void run.finally(() => running.delete(run))
    return { resource, stop, synced }
  }

  return {
    watch: (resources) => {
      if (signal.aborted) return
      const wanted = new Map(resources.map((resource) => [idOf(resource), resource]))
      for (const [id, monitor] of monitors) {
        if (wanted.has(id)) continue
        monitors.delete(id)
        monitor.stop.abort(new Error('no longer served'))
      }
      for (const [id, resource] of wanted) if (!monitors.has(id)) monitors.set(id, start(resource))
    },
    synced: async () => {
      await Promise.all([...monitors.values()].map(({ synced }) => synced))
    },
    get resources() {
      return [...monitors.values()].map(({ resource }) => resource)
    },
    stopped: async () => {
      await Promise.all(running)
    },
  }
}
