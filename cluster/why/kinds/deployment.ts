/** Deployments whose rollout does not get on: followed down to the newest ReplicaSet and its pods. */
import { labelKey } from '../../../components/api/dialect.ts'
import type { Deployment, ReplicaSet } from '../../../components/api/generated/types.ts'
import { controllerOf } from '../../../components/machinery/objects/object.ts'
import {
  formatLabelSelector,
  labelSelectorFrom,
} from '../../../components/machinery/selectors/label-selector.ts'
import { conditionsSeen, seen } from '../evidence.ts'
import { defineExplainer } from '../explainer.ts'
import type { Evidence, Finding } from '../finding.ts'
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
    .map((set) => ({ ...set, kind: 'ReplicaSet' }))
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

function rolloutFinding(deployment: Deployment, related: Related): Finding {
  const sets = setsOf(deployment, related)
  const { wanted, updated, available } = counts(deployment)
  const pods = sets.flatMap((set) => podsOf(set, related))
  const progressing = deployment.status?.conditions?.find(({ type }) => type === 'Progressing')
  const isLate = progressing?.reason === 'ProgressDeadlineExceeded'
  const isPaused = deployment.spec?.paused === true
  const { name, namespace } = deployment.metadata
  const numbers = `${updated} of ${wanted} pods are of the newest revision, ${available} available`
  return {
    cause: isPaused ? 'Paused' : isLate ? 'ProgressDeadlineExceeded' : 'RolloutIncomplete',
    message: `${isPaused ? 'The rollout is paused' : isLate ? 'The rollout does not get on' : 'The rollout is not complete'}: ${numbers}.`,
    evidence: [
      ...conditionsSeen(deployment, 'Progressing', 'Available', 'ReplicaFailure'),
      ...setsSeen(sets),
      ...budgetsSeen(pods, related),
    ],
    next: [
      isPaused
        ? `resume it: kubectl rollout resume deployment/${name} -n ${namespace}`
        : isLate
          ? `correct the template, or go back to the revision before: kubectl rollout undo deployment/${name} -n ${namespace}`
          : `wait, and watch it: kubectl rollout status deployment/${name} -n ${namespace}`,
    ],
  }
}

function explainDeployment(given: Deployment, related: Related): Finding[] {
  const deployment: Deployment = { ...given, kind: 'Deployment' }
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
