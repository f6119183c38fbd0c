/** Keeps what each ResourceQuota says is used equal to what is there (upstream: pkg/controller/resourcequota). */
import { upkeepOf } from '../../component-base/clock.ts'
import type { Pod, ResourceQuota } from '../../api/generated/types.ts'
import { isQuotaPod } from '../../api/quota/pod-quota.ts'
import type { QuotaEvaluator } from '../../api/quota/quota-evaluator.ts'
import { createQuotaEvaluators, type QuotaEvaluators } from '../../api/quota/quota-evaluators.ts'
import { countedKind, quotaUsage } from '../../api/quota/quota-usage.ts'
import { onlyNamed, sameLists, type ResourceList } from '../../api/resource-list.ts'
import { runController, type Result } from '../../client/controller.ts'
import type { Informer } from '../../client/informer.ts'
import { createDiscovery, type Discover } from '../../client/server-resources.ts'
import { createWorkQueue, type WorkQueue } from '../../client/work-queue.ts'
import { aborted } from '../../component-base/aborted.ts'
import { keyOf, type KubeObject } from '../../machinery/objects/object.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createOwnWrites, type OwnWrites } from '../own-writes.ts'
import { inNamespace, indexByNamespace } from '../pod-indexes.ts'
import { createCountedKinds, type CountedKind, type CountedKinds } from './counted-kinds.ts'

const name = 'resourcequota-controller'
/** Upstream discovers kinds that come and go so often. */
const discoveryPeriodMs = 30_000
/** A count that the server corrected is taken again this much later. */
const recountMs = 1000
/** The one key of the queue of discoveries. */
const everything = 'served resources'

const idOf = ({ group, plural }: { group: string; plural: string }): string => `${group}/${plural}`

interface QuotaSync {
  readonly context: ControllerContext
  readonly quotas: Informer<ResourceQuota>
  readonly ownWrites: OwnWrites
  /** Keys that wait until the informer shows the controller's own write. */
  readonly held: Set<string>
  /** The kinds that a discovery has looked for. */
  readonly soughtKinds: Set<string>
  readonly evaluators: QuotaEvaluators
  /** Informers that other controllers share, by kind. */
  readonly shared: ReadonlyMap<string, Informer>
  readonly counted: CountedKinds
  readonly queue: WorkQueue
}

function hardNames({ spec }: ResourceQuota): string[] {
  return Object.keys(spec?.hard ?? {})
}

/** How the names of a quota are counted: each evaluator with the names that are its own. */
function evaluatorsFor({ evaluators }: QuotaSync, names: readonly string[]) {
  const counted = names.map(countedKind).filter((kind) => kind !== undefined)
  const found = new Map(evaluators.special.map((evaluator) => [idOf(evaluator), evaluator]))
  for (const kind of counted) {
    const evaluator = evaluators.of(kind)
    if (evaluator !== undefined) found.set(idOf(evaluator), evaluator)
  }
  return [...found.values()]
    .map((evaluator) => ({ evaluator, own: evaluator.matchingResources(names) }))
    .filter(({ own }) => own.length > 0)
}

/** Undefined for a kind that is not listed yet, 'unserved' for one that the server does not have. */
function objectsOf(
  { shared, counted, soughtKinds }: QuotaSync,
  evaluator: QuotaEvaluator,
  namespace: string,
): readonly KubeObject[] | undefined | 'unserved' {
  const id = idOf(evaluator)
  const informer = shared.get(id) ?? counted.listed(id)
  if (informer !== undefined) return inNamespace(informer, namespace)
  return counted.isWatched(id) || !soughtKinds.has(id) ? undefined : 'unserved'
}

/** What is used of each name that can be counted; undefined until everything that is watched has been listed. */
function countUsage(sync: QuotaSync, quota: ResourceQuota): ResourceList | undefined {
  const { namespace = '' } = quota.metadata
  const nowMs = sync.context.clock.now()
  const used: Record<string, string> = {}
  for (const { evaluator, own } of evaluatorsFor(sync, hardNames(quota))) {
    const objects = objectsOf(sync, evaluator, namespace)
    if (objects === undefined) return undefined
    if (objects === 'unserved') continue
    Object.assign(used, quotaUsage(quota, evaluator, { names: own, objects, nowMs }))
  }
  return used
}

async function syncQuota(
  sync: QuotaSync,
  key: string,
  signal: AbortSignal,
): Promise<Result | void> {
  const { quotas, ownWrites, context } = sync
  const quota = quotas.get(key)
  if (quota === undefined) return
  const pendingMs = ownWrites.pendingMs(key)
  if (pendingMs !== undefined) {
    sync.held.add(key)
    return { requeueAfterMs: pendingMs }
  }
  const counted = countUsage(sync, quota)
  // The informer adds the key again once it has listed the kind.
  if (counted === undefined) return
  const { status, spec } = quota
  const hard = { ...spec?.hard }
  const used = { ...onlyNamed(status?.used ?? {}, hardNames(quota)), ...counted }
  if (sameLists(status?.hard, hard) && sameLists(status?.used, used)) return
  const client = context.client.resource<ResourceQuota>(context.resources.resourceQuotas)
  const written = await client.updateStatus({ ...quota, status: { hard, used } }, { signal })
  ownWrites.wrote(key, written)
  // The server says more: it knows objects that the informers have not shown.
  if (!sameLists(written.status?.used, used)) return { requeueAfterMs: recountMs }
}

/** Adds the quotas of the namespace that count the kind. */
function replenish(sync: QuotaSync, evaluator: QuotaEvaluator, namespace: string): void {
  for (const quota of inNamespace(sync.quotas, namespace)) {
    const names = Object.keys(quota.status?.hard ?? {})
    if (evaluator.matchingResources(names).length > 0) sync.queue.add(keyOf(quota))
  }
}

/** Whether the object uses something else than before. Of a pod only its end counts: quotas do not follow its updates. */
function changesUsage(evaluator: QuotaEvaluator, at: ObjectUpdate): boolean {
  const { object, old, nowMs } = at
  if (evaluator.countsOnly) return false
  if (evaluator.plural === 'pods') {
    return isQuotaPod(old as Pod, nowMs) && !isQuotaPod(object as Pod, nowMs)
  }
  return !sameLists(evaluator.usage(object, nowMs), evaluator.usage(old, nowMs))
}

interface ObjectUpdate {
  readonly object: KubeObject
  readonly old: KubeObject
  readonly nowMs: number
}

/** Recounts when an object is deleted or uses less. Admission charges new usage. */
function onObjectChange(
  sync: QuotaSync,
  evaluator: QuotaEvaluator,
  { object, old }: { readonly object: KubeObject; readonly old: KubeObject | undefined },
): void {
  const { namespace = '' } = object.metadata
  if (inNamespace(sync.quotas, namespace).length === 0) return
  const nowMs = sync.context.clock.now()
  if (old === undefined || changesUsage(evaluator, { object, old, nowMs })) {
    replenish(sync, evaluator, namespace)
  }
}

function followShared(sync: QuotaSync): void {
  for (const [id, informer] of sync.shared) {
    const evaluator = sync.evaluators.special.find((one) => idOf(one) === id)
    if (evaluator === undefined) continue
    informer.onEvent((event) => {
      const { object } = event
      if (event.type === 'delete') onObjectChange(sync, evaluator, { object, old: undefined })
      if (event.type === 'update') onObjectChange(sync, evaluator, { object, old: event.old })
    })
  }
}

/** Adds new quotas, and those whose limits changed. Changes of status are this controller's and admission's. */
function followQuotas({ quotas, queue, held }: QuotaSync, discoveries: WorkQueue): void {
  quotas.onEvent((event) => {
    const key = keyOf(event.object)
    if (held.delete(key)) queue.add(key)
    const isKept =
      event.type === 'update' &&
      sameLists(event.old.spec?.hard ?? {}, event.object.spec?.hard ?? {})
    if (isKept) return
    discoveries.add(everything)
    if (event.type !== 'delete') queue.add(key)
  })
}

/** The kinds that quotas count and no shared informer shows. */
function wantedKinds(sync: QuotaSync): Map<string, QuotaEvaluator> {
  const names = new Set(sync.quotas.list().flatMap(hardNames))
  const found = evaluatorsFor(sync, [...names]).map(
    ({ evaluator }) => [idOf(evaluator), evaluator] as const,
  )
  return new Map(found.filter(([id]) => !sync.shared.has(id)))
}

/** Discovers how the wanted kinds are served, and watches those that are. */
async function syncKinds(
  sync: QuotaSync,
  discover: Discover,
  signal: AbortSignal,
): Promise<Result | void> {
  const { counted, soughtKinds, quotas, queue } = sync
  const wanted = wantedKinds(sync)
  if (wanted.size === 0) {
    counted.watch(new Map())
    return
  }
  const { preferred } = await discover(signal)
  const kinds = new Map<string, CountedKind>()
  for (const resource of preferred) {
    const evaluator = wanted.get(idOf(resource))
    const isListable = resource.verbs.includes('list') && resource.verbs.includes('watch')
    if (evaluator === undefined || !resource.namespaced || !isListable) continue
    kinds.set(idOf(resource), { resource, countsOnly: evaluator.countsOnly })
  }
  counted.watch(kinds)
  const isNew = [...wanted.keys()].some((id) => !soughtKinds.has(id))
  for (const id of wanted.keys()) soughtKinds.add(id)
  if (isNew) for (const quota of quotas.list()) queue.add(keyOf(quota))
  return { requeueAfterMs: discoveryPeriodMs, isUpkeep: true }
}

async function resync(sync: QuotaSync, signal: AbortSignal): Promise<void> {
  const { clock, options } = sync.context
  while (!signal.aborted) {
    try {
      await upkeepOf(clock).sleep(options['resource-quota-sync-period'], signal)
    } catch {
      // Only an abort ends the sleep early.
      return
    }
    for (const quota of sync.quotas.list()) sync.queue.add(keyOf(quota))
  }
}

function createSync(context: ControllerContext, signal: AbortSignal): QuotaSync {
  const { client, informers, dialect, resources, clock, log, queues } = context
  const quotas = informers.informer<ResourceQuota>(resources.resourceQuotas)
  indexByNamespace(quotas)
  const { pods, services, persistentVolumeClaims } = resources
  const shared = new Map(
    [pods, services, persistentVolumeClaims].map((resource) => {
      const informer = informers.informer(resource)
      indexByNamespace(informer)
      return [idOf(resource), informer] as const
    }),
  )
  const evaluators = createQuotaEvaluators(dialect)
  const queue = queues('resourcequota_primary')
  const counted = createCountedKinds(
    {
      client,
      clock,
      log,
      onListed: () => {
        for (const quota of quotas.list()) queue.add(keyOf(quota))
      },
      onChange: (id, object, old) => {
        const [group = '', plural = ''] = id.split('/')
        const evaluator = evaluators.of({ group, plural })
        if (evaluator !== undefined) onObjectChange(sync, evaluator, { object, old })
      },
    },
    signal,
  )
  const ownWrites = createOwnWrites(quotas, clock)
  const sync: QuotaSync = {
    context,
    quotas,
    ownWrites,
    held: new Set(),
    soughtKinds: new Set(),
    evaluators,
    shared,
    counted,
    queue,
  }
  return sync
}

/** Runs until `signal` aborts. */
export async function runResourceQuota(
  discover: Discover,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, options } = context
  const sync = createSync(context, signal)
  const discoveries = createWorkQueue({ clock })
  followShared(sync)
  followQuotas(sync, discoveries)
  const ready = Promise.all([sync.quotas, ...sync.shared.values()].map(({ ready: is }) => is))
  const kinds = async (): Promise<Result | void> => {
    await Promise.race([ready, aborted(signal)])
    if (!signal.aborted) return syncKinds(sync, discover, signal)
  }
  const informers = [sync.quotas, ...sync.shared.values()].map((informer) => ({
    informer: informer as Informer,
    keysOf: () => [],
  }))
  const workers = options['concurrent-resource-quota-syncs']
  const reconcile = (key: string) => syncQuota(sync, key, signal)
  await Promise.all([
    runController({ name, informers, reconcile, workers, queue: sync.queue, clock, log }, signal),
    runController(
      { name, informers: [], reconcile: kinds, queue: discoveries, clock, log },
      signal,
    ),
    resync(sync, signal),
  ])
  await sync.counted.stopped()
}

export const resourceQuotaController: ControllerEntry = {
  name,
  aliases: ['resourcequota'],
  defaultOn: true,
  start: (context, signal) => runResourceQuota(createDiscovery(context.client), context, signal),
}
