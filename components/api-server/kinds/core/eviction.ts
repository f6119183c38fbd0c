/** Eviction: whether a Pod may go now, by the disruption budgets that cover it (upstream: pod/storage/eviction.go). */
import type { Pod, PodDisruptionBudget } from '../../../api/generated/types.ts'
import { timestamp } from '../../../component-base/clock.ts'
import { labelSelectorFrom, matchesLabels } from '../../../machinery/selectors/label-selector.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { forbidden, StatusError } from '../../../machinery/objects/status-error.ts'

/** The cause that tells clients a budget was in the way. */
const budgetCause = 'DisruptionBudget'
const tooManyText = "Cannot evict pod as it would violate the pod's disruption budget."
const retryAfterSeconds = 10
const maxDisruptedPods = 2000

/**
 * Decides one eviction. `budgets` are those of the Pod's namespace. Returns the budget with this disruption taken off it, whose
 * status is to be stored before the Pod is deleted; undefined when the eviction costs none. Throws a TooManyRequests
 * StatusError when a budget forbids it, and 500 or Forbidden for budgets that cannot be counted.
 */
export function decideEviction(
  podObject: KubeObject,
  budgets: readonly KubeObject[],
  nowMs: number,
): KubeObject | undefined {
  const pod = podObject as Pod
  if (isDoneOrNotRunning(pod)) return undefined
  const covering = budgets.filter((budget) => covers(budget as PodDisruptionBudget, pod))
  if (covering.length > 1) {
    throw new StatusError(
      '',
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    )
  }
  const [found] = covering
  if (found === undefined) return undefined
  if (!isReady(pod) && unhealthyMayGo(found as PodDisruptionBudget)) return undefined
  return withDisruption(found, pod, nowMs)
}

/**
 * Why an eviction that `decideEviction` found to cost nothing does so only while the Pod stays as it is: once the Pod is ready,
 * its budget counts it. Names the budget of a Pod that runs and is not ready. Undefined: whatever becomes of the Pod, its
 * eviction is free.
 */
export function freeWhile(
  podObject: KubeObject,
  budgets: readonly KubeObject[],
): 'pending' | { readonly unready: string } | undefined {
  const pod = podObject as Pod
  if (pod.status?.phase === 'Pending' && !pod.metadata.deletionTimestamp) return 'pending'
  if (isDoneOrNotRunning(pod)) return undefined
  const covering = budgets.find((budget) => covers(budget as PodDisruptionBudget, pod))
  return covering === undefined ? undefined : { unready: covering.metadata.name ?? '' }
}

function isDoneOrNotRunning({ status, metadata }: Pod): boolean {
  if (metadata.deletionTimestamp) return true
  return ['Succeeded', 'Failed', 'Pending'].includes(status?.phase ?? '')
}

function isReady({ status }: Pod): boolean {
  return (status?.conditions ?? []).some(
    ({ type, status: value }) => type === 'Ready' && value === 'True',
  )
}

function covers({ spec, metadata }: PodDisruptionBudget, pod: Pod): boolean {
  if (metadata.namespace !== pod.metadata.namespace) return false
  try {
    return matchesLabels(labelSelectorFrom(spec?.selector), pod.metadata.labels)
  } catch {
    // A budget with a selector that is not valid covers no Pod.
    return false
  }
}

/** A Pod that is not ready does not count as healthy, so that its going need not be paid for. */
function unhealthyMayGo({ spec, status }: PodDisruptionBudget): boolean {
  if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {}
  return desiredHealthy > 0 && currentHealthy >= desiredHealthy
}

const budgets = { group: 'policy', plural: 'poddisruptionbudget' }

function withDisruption(found: KubeObject, pod: Pod, nowMs: number): KubeObject {
  const budget = structuredClone(found)
  const { metadata, status } = budget as PodDisruptionBudget
  const name = metadata.name ?? ''
  const {
    observedGeneration = 0,
    disruptionsAllowed = 0,
    currentHealthy = 0,
    desiredHealthy = 0,
    disruptedPods = {},
  } = status ?? {}
  if (observedGeneration < (metadata.generation ?? 0)) {
    throw stillProcessed(name)
  }
  if (disruptionsAllowed < 0) {
    throw forbidden(budgets, name, 'pdb disruptions allowed is negative')
  }
  if (Object.keys(disruptedPods).length > maxDisruptedPods) {
    throw forbidden(
      budgets,
      name,
      'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    )
  }
  if (disruptionsAllowed === 0) {
    throw tooManyRequests(
      `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`,
      0,
    )
  }
  const now = timestamp(nowMs)
  budget['status'] = {
    ...status,
    disruptionsAllowed: disruptionsAllowed - 1,
    disruptedPods: { ...disruptedPods, [pod.metadata.name ?? '']: now },
  }
  if (disruptionsAllowed === 1) noteNoMoreDisruptions(budget, now)
  return budget
}

/** Upstream's controller keeps this condition too; it has to say so as soon as the last disruption is spent. */
function noteNoMoreDisruptions(budget: KubeObject, now: string): void {
  const { status, metadata } = budget as PodDisruptionBudget
  const conditions = (status?.conditions ?? []).filter(({ type }) => type !== 'DisruptionAllowed')
  budget['status'].conditions = [
    ...conditions,
    {
      type: 'DisruptionAllowed',
      status: 'False',
      ...(metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }),
      lastTransitionTime: now,
      reason: 'InsufficientPods',
      message: '',
    },
  ]
}

/** The budget's count, or the Pod that it counts, has just changed. */
export function stillProcessed(budget: string): StatusError {
  const why = `The disruption budget ${budget} is still being processed by the server.`
  return tooManyRequests(why, retryAfterSeconds)
}

function tooManyRequests(why: string, retrySeconds: number): StatusError {
  return new StatusError('TooManyRequests', tooManyText, {
    details: {
      causes: [{ reason: budgetCause, message: why }],
      ...(retrySeconds === 0 ? {} : { retryAfterSeconds: retrySeconds }),
    },
  })
}

/** The draft with the condition that tells why it is deleted (KEP-3329), unless it is on its way already. */
export function withEvictionCondition(draft: KubeObject, nowMs: number): KubeObject {
  if (draft.metadata.deletionTimestamp !== undefined) return draft
  const { status = {} } = draft as Pod
  const old = status.conditions?.find(({ type }) => type === 'DisruptionTarget')
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
    lastTransitionTime:
      (old?.status === 'True' ? old.lastTransitionTime : undefined) ?? timestamp(nowMs),
  }
  const others = (status.conditions ?? []).filter((one) => one !== old)
  return Object.assign(draft, { status: { ...status, conditions: [...others, condition] } })
}
