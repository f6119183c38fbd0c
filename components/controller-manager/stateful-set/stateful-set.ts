/** Keeps the pods of StatefulSets, each with an identity of its own (upstream: pkg/controller/statefulset). */
import type {
  ControllerRevision,
  PersistentVolumeClaim,
  Pod,
  StatefulSet,
} from '../../api/generated/types.ts'
import { labelKey } from '../../api/dialect.ts'
import type { Resources } from '../../api/resources.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { Clock } from '../../component-base/clock.ts'
import { deepEqual, keyOf } from '../../machinery/objects/object.ts'
import type { LabelSelector } from '../../machinery/selectors/label-selector.ts'
import { slowStartEach } from '../batches.ts'
import { claimOwned } from '../claim.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createOwnWrites } from '../own-writes.ts'
import type { OwnWrites } from '../own-writes.ts'
import { selectorOrNothing } from '../owner-keys.ts'
import { controlledBy, inNamespace, indexByController, indexByNamespace } from '../pod-indexes.ts'
import { nextAvailableInMs } from '../pod-state.ts'
import { isNamespaceTerminating } from '../replica-set/pod-control.ts'
import { createRevisionControl } from '../revisions/revision-control.ts'
import type { RevisionControl } from '../revisions/revision-control.ts'
import { watchSets } from '../revisions/revisioned-sets.ts'
import type { IdentityKeys } from './identity.ts'
import { identityKeys, newPod, ordinalOf, podRevision, startOrdinal } from './identity.ts'
import type { Plan, Step } from './plan.ts'
import { planOf } from './plan.ts'
import { createStatefulPodControl } from './stateful-pod-control.ts'
import type { StatefulPodControl } from './stateful-pod-control.ts'
import type { StatefulRevisions } from './stateful-revisions.ts'
import { outdatedRevisions, statefulRevisions, templateAt } from './stateful-revisions.ts'
import { statefulStatus } from './stateful-status.ts'

/** Requests of one set in flight at once, with parallel management. */
const requestsAtOnce = 50

/** The reconciler's caches, clients and tools. */
interface StatefulSync {
  readonly resources: Resources
  readonly sets: Informer<StatefulSet>
  readonly pods: Informer<Pod>
  readonly claims: Informer<PersistentVolumeClaim>
  readonly setClient: ResourceClient<StatefulSet>
  readonly podClient: ResourceClient<Pod>
  readonly control: StatefulPodControl
  readonly revisions: RevisionControl
  readonly ownWrites: OwnWrites
  readonly keys: IdentityKeys
  readonly hashKey: string
  readonly honorsMaxUnavailable: boolean
  readonly clock: Clock
}

function createSync(context: ControllerContext): StatefulSync {
  const { client, informers, resources, dialect, clock, recorder, gates } = context
  const sets = informers.informer<StatefulSet>(resources.statefulSets)
  const pods = informers.informer<Pod>(resources.pods)
  const claims = informers.informer<PersistentVolumeClaim>(resources.persistentVolumeClaims)
  const revisions = informers.informer<ControllerRevision>(resources.controllerRevisions)
  indexByController(pods)
  indexByController(revisions)
  indexByNamespace(sets)
  const written = [sets, pods, revisions] as unknown as readonly Informer[]
  const ownWrites = createOwnWrites(written, clock)
  const setClient = client.resource<StatefulSet>(resources.statefulSets)
  const podClient = client.resource<Pod>(resources.pods)
  const keys = identityKeys(dialect)
  return {
    resources,
    sets,
    pods,
    claims,
    setClient,
    podClient,
    control: createStatefulPodControl({
      pods: podClient,
      claims: client.resource<PersistentVolumeClaim>(resources.persistentVolumeClaims),
      claimCache: claims,
      recorder,
      ownWrites,
      keys,
      kinds: resources,
    }),
    revisions: createRevisionControl({
      revisions,
      client: client.resource<ControllerRevision>(resources.controllerRevisions),
      ownerClient: setClient,
      ownWrites,
    }),
    ownWrites,
    keys,
    hashKey: labelKey(dialect, 'controller', 'hash'),
    honorsMaxUnavailable: gates.MaxUnavailableStatefulSet,
    clock,
  }
}

/** Runs until `signal` aborts. */
export async function runStatefulSetController(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, queues, options } = context
  const sync = createSync(context)
  const { informers, reconcile } = watchSets(context, sync, {
    selectorOf,
    syncSet: (key) => syncSet(sync, key),
  })
  await runController(
    {
      name: 'statefulset-controller',
      informers: [...informers, source(sync.claims, (claim) => setsOfClaim(sync, claim))],
      reconcile,
      workers: options['concurrent-statefulset-syncs'],
      clock,
      log,
      queue: queues('statefulset'),
    },
    signal,
  )
}

function selectorOf({ spec }: StatefulSet): LabelSelector {
  return selectorOrNothing(spec?.selector)
}

/** The sets that have a claim of this name. */
function setsOfClaim({ sets }: StatefulSync, { metadata }: PersistentVolumeClaim): string[] {
  const { namespace = '', name = '' } = metadata
  const stem = /^(.+)-\d+$/.exec(name)?.[1]
  if (stem === undefined) return []
  const hasClaim = (set: StatefulSet): boolean =>
    (set.spec?.volumeClaimTemplates ?? []).some(
      (template) => stem === `${template.metadata.name}-${set.metadata.name}`,
    )
  return inNamespace(sets, namespace).filter(hasClaim).map(keyOf)
}

async function syncSet(sync: StatefulSync, key: string): Promise<Result | void> {
  const { sets, pods, setClient, podClient, ownWrites, resources } = sync
  const set = sets.get(key)
  if (set === undefined) return
  // Decisions follow from one another: none is made on what is older than our last write.
  const pendingMs = ownWrites.pendingMs(key)
  if (pendingMs !== undefined) return { requeueAfterMs: pendingMs }
  const selector = selectorOf(set)
  const { owned, orphans } = controlledBy(pods, set)
  const members = await claimOwned({
    candidates: [...owned, ...orphans],
    owner: set,
    ownerClient: setClient,
    selector,
    client: podClient,
    isMember: (pod) => ordinalOf(set, pod) !== undefined,
  })
  // The garbage collector deletes the pods of a set that is being deleted.
  if (set.metadata.deletionTimestamp !== undefined) {
    const { currentRevision = '', updateRevision = '', collisionCount = 0 } = set.status ?? {}
    const names = { current: currentRevision, update: updateRevision, collisions: collisionCount }
    return writeStatus(sync, set, { members, revisions: names, replaced: 0 })
  }
  const history = await sync.revisions.claim(set, selector)
  const facts = {
    control: sync.revisions,
    resource: resources.statefulSets,
    hashKey: sync.hashKey,
  }
  const revisions = await statefulRevisions(set, history, facts)
  return rollOut(sync, set, { members, history, revisions })
}

async function rollOut(
  sync: StatefulSync,
  set: StatefulSet,
  found: {
    readonly members: readonly Pod[]
    readonly history: readonly ControllerRevision[]
    readonly revisions: StatefulRevisions
  },
): Promise<Result | void> {
  const { claims, keys, resources, honorsMaxUnavailable, clock } = sync
  const { members, history, revisions } = found
  const names = {
    current: revisions.current.metadata.name ?? '',
    update: revisions.update.metadata.name ?? '',
    collisions: revisions.collisions,
  }
  const plan = planOf({
    set,
    pods: members,
    claim: (name) => claims.get(`${set.metadata.namespace}/${name}`),
    updateRevision: names.update,
    keys,
    kinds: resources,
    nowMs: clock.now(),
    honorsMaxUnavailable,
  })
  const { error, isDone } = await carryOut(sync, set, { plan, revisions })
  const replaced = isDone ? plan.replaced : 0
  const result = await writeStatus(sync, set, { members, revisions: names, replaced })
  const used = new Set([names.current, names.update, ...members.map(podRevision)])
  for (const revision of outdatedRevisions(set, history, used))
    await sync.revisions.delete(set, revision)
  // Nothing can be created in a namespace that ends; trying again is no use.
  if (error !== undefined && !isNamespaceTerminating(error)) throw error
  return result
}

/** Stops after the first stage with a failure, and gives that. */
async function carryOut(
  sync: StatefulSync,
  set: StatefulSet,
  { plan, revisions }: { readonly plan: Plan; readonly revisions: StatefulRevisions },
): Promise<{ readonly error?: unknown; readonly isDone: boolean }> {
  for (const stage of plan.stages) {
    const { error } = await slowStartEach(stage, requestsAtOnce, (step) =>
      perform(sync, set, { step, revisions }),
    )
    if (error !== undefined) return { error, isDone: false }
  }
  return { isDone: true }
}

async function perform(
  { control, keys, resources }: StatefulSync,
  set: StatefulSet,
  { step, revisions }: { readonly step: Step; readonly revisions: StatefulRevisions },
): Promise<void> {
  switch (step.act) {
    case 'create': {
      const { type, rollingUpdate } = set.spec?.updateStrategy ?? {}
      const first = startOrdinal(set) + (rollingUpdate?.partition ?? 0)
      const isOld = type !== 'OnDelete' && step.ordinal < first
      const from = isOld ? revisions.current : revisions.update
      const pod = newPod(set, step.ordinal, {
        template: templateAt(set, from),
        revision: from.metadata.name ?? '',
        keys,
        resource: resources.statefulSets,
      })
      await control.create(set, step.ordinal, pod)
      break
    }
    case 'claims':
      await control.provideClaims(set, step.ordinal, step.pod)
      break
    case 'repair':
      await control.repair(set, step.ordinal, step.pod)
      break
    case 'retain':
      await control.retainClaims(set, step.ordinal, step.pod)
      break
    case 'delete':
      await control.delete(set, step.pod)
      break
  }
}

async function writeStatus(
  { setClient, ownWrites, clock }: StatefulSync,
  set: StatefulSet,
  at: {
    readonly members: readonly Pod[]
    readonly revisions: { current: string; update: string; collisions: number }
    readonly replaced: number
  },
): Promise<Result | void> {
  const nowMs = clock.now()
  const status = statefulStatus(set, at.members, { ...at, nowMs })
  if (!deepEqual(set.status, status))
    ownWrites.wrote(keyOf(set), await setClient.updateStatus({ ...set, status }))
  const waitMs = nextAvailableInMs(at.members, set.spec?.minReadySeconds ?? 0, nowMs)
  return waitMs === undefined ? undefined : { requeueAfterMs: waitMs }
}

export const statefulSetController: ControllerEntry = {
  name: 'statefulset-controller',
  aliases: ['statefulset'],
  defaultOn: true,
  start: runStatefulSetController,
}
