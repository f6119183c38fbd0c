/** Runs one pod of each DaemonSet on every eligible node (upstream: pkg/controller/daemon). */
import type { ControllerRevision, DaemonSet, Node, Pod } from '../../api/generated/types.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { Informer, InformerEvent } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { Clock } from '../../component-base/clock.ts'
import { deepEqual, keyOf } from '../../machinery/objects/object.ts'
import type { LabelSelector } from '../../machinery/selectors/label-selector.ts'
import { eachAtOnce, slowStartEach } from '../batches.ts'
import { claimOwned } from '../claim.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createOwnWrites } from '../own-writes.ts'
import type { OwnWrites } from '../own-writes.ts'
import { selectorOrNothing } from '../owner-keys.ts'
import { controlledBy, indexByController } from '../pod-indexes.ts'
import { nextAvailableInMs } from '../pod-state.ts'
import { createPodControl, isNamespaceTerminating } from '../replica-set/pod-control.ts'
import type { PodControl } from '../replica-set/pod-control.ts'
import { createRevisionControl } from '../revisions/revision-control.ts'
import type { RevisionControl } from '../revisions/revision-control.ts'
import { watchSets } from '../revisions/revisioned-sets.ts'
import { daemonTemplate } from './daemon-pods.ts'
import { daemonRevisions, outdatedRevisions } from './daemon-revisions.ts'
import { daemonStatus } from './daemon-status.ts'
import { eligibility } from './eligible-nodes.ts'
import { createFailedPodBackoff } from './failed-pod-backoff.ts'
import type { FailedPodBackoff } from './failed-pod-backoff.ts'
import type { DaemonFacts } from './node-pods.ts'
import { nodePods } from './node-pods.ts'
import { placementOf } from './placement.ts'
import { updateStep } from './rolling-update.ts'
import type { UpdateStep } from './rolling-update.ts'

/** Most pods made, and most deleted, in one go; the rest follows when these were seen. */
const burstReplicas = 250
/** Requests in flight at once. */
const requestsAtOnce = 50

/** The reconciler's caches, clients and tools. */
interface DaemonSync {
  readonly sets: Informer<DaemonSet>
  readonly pods: Informer<Pod>
  readonly nodes: Informer<Node>
  readonly setClient: ResourceClient<DaemonSet>
  readonly podClient: ResourceClient<Pod>
  readonly resource: Resource
  readonly control: PodControl
  readonly revisions: RevisionControl
  readonly ownWrites: OwnWrites
  readonly failures: FailedPodBackoff
  readonly recorder: EventRecorder
  readonly dialect: Dialect
  readonly clock: Clock
}

function createSync(context: ControllerContext): DaemonSync {
  const { client, informers, resources, dialect, clock, recorder } = context
  const resource = resources.daemonSets
  const sets = informers.informer<DaemonSet>(resource)
  const pods = informers.informer<Pod>(resources.pods)
  const revisions = informers.informer<ControllerRevision>(resources.controllerRevisions)
  indexByController(pods)
  indexByController(revisions)
  const ownWrites = createOwnWrites(
    [sets, pods, revisions] as unknown as readonly Informer[],
    clock,
  )
  const setClient = client.resource<DaemonSet>(resource)
  const podClient = client.resource<Pod>(resources.pods)
  return {
    sets,
    pods,
    nodes: informers.informer<Node>(resources.nodes),
    setClient,
    podClient,
    resource,
    control: createPodControl({ pods: podClient, recorder, resource }),
    revisions: createRevisionControl({
      revisions,
      client: client.resource<ControllerRevision>(resources.controllerRevisions),
      ownerClient: setClient,
      ownWrites,
    }),
    ownWrites,
    failures: createFailedPodBackoff(clock),
    recorder,
    dialect,
    clock,
  }
}

/** Runs until `signal` aborts. A restart forgets how often pods failed: their back-off begins anew. */
export async function runDaemonSetController(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, queues, options } = context
  const sync = createSync(context)
  const queue = queues('daemonset')
  sync.nodes.onEvent((event) => {
    for (const key of setsOfNode(sync, event)) queue.add(key)
  })
  const { informers, reconcile } = watchSets(context, sync, {
    selectorOf,
    syncSet: (key) => syncSet(sync, key),
  })
  await runController(
    {
      name: 'daemonset-controller',
      informers: [...informers, source(sync.nodes, () => [])],
      reconcile,
      workers: options['concurrent-daemonset-syncs'],
      clock,
      log,
      queue,
    },
    signal,
  )
}

function selectorOf({ spec }: DaemonSet): LabelSelector {
  return selectorOrNothing(spec?.selector)
}

/** The sets that the event of a node concerns. Nodes change with every heartbeat; labels and taints decide. */
function setsOfNode({ sets, dialect }: DaemonSync, event: InformerEvent<Node>): string[] {
  const { object: node } = event
  if (event.type !== 'update') {
    return sets
      .list()
      .filter((set) => eligibility(set, node, dialect).mayStay)
      .map(keyOf)
  }
  const { old } = event
  const isSame =
    deepEqual(old.metadata.labels, node.metadata.labels) &&
    deepEqual(old.spec?.taints, node.spec?.taints)
  if (isSame) return []
  return sets
    .list()
    .filter((set) => !deepEqual(eligibility(set, old, dialect), eligibility(set, node, dialect)))
    .map(keyOf)
}

async function syncSet(sync: DaemonSync, key: string): Promise<Result | void> {
  const { sets, pods, nodes, setClient, podClient, ownWrites, dialect, clock } = sync
  const set = sets.get(key)
  // The garbage collector deletes the pods of a set that is being deleted.
  if (set === undefined || set.metadata.deletionTimestamp !== undefined) return
  const selector = selectorOf(set)
  if (selector.length === 0) {
    const message = 'This daemon set is selecting all pods. A non-empty selector is required.'
    sync.recorder.record(set, { type: 'Warning', reason: 'SelectingAll', message })
    return
  }
  // A cache that is older than our last write does not show whether a node lacks a pod.
  const pendingMs = ownWrites.pendingMs(key)
  if (pendingMs !== undefined) return { requeueAfterMs: pendingMs }
  const { owned, orphans } = controlledBy(pods, set)
  const candidates = [...owned, ...orphans]
  const own = { owner: set, ownerClient: setClient, selector }
  const found = {
    members: await claimOwned({ ...own, candidates, client: podClient }),
    owned: await sync.revisions.claim(set, selector),
  }
  const revisions = await daemonRevisions(set, found, {
    control: sync.revisions,
    pods: podClient,
    ownWrites,
    resource: sync.resource,
  })
  const { members } = revisions
  const facts: DaemonFacts = {
    set,
    hash: revisions.hash,
    nodes: nodePods(set, nodes.list(), { pods: members, dialect }),
    nowMs: clock.now(),
  }
  const { error, waitMs } = await act(sync, facts)
  await writeStatus(sync, facts, revisions.collisions)
  if (error !== undefined) throw error
  for (const revision of outdatedRevisions(set, revisions.old, members))
    await sync.revisions.delete(set, revision)
  const { minReadySeconds = 0 } = set.spec ?? {}
  const waits = [nextAvailableInMs(members, minReadySeconds, facts.nowMs), waitMs].filter(
    (ms) => ms !== undefined,
  )
  return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) }
}

interface Outcome {
  readonly error?: unknown
  /** When the next failed pod may be deleted. */
  readonly waitMs?: number | undefined
}

/** First every node gets what it lacks; an update goes on when there is nothing of the kind to do. */
async function act(sync: DaemonSync, facts: DaemonFacts): Promise<Outcome> {
  const placement = placementOf(facts)
  const { failed, waitMs } = failedToDelete(sync, facts, placement.failed)
  for (const { pod, node } of placement.succeeded) {
    const message = `Found succeeded daemon pod ${keyOf(pod)} on node ${node}, will try to delete it`
    sync.recorder.record(facts.set, { type: 'Normal', reason: 'SucceededDaemonPod', message })
  }
  const placed = { creates: placement.creates, deletes: [...placement.deletes, ...failed] }
  const isSettled = placed.creates.length + placed.deletes.length === 0
  const error = await perform(sync, facts, isSettled ? updateStep(facts) : placed)
  return { error, waitMs }
}

function failedToDelete(
  { failures, recorder }: DaemonSync,
  { set }: DaemonFacts,
  failed: readonly { readonly pod: Pod; readonly node: string }[],
): { readonly failed: readonly Pod[]; readonly waitMs: number | undefined } {
  const pods: Pod[] = []
  const waits: number[] = []
  for (const { pod, node } of failed) {
    const key = `${set.metadata.uid}/${set.status?.observedGeneration ?? 0}/${node}`
    const inMs = failures.attemptInMs(key)
    if (inMs > 0) {
      waits.push(inMs)
      continue
    }
    const message = `Found failed daemon pod ${keyOf(pod)} on node ${node}, will try to kill it`
    recorder.record(set, { type: 'Warning', reason: 'FailedDaemonPod', message })
    pods.push(pod)
  }
  return { failed: pods, waitMs: waits.length === 0 ? undefined : Math.min(...waits) }
}

/** Creates and deletes pods, at most a burst of each; gives the first failure. */
async function perform(
  { control, ownWrites, dialect }: DaemonSync,
  { set, hash }: DaemonFacts,
  { creates, deletes }: UpdateStep,
): Promise<unknown> {
  const key = keyOf(set)
  const created = await slowStartEach(
    creates.slice(0, burstReplicas),
    requestsAtOnce,
    async (node) => {
      const template = daemonTemplate(set, node, { hash, dialect })
      await ownWrites.send(key, () => control.create(set, template))
    },
  )
  const [failure] = await eachAtOnce(
    deletes.slice(0, burstReplicas),
    requestsAtOnce,
    async (pod) => {
      await control.delete(set, pod)
      ownWrites.deleted(key, pod)
    },
  )
  // Nothing can be created in a namespace that ends; trying again is no use.
  const isInVain = created.error !== undefined && isNamespaceTerminating(created.error)
  return isInVain ? failure : (created.error ?? failure)
}

async function writeStatus(
  { setClient, ownWrites }: DaemonSync,
  facts: DaemonFacts,
  collisions: number,
): Promise<void> {
  const { set } = facts
  const status = daemonStatus(facts, collisions)
  if (deepEqual(set.status, status)) return
  ownWrites.wrote(keyOf(set), await setClient.updateStatus({ ...set, status }))
}

export const daemonSetController: ControllerEntry = {
  name: 'daemonset-controller',
  aliases: ['daemonset'],
  defaultOn: true,
  start: runDaemonSetController,
}
