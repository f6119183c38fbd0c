/** Counts for every PodDisruptionBudget how many of its pods may go (upstream: pkg/controller/disruption). */
import type {
  Pod,
  PodDisruptionBudget,
  PodDisruptionBudgetStatus,
} from '../../api/generated/types.ts'
import type { Result } from '../../client/controller.ts'
import { runController, source } from '../../client/controller.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { createDiscovery } from '../../client/server-resources.ts'
import type { Discover } from '../../client/server-resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import { timestamp } from '../../component-base/clock.ts'
import { messageOf } from '../../component-base/log.ts'
import {
  labelSelectorFrom,
  matchesLabels,
  selectNothing,
} from '../../machinery/selectors/label-selector.ts'
import { deepEqual, keyOf } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { inNamespace, indexByNamespace } from '../pod-indexes.ts'
import { withPodCondition } from '../pod-state.ts'
import { budgetStatus, disruptedPods, failedStatus } from './budget-status.ts'
import { expectedOf, type FindScale } from './expected-pods.ts'
import { createScaleFinder } from './scale-finder.ts'
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

/** The caches, clients and tools of the budgets' reconciler. */
interface BudgetSync {
  readonly budgets: Informer<PodDisruptionBudget>
  readonly pods: Informer<Pod>
  readonly budgetClient: ResourceClient<PodDisruptionBudget>
  readonly findScale: FindScale
  readonly recorder: EventRecorder
  readonly clock: Clock
}

async function runBudgets(
  context: ControllerContext,
  discover: Discover,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, clock, log, queues, recorder } = context
  const budgets = informers.informer<PodDisruptionBudget>(resources.podDisruptionBudgets)
  const pods = informers.informer<Pod>(resources.pods)
  indexByNamespace(pods)
  indexByNamespace(budgets)
  const budgetClient = client.resource<PodDisruptionBudget>(resources.podDisruptionBudgets)
  const findScale = createScaleFinder(context, discover)
  const sync = { budgets, pods, budgetClient, findScale, recorder, clock }
  const budgetsOf = ({ metadata: { namespace = '', labels } }: Pod): string[] =>
    inNamespace(budgets, namespace)
      .filter((budget) => matchesLabels(selectorOf(budget), labels))
      .map(keyOf)
  await runController(
    {
      queues,
      name: 'disruption-controller',
      informers: [source(budgets), source(pods, budgetsOf)],
      reconcile: (key) => syncBudget(sync, key, signal),
      clock,
      log,
    },
    signal,
  )
}

async function syncBudget(
  sync: BudgetSync,
  key: string,
  signal: AbortSignal,
): Promise<Result | void> {
  const { budgets, pods, findScale, clock } = sync
  const budget = budgets.get(key)
  if (budget === undefined) return
  const selector = selectorOf(budget)
  const covered = inNamespace(pods, budget.metadata.namespace ?? '').filter(({ metadata }) =>
    matchesLabels(selector, metadata.labels),
  )
  const nowMs = clock.now()
  const now = timestamp(nowMs)
  let expectation
  try {
    expectation = await expectedOf(budget, covered, findScale)
  } catch (error) {
    const status = failedStatus(budget, { why: messageOf(error), now })
    if (await writeStatus(sync, { budget, status }, signal)) recordUncounted(sync, budget, error)
    return { requeueAfterMs: retryMs }
  }
  const disrupted = disruptedPods(budget, covered, nowMs)
  const status = budgetStatus(budget, covered, { expectation, disrupted, now })
  const isWritten = await writeStatus(sync, { budget, status }, signal)
  if (covered.length === 0 && isWritten) {
    const message = 'No matching pods found'
    sync.recorder.record(budget, { type: 'Normal', reason: 'NoPods', message })
  }
  recordOverdue(sync, key, disrupted.overdue)
  // One more, since a grant is overdue only after its time.
  if (disrupted.nextInMs !== undefined) return { requeueAfterMs: disrupted.nextInMs + 1 }
}

function recordUncounted(
  { recorder }: BudgetSync,
  budget: PodDisruptionBudget,
  error: unknown,
): void {
  recorder.record(budget, {
    type: 'Warning',
    reason: 'CalculateExpectedPodCountFailed',
    message: `Failed to calculate the number of expected pods: ${messageOf(error)}`,
  })
}

function recordOverdue({ recorder }: BudgetSync, key: string, pods: readonly Pod[]): void {
  for (const pod of pods) {
    recorder.record(pod, {
      type: 'Warning',
      reason: 'NotDeleted',
      message: `Pod was expected by PDB ${key} to be deleted but it wasn't`,
    })
  }
}

/** Resolves with false if the budget has this status already. */
async function writeStatus(
  { budgetClient }: BudgetSync,
  { budget, status }: { budget: PodDisruptionBudget; status: PodDisruptionBudgetStatus },
  signal: AbortSignal,
): Promise<boolean> {
  if (deepEqual(budget.status, status)) return false
  await budgetClient.updateStatus({ ...budget, status }, { signal })
  return true
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

/** Runs until `signal` aborts. `discover` finds the scale of custom resources. */
export async function runDisruption(
  discover: Discover,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all([runBudgets(context, discover, signal), runStaleConditions(context, signal)])
}

export const disruptionController: ControllerEntry = {
  name: 'disruption-controller',
  aliases: ['disruption'],
  eventSource: 'controllermanager',
  defaultOn: true,
  start: (context, signal) => runDisruption(createDiscovery(context.client), context, signal),
}
