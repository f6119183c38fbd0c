/** Counts for every PodDisruptionBudget how many of its pods may go (upstream: pkg/controller/disruption). */
import type {
  Pod,
  PodDisruptionBudget,
  PodDisruptionBudgetStatus,
} from '../../api/generated/types.ts'
import type { Result } from '../../client/controller.ts'
import { runController, source } from '../../client/controller.ts'
import { timestamp } from '../../component-base/clock.ts'
import { messageOf } from '../../component-base/log.ts'
import {
  labelSelectorFrom,
  matchesLabels,
  selectNothing,
} from '../../machinery/selectors/label-selector.ts'
import { controllerOf, deepEqual, keyOf, type ObjectMeta } from '../../machinery/objects/object.ts'
import { qualifiedName } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { inNamespace, indexByNamespace } from '../pod-indexes.ts'
import { withPodCondition } from '../pod-state.ts'
import { budgetStatus, disruptedPods, failedStatus } from './budget-status.ts'
import { expectedOf, type FindScale } from './expected-pods.ts'
import { staleInMs } from './stale-condition.ts'

/** A budget that could not be counted is looked at again: its pods' workload may just not have shown yet. */
const retryMs = 30_000

function selectorOf({ spec }: PodDisruptionBudget) {
  try {
    return labelSelectorFrom(spec?.selector)
  } catch {
    // The server validates selectors; one that slipped through must not select anything.
    return selectNothing
  }
}

/** What all workloads with a scale have in common. */
interface Scaled {
  metadata: ObjectMeta
  spec?: { replicas?: number }
}

/** Looks workloads up in the caches. A ReplicaSet of a Deployment counts as that Deployment. */
function scaleFinder({ informers, resources }: ControllerContext): FindScale {
  const { replicaSets, deployments, replicationControllers, statefulSets } = resources
  const scaled = [replicaSets, deployments, replicationControllers, statefulSets].map(
    (resource) =>
      [`${resource.group} ${resource.kind}`, informers.informer<Scaled>(resource)] as const,
  )
  const finders = new Map(scaled)
  const find: FindScale = ({ apiVersion, kind, name, uid }, namespace) => {
    const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['']
    const informer = finders.get(`${group} ${kind}`)
    if (informer === undefined) {
      const known = resources.all.find((one) => one.group === group && one.kind === kind)
      if (known === undefined) return undefined
      throw new Error(`${qualifiedName(known)} does not implement the scale subresource`)
    }
    const workload = informer.get(`${namespace}/${name}`)
    if (workload === undefined || workload.metadata.uid !== uid) return undefined
    const above = controllerOf(workload)
    if (kind === 'ReplicaSet' && above?.kind === 'Deployment') return find(above, namespace)
    return { uid, replicas: workload.spec?.replicas ?? 1 }
  }
  return find
}

async function runBudgets(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, informers, resources, clock, log, queues, recorder } = context
  const budgets = informers.informer<PodDisruptionBudget>(resources.podDisruptionBudgets)
  const pods = informers.informer<Pod>(resources.pods)
  const budgetClient = client.resource<PodDisruptionBudget>(resources.podDisruptionBudgets)
  indexByNamespace(pods)
  indexByNamespace(budgets)
  const findScale = scaleFinder(context)

  const budgetsOf = (pod: Pod): string[] => {
    const { namespace = '', labels } = pod.metadata
    return inNamespace(budgets, namespace)
      .filter((budget) => matchesLabels(selectorOf(budget), labels))
      .map(keyOf)
  }
  /** True when there was something to write. */
  const write = async (
    budget: PodDisruptionBudget,
    status: PodDisruptionBudgetStatus,
  ): Promise<boolean> => {
    if (deepEqual(budget.status, status)) return false
    await budgetClient.updateStatus({ ...budget, status }, { signal })
    return true
  }

  const reconcile = async (key: string): Promise<Result | void> => {
    const budget = budgets.get(key)
    if (budget === undefined) return
    const selector = selectorOf(budget)
    const { namespace = '' } = budget.metadata
    const covered = inNamespace(pods, namespace).filter(({ metadata }) =>
      matchesLabels(selector, metadata.labels),
    )
    const nowMs = clock.now()
    const now = timestamp(nowMs)
    let expectation
    try {
      expectation = expectedOf(budget, covered, findScale)
    } catch (error) {
      const why = messageOf(error)
      if (await write(budget, failedStatus(budget, { why, now }))) {
        recorder.record(budget, {
          type: 'Warning',
          reason: 'CalculateExpectedPodCountFailed',
          message: `Failed to calculate the number of expected pods: ${why}`,
        })
      }
      return { requeueAfterMs: retryMs }
    }
    const disrupted = disruptedPods(budget, covered, nowMs)
    const isWritten = await write(
      budget,
      budgetStatus(budget, covered, { expectation, disrupted, now }),
    )
    if (covered.length === 0 && isWritten) {
      recorder.record(budget, {
        type: 'Normal',
        reason: 'NoPods',
        message: 'No matching pods found',
      })
    }
    for (const pod of disrupted.overdue) {
      recorder.record(pod, {
        type: 'Warning',
        reason: 'NotDeleted',
        message: `Pod was expected by PDB ${key} to be deleted but it wasn't`,
      })
    }
    // One more, since a grant is overdue only after its time.
    if (disrupted.nextInMs !== undefined) return { requeueAfterMs: disrupted.nextInMs + 1 }
  }

  await runController(
    {
      queues,
      name: 'disruption-controller',
      informers: [source(budgets), source(pods, budgetsOf)],
      reconcile,
      clock,
      log,
    },
    signal,
  )
}

async function runStaleConditions(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, informers, resources, clock, log, queues } = context
  const pods = informers.informer<Pod>(resources.pods)
  const podClient = client.resource<Pod>(resources.pods)

  const reconcile = async (key: string): Promise<Result | void> => {
    const pod = pods.get(key)
    const waitMs = pod === undefined ? undefined : staleInMs(pod, clock.now())
    if (pod === undefined || waitMs === undefined) return
    if (waitMs > 0) return { requeueAfterMs: waitMs }
    const { namespace, name = '', resourceVersion } = pod.metadata
    const condition = { type: 'DisruptionTarget', status: 'False' }
    const conditions = withPodCondition(pod, condition, timestamp(clock.now()))
    const patch = { metadata: { resourceVersion }, status: { conditions } }
    try {
      await podClient.patch({ namespace, name }, patch, { type: 'merge', subresource: 'status' })
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
    }
  }

  await runController(
    {
      queues,
      name: 'disruption-controller-stale-conditions',
      informers: [
        source(pods, (pod) => (staleInMs(pod, clock.now()) === undefined ? [] : [keyOf(pod)])),
      ],
      reconcile,
      clock,
      log,
    },
    signal,
  )
}

export const disruptionController: ControllerEntry = {
  name: 'disruption-controller',
  aliases: ['disruption'],
  eventSource: 'controllermanager',
  defaultOn: true,
  start: async (context, signal) => {
    await Promise.all([runBudgets(context, signal), runStaleConditions(context, signal)])
  },
}
