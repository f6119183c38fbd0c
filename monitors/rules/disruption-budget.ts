/**
 * An eviction never breaks a PodDisruptionBudget. Each grant takes exactly one from `disruptionsAllowed`, which was above zero;
 * each pod that is evicted and needs a grant has one; and evictions alone never bring the healthy pods below `desiredHealthy`.
 * Pods that others delete or that fail do not count: the API server cannot know of them before the controller has counted.
 */
import type { Pod, PodDisruptionBudget } from '../../components/api/generated/types.ts'
import { keyOf } from '../../components/machinery/objects/object.ts'
import {
  labelSelectorFrom,
  matchesLabels,
} from '../../components/machinery/selectors/label-selector.ts'
import type { Change } from '../change.ts'
import { isOf, nameOf, uidOf } from '../change.ts'
import { findingOf, type Finding, type Rule } from '../monitor.ts'

/** The controller may have counted pods that were lost within this time before it wrote. */
const unseenMs = 30_000
/** An eviction is decided, granted and carried out within this time. */
const underWayMs = 10_000

interface Budget {
  object: PodDisruptionBudget
  readonly sinceMs: number
  /** When the controller last wrote its count. */
  countedAtMs: number
  /** Pods with a grant, by name: the revision that granted. */
  readonly grants: Map<string, number>
}

interface Loss {
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly atMs: number
}

const isReady = ({ status }: Pod): boolean =>
  (status?.conditions ?? []).some(({ type, status: is }) => type === 'Ready' && is === 'True')

const isEvicted = ({ status }: Pod): boolean =>
  (status?.conditions ?? []).some(
    ({ type, status: is, reason }) =>
      type === 'DisruptionTarget' && is === 'True' && reason === 'EvictionByEvictionAPI',
  )

const isHealthy = (pod: Pod): boolean =>
  isReady(pod) && pod.metadata.deletionTimestamp === undefined && !isEvicted(pod)

function covers({ spec, metadata }: PodDisruptionBudget, pod: Pod): boolean {
  if (metadata.namespace !== pod.metadata.namespace) return false
  try {
    return matchesLabels(labelSelectorFrom(spec?.selector), pod.metadata.labels)
  } catch {
    // The API server lets such a budget cover no pod.
    return false
  }
}

/** Whether the pod, as it was, goes without a grant (KEP-3017 for pods that are not ready). */
function needsNoGrant(pod: Pod, { spec, status }: PodDisruptionBudget): boolean {
  const isRunning = pod.status?.phase === 'Running' || pod.status?.phase === 'Unknown'
  if (pod.metadata.deletionTimestamp !== undefined || !isRunning) return true
  if (isReady(pod)) return false
  if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {}
  return desiredHealthy > 0 && currentHealthy >= desiredHealthy
}

/** What is wrong with a write that grants evictions to these pods. */
function faultsOfGrant(change: Change, granted: readonly string[]): Finding[] {
  const before = change.old as PodDisruptionBudget
  const { disruptionsAllowed: had = 0, observedGeneration = 0 } = before.status ?? {}
  const { disruptionsAllowed: left = 0 } = (change.object as PodDisruptionBudget).status ?? {}
  const at = `${nameOf(change)} granted the eviction of ${granted.join(', ')} at revision ${change.revision}`
  return [
    ...(had - left === granted.length && left >= 0
      ? []
      : [findingOf(change, `${at} and went from ${had} to ${left} allowed disruptions`)]),
    ...(observedGeneration < (before.metadata.generation ?? 0)
      ? [findingOf(change, `${at} before generation ${before.metadata.generation} was counted`)]
      : []),
  ]
}

/** Follows the counts and grants of the budgets. */
function takeBudget(budgets: Map<string, Budget>, change: Change): Finding[] {
  const object = change.object as PodDisruptionBudget
  const uid = uidOf(object)
  const known = budgets.get(uid)
  if (change.type === 'DELETED') {
    budgets.delete(uid)
    return []
  }
  const names = Object.keys(object.status?.disruptedPods ?? {})
  const { atMs, revision } = change
  if (known === undefined || change.isListed) {
    const grants = new Map(names.map((name) => [name, revision]))
    budgets.set(uid, { object, sinceMs: known?.sinceMs ?? atMs, countedAtMs: atMs, grants })
    return []
  }
  const before = known.object.status?.disruptedPods ?? {}
  const granted = names.filter((name) => before[name] === undefined)
  known.object = object
  for (const name of granted) known.grants.set(name, revision)
  if (granted.length > 0) return faultsOfGrant(change, granted)
  const isCount =
    JSON.stringify((change.old as PodDisruptionBudget).status) !== JSON.stringify(object.status)
  if (isCount) known.countedAtMs = atMs
  // A grant that came to nothing is over once the controller forgets it: the pod counts again.
  for (const name of known.grants.keys()) if (!names.includes(name)) known.grants.delete(name)
  return []
}

/** Losses by others that the budget's count may not hold yet. */
function unseenLosses(
  losses: readonly Loss[],
  { object, countedAtMs }: Budget,
  nowMs: number,
): number {
  const sinceMs = Math.min(countedAtMs, nowMs - unseenMs)
  return losses.filter(({ namespace, labels, atMs }) => {
    const pod = { metadata: { namespace, labels } } as Pod
    return atMs >= sinceMs && covers(object, pod)
  }).length
}
function healthyBut(pods: Iterable<Pod>, { object, grants }: Budget, evicted: Pod): number {
  return [...pods].filter(
    (pod) =>
      covers(object, pod) &&
      isHealthy(pod) &&
      uidOf(pod) !== uidOf(evicted) &&
      !grants.has(pod.metadata.name ?? ''),
  ).length
}

export function disruptionBudget(): Required<Pick<Rule, 'take'>> {
  const budgets = new Map<string, Budget>()
  const pods = new Map<string, Pod>()
  let losses: Loss[] = []

  const judge = (change: Change, budget: Budget, old: Pod): Finding[] => {
    const name = old.metadata.name ?? ''
    const isGranted = budget.grants.delete(name)
    if (needsNoGrant(old, budget.object)) return []
    const at = `${nameOf(change)} was evicted at revision ${change.revision}`
    const revisions = [budget.object.metadata.resourceVersion ?? '']
    const text = `PodDisruptionBudget ${keyOf(budget.object)} (revision ${budget.object.metadata.resourceVersion})`
    // A budget that is as young may have come after the decision.
    if (!isGranted)
      return change.atMs - budget.sinceMs < underWayMs
        ? []
        : [findingOf(change, `${at} without a grant of ${text}`, revisions)]
    const left = healthyBut(pods.values(), budget, old)
    const { desiredHealthy = 0 } = budget.object.status ?? {}
    const lost = unseenLosses(losses, budget, change.atMs)
    if (left + lost >= desiredHealthy) return []
    const short = `${at} and left ${left} healthy pods to ${text}, which needs ${desiredHealthy}`
    return [findingOf(change, short, revisions)]
  }
  const takePod = (change: Change): Finding[] => {
    const pod = change.object as Pod
    const uid = uidOf(pod)
    const old = change.old as Pod | undefined
    if (change.type === 'DELETED') pods.delete(uid)
    else pods.set(uid, pod)
    if (old === undefined) return []
    const isGone = change.type === 'DELETED' || !isHealthy(pod)
    if (isHealthy(old) && isGone && !isEvicted(pod)) {
      const { namespace = '', labels = {} } = old.metadata
      losses = [...losses.slice(-500), { namespace, labels, atMs: change.atMs }]
    }
    if (change.isListed || isEvicted(old) || !isEvicted(pod)) return []
    return [...budgets.values()]
      .filter(({ object }) => covers(object, old))
      .flatMap((budget) => judge(change, budget, old))
  }
  return {
    take: (change) => {
      if (isOf(change, 'poddisruptionbudgets')) return takeBudget(budgets, change)
      return isOf(change, 'pods') ? takePod(change) : []
    },
  }
}
