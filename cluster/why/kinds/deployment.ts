/** Deployments whose rollout does not progress: followed down to the newest ReplicaSet and its pods. */
import { labelKey } from '../../../components/api/dialect.ts'
import type { Deployment, ReplicaSet } from '../../../components/api/generated/types.ts'
import { controllerOf } from '../../../components/machinery/objects/object.ts'
import {
  formatLabelSelector,
  labelSelectorFrom,
} from '../../../components/machinery/selectors/label-selector.ts'
import { conditionOf, conditionsSeen, eventsSeen, seen, type AnyCondition } from '../evidence.ts'
import { defineExplainer } from '../explainer.ts'
import type { Evidence, Finding } from '../finding.ts'
import { sentence } from '../names.ts'
import { budgetsSeen, creationFinding, podsFindings, podsOf, unseenFinding } from '../owned-pods.ts'
import type { Related } from '../related.ts'
import { workloadNeeds } from '../workload.ts'

/** The Deployment's ReplicaSets, the newest revision first. */
function setsOf(deployment: Deployment, { replicaSets, dialect }: Related): ReplicaSet[] {
  const annotation = labelKey(dialect, 'deployment', 'revision')
  const revision = ({ metadata }: ReplicaSet): number =>
    Number(metadata.annotations?.[annotation] ?? 0)
  return replicaSets
    .filter((set) => controllerOf(set)?.uid === deployment.metadata.uid)
    .toSorted((a, b) => revision(b) - revision(a))
}

function counts({ spec, status }: Deployment) {
  return {
    wanted: spec?.replicas ?? 1,
    replicas: status?.replicas ?? 0,
    updated: status?.updatedReplicas ?? 0,
    available: status?.availableReplicas ?? 0,
  }
}

function isRolledOut(deployment: Deployment): boolean {
  const { wanted, replicas, updated, available } = counts(deployment)
  return updated >= wanted && available >= wanted && replicas <= wanted
}

function setsSeen(sets: readonly ReplicaSet[]): Evidence[] {
  const used = sets.filter(
    (set, index) => index === 0 || (set.status?.replicas ?? 0) > 0 || (set.spec?.replicas ?? 0) > 0,
  )
  return used.map((set, index) => {
    const { replicas = 0, readyReplicas = 0 } = set.status ?? {}
    const which = index === 0 ? 'the newest revision' : 'an older revision'
    return seen(set, `${which}: ${replicas} of ${set.spec?.replicas} pods, ${readyReplicas} ready`)
  })
}

/** How the rollout stands, in the order in which one thing hides the next. */
function rolloutCause(
  { spec, metadata }: Deployment,
  progressing: AnyCondition | undefined,
): Pick<Finding, 'cause' | 'message' | 'next'> {
  const target = `deployment/${metadata.name} -n ${metadata.namespace}`
  if (spec?.paused === true) {
    return {
      cause: 'Paused',
      message: 'The rollout is paused',
      next: [`resume it: kubectl rollout resume ${target}`],
    }
  }
  if (progressing?.reason === 'ProgressDeadlineExceeded') {
    return {
      cause: 'ProgressDeadlineExceeded',
      message: 'The rollout does not progress',
      next: [
        `correct the template, or go back to the revision before: kubectl rollout undo ${target}`,
      ],
    }
  }
  if (progressing?.status === 'False') {
    const { reason, message } = progressing
    return {
      cause: reason || 'NotProgressing',
      message: message || 'The rollout does not progress',
      next: ['correct what the condition names; the controller tries again'],
    }
  }
  return {
    cause: 'RolloutIncomplete',
    message: 'The rollout is not complete',
    next: [`wait, and watch it: kubectl rollout status ${target}`],
  }
}

function rolloutFinding(deployment: Deployment, related: Related): Finding {
  const sets = setsOf(deployment, related)
  const { wanted, updated, available } = counts(deployment)
  const { cause, message, next } = rolloutCause(deployment, conditionOf(deployment, 'Progressing'))
  return {
    cause,
    message: sentence(
      `${message}: ${updated} of ${wanted} pods are of the newest revision, ${available} available`,
    ),
    evidence: [
      ...conditionsSeen(deployment, 'Progressing', 'Available', 'ReplicaFailure'),
      ...eventsSeen(related, deployment, ['ReplicaSetCreateError']),
      ...setsSeen(sets),
      ...budgetsSeen(
        sets.flatMap((set) => podsOf(set, related)),
        related,
      ),
    ],
    next,
  }
}

function explainDeployment(deployment: Deployment, related: Related): Finding[] {
  const unseen = unseenFinding(deployment, 'deployment')
  if (unseen !== undefined) return [unseen]
  if (isRolledOut(deployment)) return []
  const sets = setsOf(deployment, related)
  const failures = sets.flatMap((set) => {
    const isShort = (set.status?.replicas ?? 0) < (set.spec?.replicas ?? 0)
    return isShort ? (creationFinding(set, related) ?? []) : []
  })
  // Findings about the newest revision come first; those about older ones count only without any.
  const inNewest = sets[0] === undefined ? [] : podsFindings(podsOf(sets[0], related), related)
  const inOlder = podsFindings(
    sets.slice(1).flatMap((set) => podsOf(set, related)),
    related,
  )
  const pods = inNewest.length > 0 ? inNewest : inOlder
  // What holds the rollout up comes before the advice to wait for it.
  return [...failures, ...pods, rolloutFinding(deployment, related)]
}

export const deployment = defineExplainer<Deployment>({
  needs: (object) => {
    const { namespace = '' } = object.metadata
    const labelSelector = formatLabelSelector(labelSelectorFrom(object.spec?.selector))
    return workloadNeeds(object, [{ of: 'replicaSets', namespace, labelSelector }])
  },
  explain: explainDeployment,
  state: (object) => {
    const { wanted, available } = counts(object)
    const paused = object.spec?.paused === true ? ', paused' : ''
    return `${available} of ${wanted} pods available${paused}`
  },
})
