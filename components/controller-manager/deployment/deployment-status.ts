/** A Deployment's status and the verdict on its progress (upstream: progress.go, deployment_util.go). Pure. */
import type {
  Deployment,
  DeploymentCondition,
  DeploymentStatus,
  ReplicaSet,
} from '../../api/generated/types.ts'
import { timestamp } from '../../component-base/clock.ts'
import { findCondition, withCondition, withoutCondition } from '../conditions.ts'
import { nonZero } from '../non-zero.ts'
import { desiredReplicas, maxUnavailable, totalAvailable } from './replica-math.ts'

type Reason = Readonly<{ type: string; status: string; reason: string; message: string }>

/** The largest 32-bit number means no deadline, as upstream. */
const noDeadline = 2_147_483_647

export function hasDeadline(deployment: Deployment): boolean {
  const seconds = deployment.spec?.progressDeadlineSeconds
  return seconds !== undefined && seconds !== noDeadline
}

export function progressing(deployment: { status?: DeploymentStatus }) {
  return findCondition(deployment.status?.conditions, 'Progressing')
}

export function condition(facts: Reason, nowMs: number): DeploymentCondition {
  const now = timestamp(nowMs)
  return { ...facts, lastUpdateTime: now, lastTransitionTime: now }
}

/** The status with the condition in it, replaced only if its status or reason changes. */
export function withDeploymentCondition(
  status: DeploymentStatus,
  added: DeploymentCondition,
): DeploymentStatus {
  return { ...status, conditions: [...withCondition(status.conditions, added)] }
}

/** Counts and availability, with all other conditions as they are. */
export function countedStatus(
  deployment: Deployment,
  replicaSets: { all: readonly ReplicaSet[]; newest: ReplicaSet | undefined },
  nowMs: number,
): DeploymentStatus {
  const { all, newest } = replicaSets
  const sum = (count: (set: ReplicaSet) => number | undefined): number =>
    all.reduce((total, set) => total + (count(set) ?? 0), 0)
  const replicas = sum(({ status }) => status?.replicas)
  const available = totalAvailable(all)
  const isAvailable = available >= desiredReplicas(deployment) - maxUnavailable(deployment)
  const { collisionCount, conditions } = deployment.status ?? {}
  const status: DeploymentStatus = {
    ...nonZero({
      observedGeneration: deployment.metadata.generation ?? 0,
      replicas,
      updatedReplicas: newest?.status?.replicas ?? 0,
      readyReplicas: sum((set) => set.status?.readyReplicas),
      availableReplicas: available,
      unavailableReplicas: Math.max(0, sum((set) => set.spec?.replicas) - available),
    }),
    ...(conditions === undefined ? {} : { conditions }),
    ...(collisionCount === undefined ? {} : { collisionCount }),
  }
  return withDeploymentCondition(
    status,
    condition(
      {
        type: 'Available',
        status: isAvailable ? 'True' : 'False',
        reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
        message: isAvailable
          ? 'Deployment has minimum availability.'
          : 'Deployment does not have minimum availability.',
      },
      nowMs,
    ),
  )
}

export function isComplete(deployment: Deployment, status: DeploymentStatus): boolean {
  const desired = desiredReplicas(deployment)
  return (
    (status.updatedReplicas ?? 0) === desired &&
    (status.replicas ?? 0) === desired &&
    (status.availableReplicas ?? 0) === desired &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  )
}

function hasMoved(old: DeploymentStatus, next: DeploymentStatus): boolean {
  const count = (status: DeploymentStatus) => ({
    updated: status.updatedReplicas ?? 0,
    outdated: (status.replicas ?? 0) - (status.updatedReplicas ?? 0),
    ready: status.readyReplicas ?? 0,
    available: status.availableReplicas ?? 0,
  })
  const before = count(old)
  const after = count(next)
  return (
    after.updated > before.updated ||
    after.outdated < before.outdated ||
    after.ready > before.ready ||
    after.available > before.available
  )
}

/** Milliseconds left until the deadline of the rollout that this condition dates; negative when it has passed. */
function deadlineInMs(deployment: Deployment, since: DeploymentCondition, nowMs: number): number {
  const seconds = deployment.spec?.progressDeadlineSeconds ?? 0
  return Date.parse(since.lastUpdateTime ?? '') + seconds * 1000 - nowMs
}

function isTimedOut(deployment: Deployment, status: DeploymentStatus, nowMs: number): boolean {
  const current = progressing({ status })
  if (current === undefined || current.reason === 'NewReplicaSetAvailable') return false
  if (current.reason === 'ProgressDeadlineExceeded') return true
  return deadlineInMs(deployment, current, nowMs) < 0
}

function replicaFailure(
  all: readonly ReplicaSet[],
  newest: ReplicaSet | undefined,
): DeploymentCondition | undefined {
  const failureOf = (set: ReplicaSet): DeploymentCondition | undefined => {
    const found = findCondition(set.status?.conditions, 'ReplicaFailure')
    if (found === undefined) return undefined
    const { lastTransitionTime } = found
    return lastTransitionTime === undefined
      ? found
      : { ...found, lastUpdateTime: lastTransitionTime }
  }
  if (newest !== undefined) {
    const own = failureOf(newest)
    if (own !== undefined) return own
  }
  return all.map(failureOf).find((found) => found !== undefined)
}

/** The status of a Deployment that is rolling out, with the verdict on its progress. */
export function rolloutStatus(
  deployment: Deployment,
  replicaSets: { all: readonly ReplicaSet[]; newest: ReplicaSet | undefined },
  nowMs: number,
): DeploymentStatus {
  const { all, newest } = replicaSets
  let status = countedStatus(deployment, replicaSets, nowMs)
  const name =
    newest === undefined
      ? `Deployment "${deployment.metadata.name}"`
      : `ReplicaSet "${newest.metadata.name}"`
  const current = progressing(deployment)
  const verdict = (facts: Omit<Reason, 'type'>): DeploymentCondition =>
    condition({ type: 'Progressing', ...facts }, nowMs)
  const wasComplete =
    (status.replicas ?? 0) === (status.updatedReplicas ?? 0) &&
    current?.reason === 'NewReplicaSetAvailable'

  if (!hasDeadline(deployment)) {
    status = { ...status, conditions: [...withoutCondition(status.conditions, 'Progressing')] }
  } else if (!wasComplete) {
    if (isComplete(deployment, status)) {
      const message = `${name} has successfully progressed.`
      const done = verdict({ status: 'True', reason: 'NewReplicaSetAvailable', message })
      status = withDeploymentCondition(status, done)
    } else if (hasMoved(deployment.status ?? {}, status)) {
      const message = `${name} is progressing.`
      const moved = verdict({ status: 'True', reason: 'ReplicaSetUpdated', message })
      // The time of the last progress moves even when nothing else of the condition does.
      const since = current?.status === 'True' ? current.lastTransitionTime : undefined
      const dated = since === undefined ? moved : { ...moved, lastTransitionTime: since }
      const others = withoutCondition(status.conditions, 'Progressing')
      status = { ...status, conditions: [...others, dated] }
    } else if (isTimedOut(deployment, status, nowMs)) {
      const message = `${name} has timed out progressing.`
      const late = verdict({ status: 'False', reason: 'ProgressDeadlineExceeded', message })
      status = withDeploymentCondition(status, late)
    }
  }
  const failure = replicaFailure(all, newest)
  return failure === undefined
    ? { ...status, conditions: [...withoutCondition(status.conditions, 'ReplicaFailure')] }
    : withDeploymentCondition(status, failure)
}

/** When to look again at a rollout that may be stuck; undefined when its deadline does not matter (any more). */
export function progressCheckInMs(
  deployment: Deployment,
  status: DeploymentStatus,
  nowMs: number,
): number | undefined {
  const current = progressing(deployment)
  if (!hasDeadline(deployment) || current === undefined) return undefined
  if (isComplete(deployment, status) || current.reason === 'ProgressDeadlineExceeded')
    return undefined
  // Times have whole seconds: one more makes sure that the deadline has passed by then.
  return Math.max(0, deadlineInMs(deployment, current, nowMs)) + 1000
}

/** The condition that notes a pause or its end; undefined when there is nothing to note. */
export function pauseCondition(
  deployment: Deployment,
  nowMs: number,
): DeploymentCondition | undefined {
  if (!hasDeadline(deployment)) return undefined
  const current = progressing(deployment)
  if (current?.reason === 'ProgressDeadlineExceeded') return undefined
  const isPaused = deployment.spec?.paused === true
  if (isPaused === (current?.reason === 'DeploymentPaused')) return undefined
  return condition(
    {
      type: 'Progressing',
      status: 'Unknown',
      reason: isPaused ? 'DeploymentPaused' : 'DeploymentResumed',
      message: isPaused ? 'Deployment is paused' : 'Deployment is resumed',
    },
    nowMs,
  )
}
