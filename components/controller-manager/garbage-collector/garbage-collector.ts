/** Deletes what nobody owns any more (upstream: pkg/controller/garbagecollector). */
import { apiGroup } from '../../api/dialect.ts'
import type { Dialect } from '../../api/dialect.ts'
import { runController } from '../../client/controller.ts'
import { createDiscovery } from '../../client/server-resources.ts'
import type { Discover, ServerResources } from '../../client/server-resources.ts'
import { createWorkQueue } from '../../client/work-queue.ts'
import { backoffDelay } from '../../component-base/backoff.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import { createAbsentOwners } from './absent-owners.ts'
import { createCollector } from './collect.ts'
import { OwnerGraph } from './graph.ts'
import { createMonitors } from './monitors.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'

const discoveryRetryMs = 1000
/** A definition changes several times while it is established. */
const settleMs = 200
/** The one key of the queue of discoveries. */
const everything = 'served resources'

/** Those whose objects take part: events own nothing, and are too many. Pure. */
export function collectable(found: ServerResources, dialect: Dialect): Resource[] {
  const verbs = ['delete', 'list', 'watch'] as const
  const eventGroups = ['', apiGroup(dialect, 'events')]
  return found.preferred.filter(
    ({ group, plural, verbs: served }) =>
      !(plural === 'events' && eventGroups.includes(group)) &&
      verbs.every((verb) => served.includes(verb)),
  )
}

/** Runs until `signal` aborts. */
export async function runGarbageCollector(
  discover: Discover,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, dialect, clock, log, queues, recorder, options } = context
  const discoveryPeriodMs = options['garbage-collector-discovery-period']
  const toDelete = queues('garbage_collector_attempt_to_delete')
  const toOrphan = queues('garbage_collector_attempt_to_orphan')
  const absentOwners = createAbsentOwners()
  const graph = new OwnerGraph({
    attemptToDelete: (uid) => toDelete.add(uid),
    attemptToOrphan: (uid) => toOrphan.add(uid),
    onAbsent: (vertex) => absentOwners.add(vertex, vertex.namespace),
  })
  const discoveries = createWorkQueue({ clock, initialMs: discoveryRetryMs })
  /** Discoveries in a row, since the last change, to which some group gave no answer. */
  let incomplete = 0
  const onServedChange = (): void => {
    incomplete = 0
    discoveries.addAfter(everything, settleMs)
  }
  const monitors = createMonitors({ client, graph, clock, log, onServedChange }, signal)
  let kinds: ReadonlyMap<string, Resource> = new Map()
  const collector = createCollector({
    client,
    graph,
    absentOwners,
    recorder,
    resourceOf: (apiVersion, kind) => kinds.get(`${apiVersion}|${kind}`),
    attemptToDelete: (uid) => toDelete.add(uid),
  })

  /** Gives the time until the next look, in ms. */
  const learn = async (): Promise<number> => {
    const found = await discover(signal)
    kinds = new Map(
      found.all.map((resource) => [`${apiVersionOf(resource)}|${resource.kind}`, resource]),
    )
    // What a failing group serves is not known; what was watched of it stays watched.
    const kept = monitors.resources.filter((resource) =>
      found.failed.some((version) => version.startsWith(`${resource.group}/`)),
    )
    monitors.watch([...collectable(found, dialect), ...kept])
    // An aggregated API says a little later than its APIService what it serves.
    const waits = { initialMs: discoveryRetryMs, maxMs: discoveryPeriodMs }
    incomplete = found.failed.length === 0 ? 0 : incomplete + 1
    return incomplete === 0 ? discoveryPeriodMs : backoffDelay(waits, incomplete - 1)
  }
  /** At the start, whenever what says which kinds are served has changed, and once a period. */
  const keepLearning = async (started: () => void): Promise<void> => {
    const { promise: longEnough, resolve: goOn } = Promise.withResolvers<void>()
    signal.addEventListener('abort', () => goOn(), { once: true })
    const cancel = clock.after(discoveryPeriodMs, goOn)
    // The controllers that run workloads come first.
    await Promise.race([informers.ready(), longEnough])
    cancel()
    await runController(
      {
        name: 'garbage-collector-controller',
        informers: [],
        initialKeys: [everything],
        reconcile: async () => {
          const requeueAfterMs = await learn()
          started()
          return { requeueAfterMs }
        },
        queue: discoveries,
        clock,
        log,
      },
      signal,
    )
  }

  const { promise: hasStarted, resolve: started } = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => started(), { once: true })
  /** A graph with gaps would take an owner with unseen dependents for one without any. */
  const isComplete = async (): Promise<boolean> => {
    await hasStarted
    await monitors.synced()
    return !signal.aborted
  }
  const worker = (name: string, queue: typeof toDelete, act: typeof collector.attemptToDelete) =>
    runController(
      {
        queues,
        name,
        informers: [],
        reconcile: async (uid) => ((await isComplete()) ? act(uid) : undefined),
        workers: options['concurrent-gc-syncs'],
        queue,
        clock,
        log,
      },
      signal,
    )
  await Promise.all([
    keepLearning(started),
    worker('garbage-collector-controller', toDelete, (uid) => collector.attemptToDelete(uid)),
    worker('garbage-collector-controller', toOrphan, (uid) => collector.attemptToOrphan(uid)),
  ])
  await monitors.stopped()
}

export const garbageCollector: ControllerEntry = {
  name: 'garbage-collector-controller',
  aliases: ['garbagecollector'],
  defaultOn: true,
  start: async (context, signal) => {
    if (!context.options['enable-garbage-collector']) return
    await runGarbageCollector(createDiscovery(context.client), context, signal)
  },
}
