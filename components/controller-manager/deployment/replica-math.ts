/** How a Deployment spreads its replicas over ReplicaSets (upstream: pkg/controller/deployment/util, rolling.go, sync.go). Pure. */
import type { Deployment, ReplicaSet } from '../../api/generated/types.ts'

/** One ReplicaSet and the size it is to have. */
export interface Resize {
  readonly replicaSet: ReplicaSet
  readonly replicas: number
}

export function sizeOf(replicaSet: ReplicaSet): number {
  return replicaSet.spec?.replicas ?? 0
}

export function totalSize(replicaSets: readonly ReplicaSet[]): number {
  return replicaSets.reduce((sum, replicaSet) => sum + sizeOf(replicaSet), 0)
}

export function totalAvailable(replicaSets: readonly ReplicaSet[]): number {
  return replicaSets.reduce((sum, { status }) => sum + (status?.availableReplicas ?? 0), 0)
}

export function desiredReplicas(deployment: Deployment): number {
  return deployment.spec?.replicas ?? 1
}

export function isRolling(deployment: Deployment): boolean {
  return deployment.spec?.strategy?.type !== 'Recreate'
}

/** An amount that may be a percentage of `total`; absent is 0. */
export function share(
  value: number | string | undefined,
  total: number,
  round: (n: number) => number,
) {
  if (value === undefined) return 0
  if (typeof value === 'number') return value
  return round((Number.parseInt(value, 10) * total) / 100)
}

/** Surge rounds up, unavailable rounds down; both zero would never move, so one may then be unavailable. */
function limits(deployment: Deployment): { surge: number; unavailable: number } {
  const { maxSurge, maxUnavailable } = deployment.spec?.strategy?.rollingUpdate ?? {}
  const replicas = desiredReplicas(deployment)
  const surge = share(maxSurge, replicas, Math.ceil)
  const unavailable = share(maxUnavailable, replicas, Math.floor)
  return surge === 0 && unavailable === 0 ? { surge, unavailable: 1 } : { surge, unavailable }
}

/** Pods there may be beyond the desired number. */
export function maxSurge(deployment: Deployment): number {
  return isRolling(deployment) ? limits(deployment).surge : 0
}

/** Pods of the desired number that may be missing. */
export function maxUnavailable(deployment: Deployment): number {
  const replicas = desiredReplicas(deployment)
  if (!isRolling(deployment) || replicas === 0) return 0
  return Math.min(limits(deployment).unavailable, replicas)
}

/** The size the newest ReplicaSet may have now, given all (itself included, unless it is still to be made). */
export function newReplicaSetSize(
  deployment: Deployment,
  all: readonly ReplicaSet[],
  current: number,
): number {
  const desired = desiredReplicas(deployment)
  if (!isRolling(deployment)) return desired
  const room = desired + maxSurge(deployment) - totalSize(all)
  return room <= 0 ? current : current + Math.min(room, desired - current)
}

export function byAge(a: ReplicaSet, b: ReplicaSet): number {
  const ages = [a, b].map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? '') || 0)
  const [first = 0, second = 0] = ages
  return first - second || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1)
}

/** Takes up to `budget` pods from the sets, oldest first, at most `most(set)` from each. */
function takeFrom(
  replicaSets: readonly ReplicaSet[],
  budget: number,
  most: (replicaSet: ReplicaSet) => number,
): ReplicaSet[] {
  let left = budget
  return replicaSets.toSorted(byAge).map((replicaSet) => {
    const taken = Math.max(0, Math.min(left, most(replicaSet), sizeOf(replicaSet)))
    left -= taken
    return taken === 0
      ? replicaSet
      : { ...replicaSet, spec: { ...replicaSet.spec, replicas: sizeOf(replicaSet) - taken } }
  }) as ReplicaSet[]
}

/**
 * What the old ReplicaSets shrink to in one step of a rolling update: first their pods that are not available, which costs
 * nothing, then available ones as far as the minimum allows.
 */
export function shrinkOld(
  deployment: Deployment,
  old: readonly ReplicaSet[],
  newest: ReplicaSet | undefined,
): Resize[] {
  const all = newest === undefined ? old : [...old, newest]
  const minAvailable = desiredReplicas(deployment) - maxUnavailable(deployment)
  // A set that is still shrinking reports more available pods than it will keep.
  const available = (set: ReplicaSet): number =>
    Math.min(sizeOf(set), set.status?.availableReplicas ?? 0)
  const newUnavailable = newest === undefined ? 0 : sizeOf(newest) - available(newest)
  // New pods that are not there yet may fail to come up: room for them is not given away.
  const budget = totalSize(all) - minAvailable - newUnavailable
  if (budget <= 0) return []
  const cleaned = takeFrom(old, budget, (set) => sizeOf(set) - available(set))
  const spare = all.reduce((sum, set) => sum + available(set), -minAvailable)
  const shrunk = takeFrom(cleaned, spare, sizeOf)
  const before = new Map(old.map((set) => [set.metadata.uid, set]))
  return shrunk.flatMap((set) => {
    const replicaSet = before.get(set.metadata.uid)
    if (replicaSet === undefined || sizeOf(replicaSet) === sizeOf(set)) return []
    return [{ replicaSet, replicas: sizeOf(set) }]
  })
}

/**
 * New sizes when the Deployment itself was scaled amid a rollout: each set keeps its share, what rounding leaves goes to
 * the largest. `maxBefore` is a set's share of what the Deployment could have before (its annotation), if it is known.
 */
export function proportionalSizes(
  deployment: Deployment,
  active: readonly ReplicaSet[],
  maxBefore: (replicaSet: ReplicaSet) => number | undefined,
): Resize[] {
  const desired = desiredReplicas(deployment)
  const allowed = desired > 0 ? desired + maxSurge(deployment) : 0
  const toAdd = allowed - totalSize(active)
  const ages = (a: ReplicaSet, b: ReplicaSet): number => (toAdd > 0 ? byAge(b, a) : byAge(a, b))
  const sorted = active.toSorted((a, b) => sizeOf(b) - sizeOf(a) || ages(a, b))
  const fraction = (set: ReplicaSet): number => {
    if (desired === 0) return -sizeOf(set)
    const before = maxBefore(set) || (deployment.status?.replicas ?? 0)
    if (before === 0) return 0
    return Math.round((sizeOf(set) * (desired + maxSurge(deployment))) / before) - sizeOf(set)
  }
  let added = 0
  const sizes = sorted.map((replicaSet) => {
    const left = toAdd - added
    const wanted = sizeOf(replicaSet) === 0 || left === 0 ? 0 : fraction(replicaSet)
    const part = toAdd > 0 ? Math.min(wanted, left) : Math.max(wanted, left)
    added += part
    return { replicaSet, replicas: sizeOf(replicaSet) + part }
  })
  return sizes.map(({ replicaSet, replicas }, index) => ({
    replicaSet,
    replicas: index === 0 ? Math.max(0, replicas + toAdd - added) : replicas,
  }))
}
