/** Keeps as many pods as a ReplicaSet or ReplicationController asks for (upstream: pkg/controller/replicaset). */
import type { Pod } from '../../api/generated/types.ts'
import { labelKey } from '../../api/dialect.ts'
import { source, runController } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import { timestamp } from '../../component-base/clock.ts'
import { messageOf } from '../../component-base/log.ts'
import { matchesLabels, selectNothing } from '../../machinery/selectors/label-selector.ts'
import type { LabelSelector } from '../../machinery/selectors/label-selector.ts'
import { controllerOf, deepEqual, keyOf } from '../../machinery/objects/object.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import { eachAtOnce, slowStart } from '../batches.ts'
import { claimOwned } from '../claim.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createOwnWrites } from '../own-writes.ts'
import { controlledBy, indexByController } from '../pod-indexes.ts'
import { isActive } from '../pod-state.ts'
import { createPodControl, isNamespaceTerminating } from './pod-control.ts'
import { podsToDelete } from './pod-ranking.ts'
import { replicaSetKind, replicationControllerKind } from './replica-kind.ts'
import type { ReplicaKind, ReplicaOwner } from './replica-kind.ts'
import { nextAvailableInMs, replicaStatus } from './replica-status.ts'
import type { ReplicaFailure } from './replica-status.ts'

/** Most pods made or deleted in one go; the rest follows when these were seen. */
const burstReplicas = 500
/** Requests in flight at once: a server takes only so many, and there are other Deployments. */
const requestsAtOnce = 50

type Outcome = { readonly failure?: ReplicaFailure; readonly error?: unknown }

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
  const ownerClient = client.resource<ReplicaOwner>(resource)
  const control = createPodControl({ pods: podClient, recorder, resource })
  const deletionCostKey = labelKey(dialect, 'controller', 'pod-deletion-cost')
  indexByController(pods)
  indexByController(owners)
  const ownWrites = createOwnWrites(pods, clock)

  const selectorOf = (owner: ReplicaOwner): LabelSelector => {
    try {
      return kind.selectorOf(owner)
    } catch {
      // The server validates selectors; one that slipped through must not select anything.
      return selectNothing
    }
  }
  /** The owner a pod names, or every owner that would adopt it. */
  const ownersOf = (pod: Pod): string[] => {
    const controller = controllerOf(pod)
    const { namespace = '', labels } = pod.metadata
    if (controller !== undefined) {
      if (controller.kind !== resource.kind || controller.apiVersion !== apiVersionOf(resource))
        return []
      return [`${namespace}/${controller.name}`]
    }
    return owners
      .list()
      .filter((owner) => owner.metadata.namespace === namespace)
      .filter((owner) => matchesLabels(selectorOf(owner), labels))
      .map(keyOf)
  }
  /** Active pods of all replica sets of the same deployment: moving between them leaves nodes as crowded as they were. */
  const relatedPods = (owner: ReplicaOwner): Pod[] => {
    const controller = controllerOf(owner)
    const siblings =
      controller === undefined
        ? [owner]
        : controlledBy(owners, { metadata: { uid: controller.uid } }).owned
    return siblings.flatMap((sibling) => controlledBy(pods, sibling).owned).filter(isActive)
  }

  const create = async (owner: ReplicaOwner, count: number): Promise<Outcome> => {
    const key = keyOf(owner)
    const { error } = await slowStart(Math.min(count, burstReplicas), requestsAtOnce, async () => {
      ownWrites.wrote(key, await control.create(owner, owner.spec?.template))
    })
    if (error === undefined || isNamespaceTerminating(error)) return {}
    return { error, failure: { reason: 'FailedCreate', message: messageOf(error) } }
  }
  const remove = async (
    owner: ReplicaOwner,
    active: readonly Pod[],
    count: number,
  ): Promise<Outcome> => {
    const chosen = podsToDelete(active, Math.min(count, burstReplicas), {
      related: relatedPods(owner),
      deletionCostKey,
      nowMs: clock.now(),
    })
    const [error] = await eachAtOnce(chosen, requestsAtOnce, async (pod) => {
      await control.delete(owner, pod)
      ownWrites.deleted(keyOf(owner), pod)
    })
    if (error === undefined) return {}
    return { error, failure: { reason: 'FailedDelete', message: messageOf(error) } }
  }
  const scale = async (owner: ReplicaOwner, active: readonly Pod[]): Promise<Outcome> => {
    const missing = (owner.spec?.replicas ?? 1) - active.length
    if (missing > 0) return create(owner, missing)
    return missing < 0 ? remove(owner, active, -missing) : {}
  }

  const reconcile = async (key: string): Promise<Result | void> => {
    const owner = owners.get(key)
    if (owner === undefined) return
    const selector = selectorOf(owner)
    // Decided before the pods are read: what shows up in between can only make the cache newer.
    const pendingMs = ownWrites.pendingMs(key)
    const { owned, orphans } = controlledBy(pods, owner)
    const active = await claimOwned({
      candidates: [...owned, ...orphans].filter(isActive),
      owner,
      ownerClient,
      selector,
      client: podClient,
    })
    const mayScale = pendingMs === undefined && owner.metadata.deletionTimestamp === undefined
    const outcome = mayScale ? await scale(owner, active) : {}
    // A write that is still on its way says nothing about whether the last attempt failed.
    const failure = mayScale ? outcome.failure : knownFailure(owner)
    const nowMs = clock.now()
    const status = replicaStatus(owner, active, { nowMs, now: timestamp(nowMs), failure })
    if (!deepEqual(owner.status, status)) await ownerClient.updateStatus({ ...owner, status })
    if (outcome.error !== undefined) throw outcome.error
    const waits = [nextAvailableInMs(owner, active, nowMs), pendingMs].filter(
      (ms) => ms !== undefined,
    )
    return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) }
  }

  await runController(
    {
      queues,
      name,
      informers: [source(owners), source(pods, ownersOf)],
      reconcile,
      workers,
      clock,
      log,
    },
    signal,
  )
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
