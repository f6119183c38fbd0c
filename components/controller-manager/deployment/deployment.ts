/** Rolls Deployments out over ReplicaSets (upstream: pkg/controller/deployment). */
import type { Deployment, Pod, ReplicaSet } from '../../api/generated/types.ts'
import type { Resources } from '../../api/resources.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import type { Informer } from '../../client/informer.ts'
import type { LabelSelector } from '../../machinery/selectors/label-selector.ts'
import {
  labelSelectorFrom,
  matchesLabels,
  selectNothing,
} from '../../machinery/selectors/label-selector.ts'
import { controllerOf, keyOf } from '../../machinery/objects/object.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import { claimOwned } from '../claim.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createOwnWrites } from '../own-writes.ts'
import { controlledBy, indexByController } from '../pod-indexes.ts'
import { countedStatus, pauseCondition, withDeploymentCondition } from './deployment-status.ts'
import { isRolling } from './replica-math.ts'
import { revisionKeys } from './revisions.ts'
import { Rollout } from './rollout.ts'
import type { RolloutTools } from './rollout.ts'
import { isScaled, recreate, reportRollout, rollingUpdate, scaleOnly } from './strategies.ts'

function selectorOf(deployment: Deployment): LabelSelector {
  try {
    return labelSelectorFrom(deployment.spec?.selector)
  } catch {
    // The server validates selectors; one that slipped through must not select anything.
    return selectNothing
  }
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
  // A Recreate waits for the last old pod to end; no ReplicaSet changes then.
  pods.onEvent(({ type, object }) => {
    if (type !== 'delete') return
    const set = controllerOf(object)
    const replicaSet = set && replicaSets.get(`${object.metadata.namespace ?? ''}/${set.name}`)
    for (const key of replicaSet === undefined ? [] : ownersOf(sync, replicaSet)) {
      const deployment = deployments.get(key)
      if (deployment !== undefined && !isRolling(deployment)) queue.add(key)
    }
  })
  const ownersOfSet = (replicaSet: ReplicaSet): string[] => ownersOf(sync, replicaSet)
  await runController(
    {
      name: 'deployment-controller',
      informers: [source(deployments), source(replicaSets, ownersOfSet), source(pods, () => [])],
      reconcile: (key) => syncDeployment(sync, key),
      workers: options['concurrent-deployment-syncs'],
      clock,
      log,
      queue,
    },
    signal,
  )
}

/** The Deployment a ReplicaSet names, or every one that would adopt it. */
function ownersOf({ deployments, resources }: DeploymentSync, replicaSet: ReplicaSet): string[] {
  const controller = controllerOf(replicaSet)
  const { namespace = '', labels } = replicaSet.metadata
  if (controller !== undefined) {
    const { kind } = resources.deployments
    const apiVersion = apiVersionOf(resources.deployments)
    const isOurs = controller.kind === kind && controller.apiVersion === apiVersion
    return isOurs ? [`${namespace}/${controller.name}`] : []
  }
  return deployments
    .list()
    .filter((deployment) => deployment.metadata.namespace === namespace)
    .filter((deployment) => matchesLabels(selectorOf(deployment), labels))
    .map(keyOf)
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
