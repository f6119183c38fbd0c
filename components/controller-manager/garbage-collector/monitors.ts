/**
 * Monitors: one for each resource whose objects can own or be owned; the graph keeps what matters of them. A resource that a controller watches
 * is followed through that informer, any other through a watch of metadata (upstream: controller-manager/pkg/informerfactory).
 */
import { resourcesOf } from '../../api/resources.ts'
import { changeCause, startCause, timerCause, withCause } from '../../client/cause.ts'
import type { Client } from '../../client/client.ts'
import type { Informer, InformerFactory } from '../../client/informer.ts'
import { runReflector } from '../../client/reflector.ts'
import type { ReflectorOptions, ReflectorSink } from '../../client/reflector.ts'
import { aborted } from '../../component-base/aborted.ts'
import { backgroundOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
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

/** The watch could not be resumed: what has changed meanwhile is not known one by one. */
const relistCause = timerCause('relist')

/** As long as upstream waits for a cache before it goes on without it. */
const syncTimeoutMs = 30_000

export interface MonitorsOptions {
  readonly client: Client
  readonly informers: Pick<InformerFactory, 'known'>
  readonly graph: OwnerGraph
  readonly clock: Clock
  readonly log: Log
  /** Called when a list or a watch event changes which resources are served. */
  readonly onServedChange: () => void
  /** Called for a resource that gave no list for so long that one must not wait for it. */
  readonly onTimeout: () => void
}

export function createMonitors(options: MonitorsOptions, signal: AbortSignal): Monitors {
  const monitors = new Map<string, Monitor>()
  const running = new Set<Promise<void>>()
  const start = (resource: Resource): Monitor => {
    const { run, ...monitor } = startMonitor(options, resource, signal)
    running.add(run)
    void run.finally(() => running.delete(run))
    return monitor
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

const idOf = (resource: Resource): string => `${apiVersionOf(resource)}/${resource.plural}`

/** Watches one resource until its own `stop` or `signal` aborts; `run` resolves then. */
function startMonitor(
  options: MonitorsOptions,
  resource: Resource,
  signal: AbortSignal,
): Monitor & { readonly run: Promise<void> } {
  const { client, informers, graph, clock, log } = options
  const { customResourceDefinitions, apiServices } = resourcesOf(client.dialect)
  const decides = resource === customResourceDefinitions || resource === apiServices
  const onServedChange = decides ? options.onServedChange : (): void => {}
  const stop = new AbortController()
  const own = AbortSignal.any([signal, stop.signal])
  const { promise: synced, resolve } = Promise.withResolvers<void>()
  const cancel = backgroundOf(clock).after(syncTimeoutMs, () => {
    log.warn('resource not listed yet; going on without it', { resource: idOf(resource) })
    options.onTimeout()
    resolve()
  })
  const settle = (): void => {
    cancel()
    resolve()
  }
  void aborted(own).then(settle)
  let listCause = startCause
  const sink: ReflectorSink<KubeObject> = {
    replace: (objects) => {
      withCause(listCause, () => graph.replace(resource, objects))
      listCause = relistCause
      onServedChange()
      settle()
    },
    apply: (type, object) => {
      withCause(changeCause(resource, object), () => {
        if (type === 'DELETED') graph.forget(object.metadata.uid ?? '')
        else graph.observe(resource, object)
      })
      onServedChange()
    },
  }
  const informer = informers.known(resource)
  if (informer !== undefined)
    return { resource, stop, synced, run: followInformer(informer, { sink, settle }, own) }
  const full = client.resource(resource)
  const metadataClient: ReflectorOptions<KubeObject>['client'] = {
    resource,
    list: (selection, ended) => full.list({ ...selection, metadataOnly: true }, ended),
    watch: (selection, ended) => full.watch({ ...selection, metadataOnly: true }, ended),
  }
  const run = runReflector({ client: metadataClient, selection: {}, sink, clock, log }, own)
  return { resource, stop, synced, run }
}

/** Passes on what the informer has and gets, until `signal` aborts. It calls `settle` once the informer has a whole list. */
async function followInformer(
  informer: Informer,
  { sink, settle }: { readonly sink: ReflectorSink<KubeObject>; readonly settle: () => void },
  signal: AbortSignal,
): Promise<void> {
  informer.onEvent(({ type, object }) => {
    if (!signal.aborted) sink.apply(informerEvents[type], object)
  })
  void informer.ready.then(settle)
  await aborted(signal)
}

const informerEvents = { add: 'ADDED', update: 'MODIFIED', delete: 'DELETED' } as const
