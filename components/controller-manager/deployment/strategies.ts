/** The strategies: what one reconciliation of a Deployment does (upstream: deployment/rolling.go, recreate.go, sync.go). */
import type { Pod, ReplicaSet } from '../../api/generated/types.ts'
import { isTerminal } from '../pod-state.ts'
import { countedStatus, isComplete, progressCheckInMs, rolloutStatus } from './deployment-status.ts'
import {
  byAge,
  desiredReplicas,
  isRolling,
  newReplicaSetSize,
  proportionalSizes,
  shrinkOld,
  sizeOf,
} from './replica-math.ts'
import { recordedSizes } from './revisions.ts'
import type { RevisionKeys } from './revisions.ts'
import type { Rollout } from './rollout.ts'

const active = (sets: readonly ReplicaSet[]): ReplicaSet[] => sets.filter((set) => sizeOf(set) > 0)

/** The Deployment's size was changed since its ReplicaSets were last sized. */
export function isScaled(rollout: Rollout, keys: RevisionKeys): boolean {
  const desired = desiredReplicas(rollout.deployment)
  return active(rollout.all).some(
    (set) => (recordedSizes(set, keys).desired ?? desired) !== desired,
  )
}

/** The set that stands for the Deployment while nothing rolls out: the only active one, or the newest when none is. */
function soleReplicaSet({ newest, old, all }: Rollout): ReplicaSet | undefined {
  const [first, ...others] = active(all)
  if (first !== undefined) return others.length === 0 ? first : undefined
  return newest ?? old.toSorted(byAge).at(-1)
}

/** Follows the Deployment's size without rolling out anything; for a paused Deployment, and after a change of size. */
export async function scaleOnly(
  rollout: Rollout,
  keys: RevisionKeys,
  nowMs: number,
): Promise<void> {
  await rollout.syncRevision()
  const { deployment, newest, old } = rollout
  const desired = desiredReplicas(deployment)
  const sole = soleReplicaSet(rollout)
  if (sole !== undefined) await rollout.resize([{ replicaSet: sole, replicas: desired }])
  else if (newest !== undefined && isSaturated(newest, { desired, keys }))
    await rollout.resize(active(old).map((replicaSet) => ({ replicaSet, replicas: 0 })))
  else if (isRolling(deployment)) {
    const maxBefore = (set: ReplicaSet): number | undefined => recordedSizes(set, keys).max
    await rollout.resize(proportionalSizes(deployment, active(rollout.all), maxBefore))
  }
  if (deployment.spec?.paused === true) await rollout.cleanUp()
  await rollout.updateStatus(countedStatus(rollout.deployment, rollout, nowMs))
}

function isSaturated(
  newest: ReplicaSet,
  { desired, keys }: { desired: number; keys: RevisionKeys },
): boolean {
  return (
    sizeOf(newest) === desired &&
    recordedSizes(newest, keys).desired === desired &&
    (newest.status?.availableReplicas ?? 0) === desired
  )
}

/** One step of a rolling update: grow the newest, or shrink the old ones, never both. */
export async function rollingUpdate(rollout: Rollout): Promise<void> {
  await rollout.ensureNewest()
  const { deployment, newest } = rollout
  if (newest === undefined) return
  const desired = desiredReplicas(deployment)
  const size = sizeOf(newest)
  const target = size > desired ? desired : newReplicaSetSize(deployment, rollout.all, size)
  if (target !== size) {
    await rollout.resize([{ replicaSet: newest, replicas: target }])
    return
  }
  const shrinking = shrinkOld(deployment, rollout.old, newest)
  if (shrinking.length > 0) {
    await rollout.resize(shrinking)
    return
  }
  if (isComplete(deployment, deployment.status ?? {})) await rollout.cleanUp()
}

/** Recreate: all old pods end before the first new one is made. */
export async function recreate(
  rollout: Rollout,
  podsOf: (replicaSet: ReplicaSet) => readonly Pod[],
): Promise<void> {
  await rollout.syncRevision()
  const shrinking = active(rollout.old)
  if (shrinking.length > 0) {
    await rollout.resize(shrinking.map((replicaSet) => ({ replicaSet, replicas: 0 })))
    return
  }
  const isAlive = (pod: Pod): boolean => !isTerminal(pod)
  const areOldLeft = rollout.old.some(
    (set) => (set.status?.replicas ?? 0) > 0 || podsOf(set).some(isAlive),
  )
  if (areOldLeft) return
  await rollout.ensureNewest()
  const { deployment, newest } = rollout
  if (newest === undefined) return
  const desired = desiredReplicas(deployment)
  if (sizeOf(newest) !== desired) await rollout.resize([{ replicaSet: newest, replicas: desired }])
  if (isComplete(deployment, deployment.status ?? {})) await rollout.cleanUp()
}

/** Writes the status of a rollout; gives when to look at its progress again. */
export async function reportRollout(rollout: Rollout, nowMs: number): Promise<number | undefined> {
  const status = rolloutStatus(rollout.deployment, rollout, nowMs)
  await rollout.updateStatus(status)
  return progressCheckInMs(rollout.deployment, status, nowMs)
}
