/** Rolls Deployments out over ReplicaSets (upstream: pkg/controller/deployment). */
import type { Deployment, Pod, ReplicaSet } from '../../api/generated/types.ts'
import type { Resources } from '../../api/resources.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import type { Informer } from '../../client/informer.ts'
import type { LabelSelector } from '../../machinery/selectors/label-selector.ts'
import { controllerOf } from '../../machinery/objects/object.ts'
import { claimOwned } from '../claim.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { unlessGone } from '../gone-owners.ts'
import { createOwnWrites } from '../own-writes.ts'
import { ownerKeys, selectorOrNothing } from '../owner-keys.ts'
import { controlledBy, indexByController } from '../pod-indexes.ts'
import { countedStatus, pauseCondition, withDeploymentCondition } from './deployment-status.ts'
import { isRolling } from './replica-math.ts'
import { revisionKeys } from './revisions.ts'
import { Rollout } from './rollout.ts'
import type { RolloutTools } from './rollout.ts'
import { isScaled, recreate, reportRollout, rollingUpdate, scaleOnly } from './strategies.ts'

function selectorOf({ spec }: Deployment): LabelSelector {
  return selectorOrNothing(spec?.selector)
}

/** The reconciler's caches, clients and tools. */
interface DeploymentSync {
  readonly deployments: Informer<Deployment>
  readonly replicaSets: Informer<ReplicaSet>
  readonly pods: Informer<Pod>
  readonly tools: RolloutTools
  readonly resources: Resources
}

/** Runs until `signal` aborts. */
export async function runDeploymentController(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues, recorder, options } = context
  const deployments = informers.informer<Deployment>(resources.deployments)
  const replicaSets = informers.informer<ReplicaSet>(resources.replicaSets)
  const pods = informers.informer<Pod>(resources.pods)
  indexByController(replicaSets)
  indexByController(pods)
  const queue = queues('deployment')
  const tools = {
    deployments: client.resource<Deployment>(resources.deployments),
    replicaSets: client.resource<ReplicaSet>(resources.replicaSets),
    recorder,
    clock,
    keys: revisionKeys(dialect),
    hashKey: 'pod-template-hash',
    ownWrites: createOwnWrites(replicaSets, clock),
  }
  const sync = { deployments, replicaSets, pods, tools, resources }
  const ownersOfSet = ownerKeys(deployments, selectorOf)
  // A Recreate waits for the last old pod to end; no ReplicaSet changes then.
  pods.onEvent(({ type, object }) => {
    if (type !== 'delete') return
    const set = controllerOf(object)
    const replicaSet = set && replicaSets.get(`${object.metadata.namespace ?? ''}/${set.name}`)
    for (const key of replicaSet === undefined ? [] : ownersOfSet(replicaSet)) {
      const deployment = deployments.get(key)
      if (deployment !== undefined && !isRolling(deployment)) queue.add(key)
    }
  })
  await runController(
    {
      name: 'deployment-controller',
      informers: [source(deployments), source(replicaSets, ownersOfSet), source(pods, () => [])],
      reconcile: unlessGone(
        { owners: deployments, client: tools.deployments, ownWrites: tools.ownWrites },
        (key) => syncDeployment(sync, key),
      ),
      workers: options['concurrent-deployment-syncs'],
      clock,
      log,
      queue,
    },
    signal,
  )
}

async function syncDeployment(sync: DeploymentSync, key: string): Promise<Result | void> {
  const { deployments, replicaSets, tools } = sync
  const deployment = deployments.get(key)
  if (deployment === undefined) return
  const selector = selectorOf(deployment)
  if (selector.length === 0) {
    const message = 'This deployment is selecting all pods. A non-empty selector is required.'
    tools.recorder.record(deployment, { type: 'Warning', reason: 'SelectingAll', message })
    return
  }
  // Sizes are added up over all sets: acting on some that are older than our last write would make too many pods.
  const pendingMs = tools.ownWrites.pendingMs(key)
  if (pendingMs !== undefined) return { requeueAfterMs: pendingMs }
  const { owned, orphans } = controlledBy(replicaSets, deployment)
  const claimed = await claimOwned({
    candidates: [...owned, ...orphans],
    owner: deployment,
    ownerClient: tools.deployments,
    selector,
    client: tools.replicaSets,
  })
  return rollOut(sync, deployment, new Rollout(tools, deployment, claimed))
}

async function rollOut(
  { pods, tools }: DeploymentSync,
  deployment: Deployment,
  rollout: Rollout,
): Promise<Result | void> {
  const { keys, clock } = tools
  const nowMs = clock.now()
  if (deployment.metadata.deletionTimestamp !== undefined) {
    await rollout.updateStatus(countedStatus(deployment, rollout, nowMs))
    return
  }
  const paused = pauseCondition(deployment, nowMs)
  if (paused !== undefined)
    await rollout.updateStatus(withDeploymentCondition(deployment.status ?? {}, paused))
  if (deployment.spec?.paused === true || isScaled(rollout, keys)) {
    await scaleOnly(rollout, keys, nowMs)
    return
  }
  if (isRolling(deployment)) await rollingUpdate(rollout)
  else await recreate(rollout, (replicaSet) => controlledBy(pods, replicaSet).owned)
  const checkInMs = await reportRollout(rollout, nowMs)
  return checkInMs === undefined ? undefined : { requeueAfterMs: checkInMs }
}

export const deploymentController: ControllerEntry = {
  name: 'deployment-controller',
  aliases: ['deployment'],
  defaultOn: true,
  start: runDeploymentController,
}
