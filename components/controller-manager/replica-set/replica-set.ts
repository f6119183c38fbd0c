/** Keeps as many pods as a ReplicaSet or ReplicationController asks for (upstream: pkg/controller/replicaset). */
import type { Pod } from '../../api/generated/types.ts'
import { labelKey } from '../../api/dialect.ts'
import { source, runController } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { Clock } from '../../component-base/clock.ts'
import { timestamp } from '../../component-base/clock.ts'
import { messageOf } from '../../component-base/log.ts'
import { controllerOf, deepEqual, keyOf } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { eachAtOnce, slowStart } from '../batches.ts'
import { claimOwned } from '../claim.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { unlessGone } from '../gone-owners.ts'
import { createOwnWrites } from '../own-writes.ts'
import type { OwnWrites } from '../own-writes.ts'
import { ownerKeys } from '../owner-keys.ts'
import { controlledBy, indexByController } from '../pod-indexes.ts'
import { isActive, nextAvailableInMs } from '../pod-state.ts'
import { createPodControl, isNamespaceTerminating } from './pod-control.ts'
import type { PodControl } from './pod-control.ts'
import { podsToDelete } from './pod-ranking.ts'
import { replicaSetKind, replicationControllerKind } from './replica-kind.ts'
import type { ReplicaKind, ReplicaOwner } from './replica-kind.ts'
import { ageRatios } from './replica-set-metrics.ts'
import type { ReplicaSetMetrics } from './replica-set-metrics.ts'
import { replicaStatus } from './replica-status.ts'
import type { ReplicaFailure } from './replica-status.ts'

/** Most pods made or deleted in one go; the rest follows when these were seen. */
const burstReplicas = 500
/** Requests in flight at once: a server takes only so many, and there are other Deployments. */
const requestsAtOnce = 50

type Outcome = { readonly failure?: ReplicaFailure; readonly error?: unknown }

/** The caches, clients and tools of one kind's reconciler. */
interface ReplicaSync {
  readonly kind: ReplicaKind
  readonly resource: Resource
  readonly owners: Informer<ReplicaOwner>
  readonly pods: Informer<Pod>
  readonly ownerClient: ResourceClient<ReplicaOwner>
  readonly podClient: ResourceClient<Pod>
  readonly control: PodControl
  readonly deletionCostKey: string
  readonly ownWrites: OwnWrites
  readonly clock: Clock
  readonly metrics: ReplicaSetMetrics
}

/** Runs the reconciler of one kind until `signal` aborts. */
export async function runReplicaController(
  options: { kind: ReplicaKind; name: string; workers: number },
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { kind, name, workers } = options
  const { client, informers, resources, dialect, clock, log, queues, recorder } = context
  const resource = kind.resourceOf(resources)
  const owners = informers.informer<ReplicaOwner>(resource)
  const pods = informers.informer<Pod>(resources.pods)
  const podClient = client.resource<Pod>(resources.pods)
  indexByController(pods)
  indexByController(owners)
  const sync: ReplicaSync = {
    kind,
    resource,
    owners,
    pods,
    ownerClient: client.resource<ReplicaOwner>(resource),
    podClient,
    control: createPodControl({ pods: podClient, recorder, resource }),
    deletionCostKey: labelKey(dialect, 'controller', 'pod-deletion-cost'),
    ownWrites: createOwnWrites(pods, clock),
    clock,
    metrics: context.metrics.replicaSet,
  }
  const sources = [source(owners), source(pods, ownerKeys(owners, kind.selectorOf))]
  const { ownerClient, ownWrites } = sync
  const reconcile = unlessGone({ owners, client: ownerClient, ownWrites }, (key) =>
    syncReplicas(sync, key),
  )
  await runController({ queues, name, informers: sources, reconcile, workers, clock, log }, signal)
}

async function syncReplicas(sync: ReplicaSync, key: string): Promise<Result | void> {
  const { kind, owners, pods, ownerClient, podClient, ownWrites, clock } = sync
  const owner = owners.get(key)
  if (owner === undefined) return
  // Decided before the pods are read: what shows up in between can only make the cache newer.
  const pendingMs = ownWrites.pendingMs(key)
  const { owned, orphans } = controlledBy(pods, owner)
  const active = await claimOwned({
    candidates: [...owned, ...orphans].filter(isActive),
    owner,
    ownerClient,
    selector: kind.selectorOf(owner),
    client: podClient,
  })
  const mayScale = pendingMs === undefined && owner.metadata.deletionTimestamp === undefined
  const outcome = mayScale ? await scale(sync, owner, active) : {}
  // A write that is still on its way says nothing about whether the last attempt failed.
  const failure = mayScale ? outcome.failure : knownFailure(owner)
  const nowMs = clock.now()
  const status = replicaStatus(owner, active, { nowMs, now: timestamp(nowMs), failure })
  if (!deepEqual(owner.status, status)) await ownerClient.updateStatus({ ...owner, status })
  if (outcome.error !== undefined) throw outcome.error
  const { minReadySeconds = 0 } = owner.spec ?? {}
  const waits = [nextAvailableInMs(active, minReadySeconds, nowMs), pendingMs].filter(
    (ms) => ms !== undefined,
  )
  return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) }
}

/** Active pods of all replica sets of the same deployment: moving between them leaves nodes as crowded as they were. */
function relatedPods({ owners, pods }: ReplicaSync, owner: ReplicaOwner): Pod[] {
  const controller = controllerOf(owner)
  const siblings =
    controller === undefined
      ? [owner]
      : controlledBy(owners, { metadata: { uid: controller.uid } }).owned
  return siblings.flatMap((sibling) => controlledBy(pods, sibling).owned).filter(isActive)
}

async function scale(
  sync: ReplicaSync,
  owner: ReplicaOwner,
  active: readonly Pod[],
): Promise<Outcome> {
  const missing = (owner.spec?.replicas ?? 1) - active.length
  if (missing > 0) return create(sync, owner, missing)
  return missing < 0 ? remove(sync, owner, { active, count: -missing }) : {}
}

async function create(
  { control, ownWrites }: ReplicaSync,
  owner: ReplicaOwner,
  count: number,
): Promise<Outcome> {
  const key = keyOf(owner)
  const { error } = await slowStart(Math.min(count, burstReplicas), requestsAtOnce, async () => {
    await ownWrites.send(key, () => control.create(owner, owner.spec?.template))
  })
  if (error === undefined || isNamespaceTerminating(error)) return {}
  return { error, failure: { reason: 'FailedCreate', message: messageOf(error) } }
}

async function remove(
  sync: ReplicaSync,
  owner: ReplicaOwner,
  { active, count }: { readonly active: readonly Pod[]; readonly count: number },
): Promise<Outcome> {
  const { control, ownWrites, deletionCostKey, clock, metrics } = sync
  const nowMs = clock.now()
  const chosen = podsToDelete(active, Math.min(count, burstReplicas), {
    related: relatedPods(sync, owner),
    deletionCostKey,
    nowMs,
  })
  if (chosen.length < active.length)
    for (const ratio of ageRatios(active, chosen, nowMs)) metrics.deletionAgeRatio.observe(ratio)
  const [error] = await eachAtOnce(chosen, requestsAtOnce, async (pod) => {
    await control.delete(owner, pod)
    ownWrites.deleted(keyOf(owner), pod)
  })
  if (error === undefined) return {}
  return { error, failure: { reason: 'FailedDelete', message: messageOf(error) } }
}

function knownFailure(owner: ReplicaOwner): ReplicaFailure | undefined {
  const known = owner.status?.conditions?.find(({ type }) => type === 'ReplicaFailure')
  if (known === undefined) return undefined
  const reason = known.reason === 'FailedDelete' ? 'FailedDelete' : 'FailedCreate'
  return { reason, message: known.message ?? '' }
}

export const replicaSetController: ControllerEntry = {
  name: 'replicaset-controller',
  aliases: ['replicaset'],
  defaultOn: true,
  start: (context, signal) =>
    runReplicaController(
      {
        kind: replicaSetKind,
        name: 'replicaset-controller',
        workers: context.options['concurrent-replicaset-syncs'],
      },
      context,
      signal,
    ),
}

export const replicationController: ControllerEntry = {
  name: 'replicationcontroller-controller',
  aliases: ['replicationcontroller'],
  eventSource: 'replication-controller',
  defaultOn: true,
  start: (context, signal) =>
    runReplicaController(
      {
        kind: replicationControllerKind,
        name: 'replicationcontroller-controller',
        workers: context.options['concurrent-rc-syncs'],
      },
      context,
      signal,
    ),
}
