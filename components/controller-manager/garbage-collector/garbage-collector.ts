/** Deletes objects whose owners are gone (upstream: pkg/controller/garbagecollector). */
import { backgroundOf } from '../../component-base/clock.ts'
import { apiGroup } from '../../api/dialect.ts'
import type { Dialect } from '../../api/dialect.ts'
import { runController } from '../../client/controller.ts'
import { createDiscovery } from '../../client/server-resources.ts'
import type { Discover, ServerResources } from '../../client/server-resources.ts'
import { createWorkQueue } from '../../client/work-queue.ts'
import type { WorkQueue } from '../../client/work-queue.ts'
import { aborted } from '../../component-base/aborted.ts'
import { backoffDelay } from '../../component-base/backoff.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import { createAbsentOwners } from './absent-owners.ts'
import { createCollector } from './collect.ts'
import type { Collector } from './collect.ts'
import { OwnerGraph } from './graph.ts'
import { createMonitors } from './monitors.ts'
import type { Monitors } from './monitors.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'

const name = 'garbage-collector-controller'
const discoveryRetryMs = 1000
/** A definition changes several times while it is established. */
const settleMs = 200
/** The one key of the queue of discoveries. */
const everything = 'served resources'

/** The resources whose objects take part: all but events, which own nothing and are too many. Pure. */
export function collectable(found: ServerResources, dialect: Dialect): Resource[] {
  const verbs = ['delete', 'list', 'watch'] as const
  const eventGroups = ['', apiGroup(dialect, 'events')]
  return found.preferred.filter(
    ({ group, plural, verbs: served }) =>
      !(plural === 'events' && eventGroups.includes(group)) &&
      verbs.every((verb) => served.includes(verb)),
  )
}

/** Discovery: which resources are served, and the monitors that watch them. */
interface ResourceSync {
  readonly discover: Discover
  readonly context: ControllerContext
  readonly monitors: Monitors
  /** The served resources by `apiVersion|kind`, as owner references name them. */
  readonly kinds: Map<string, Resource>
  /** Discoveries in a row, since the last change, to which some group gave no answer. */
  incomplete: number
}

/** Runs until `signal` aborts. */
export async function runGarbageCollector(
  discover: Discover,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, clock, log, queues, recorder, options } = context
  const toDelete = queues('garbage_collector_attempt_to_delete')
  const toOrphan = queues('garbage_collector_attempt_to_orphan')
  const absentOwners = createAbsentOwners()
  const attemptToDelete = (uid: string): void => toDelete.add(uid)
  const graph = new OwnerGraph({
    attemptToDelete,
    attemptToOrphan: (uid) => toOrphan.add(uid),
    onAbsent: (vertex) => absentOwners.add(vertex, vertex.namespace),
  })
  const discoveries = createWorkQueue({ clock, initialMs: discoveryRetryMs })
  const onServedChange = (): void => {
    sync.incomplete = 0
    discoveries.addAfter(everything, settleMs)
  }
  const { syncErrors } = context.metrics.garbageCollector
  const onTimeout = (): void => syncErrors.inc()
  const watching = { client, informers, graph, clock, log }
  const monitors = createMonitors({ ...watching, onServedChange, onTimeout }, signal)
  const sync: ResourceSync = { discover, context, monitors, kinds: new Map(), incomplete: 0 }
  const resourceOf = (apiVersion: string, kind: string) => sync.kinds.get(`${apiVersion}|${kind}`)
  const collector = createCollector({
    client,
    graph,
    absentOwners,
    recorder,
    resourceOf,
    attemptToDelete,
  })

  const { promise: hasStarted, resolve: started } = Promise.withResolvers<void>()
  const begun = Promise.race([hasStarted, aborted(signal)])
  /** A graph with gaps would take an owner with unseen dependents for one without any. */
  const isComplete = async (): Promise<boolean> => {
    await begun
    await monitors.synced()
    return !signal.aborted
  }
  const worker = (queue: WorkQueue, act: Collector['attemptToDelete']) => {
    const reconcile = async (uid: string) => ((await isComplete()) ? act(uid) : undefined)
    const workers = options['concurrent-gc-syncs']
    return runController({ name, informers: [], reconcile, workers, queue, clock, log }, signal)
  }
  await Promise.all([
    runResourceSync(sync, { discoveries, started }, signal),
    worker(toDelete, (uid) => collector.attemptToDelete(uid)),
    worker(toOrphan, (uid) => collector.attemptToOrphan(uid)),
  ])
  await monitors.stopped()
}

/** Discovers at the start, after each change of the served resources, and once a period. */
async function runResourceSync(
  sync: ResourceSync,
  { discoveries, started }: { readonly discoveries: WorkQueue; readonly started: () => void },
  signal: AbortSignal,
): Promise<void> {
  const { informers, clock, log, options } = sync.context
  const { promise: longEnough, resolve: goOn } = Promise.withResolvers<void>()
  const cancel = backgroundOf(clock).after(options['garbage-collector-discovery-period'], goOn)
  // The controllers that run workloads come first.
  await Promise.race([informers.ready(), longEnough, aborted(signal)])
  cancel()
  const reconcile = async () => {
    const requeueAfterMs = await syncResources(sync, signal)
    started()
    return { requeueAfterMs, isUpkeep: true }
  }
  const initialKeys = [everything]
  await runController(
    { name, informers: [], initialKeys, reconcile, queue: discoveries, clock, log },
    signal,
  )
}

/** Discovers once. Resolves with the milliseconds until the next discovery. */
async function syncResources(sync: ResourceSync, signal: AbortSignal): Promise<number> {
  const { discover, monitors, kinds } = sync
  const { dialect, options } = sync.context
  const periodMs = options['garbage-collector-discovery-period']
  const { syncErrors } = sync.context.metrics.garbageCollector
  let found: ServerResources
  try {
    found = await discover(signal)
  } catch (error) {
    if (!signal.aborted) syncErrors.inc()
    throw error
  }
  kinds.clear()
  for (const resource of found.all)
    kinds.set(`${apiVersionOf(resource)}|${resource.kind}`, resource)
  // Discovery cannot say what a failing group serves; its resources that were watched stay watched.
  const kept = monitors.resources.filter((resource) =>
    found.failed.some((version) => version.startsWith(`${resource.group}/`)),
  )
  monitors.watch([...collectable(found, dialect), ...kept])
  // An aggregated API answers discovery a little later than its APIService appears.
  const waits = { initialMs: discoveryRetryMs, maxMs: periodMs }
  sync.incomplete = found.failed.length === 0 ? 0 : sync.incomplete + 1
  return sync.incomplete === 0 ? periodMs : backoffDelay(waits, sync.incomplete - 1)
}

export const garbageCollector: ControllerEntry = {
  name,
  aliases: ['garbagecollector'],
  defaultOn: true,
  start: async (context, signal) => {
    if (!context.options['enable-garbage-collector']) return
    await runGarbageCollector(createDiscovery(context.client), context, signal)
  },
}
