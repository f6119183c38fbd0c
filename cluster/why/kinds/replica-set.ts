/** ReplicaSets and ReplicationControllers that lack pods, or whose pods are not ready. */
import type { ReplicaSet } from '../../../components/api/generated/types.ts'
import { conditionsSeen, seen } from '../evidence.ts'
import { defineExplainer } from '../explainer.ts'
import type { Finding } from '../finding.ts'
import { budgetsSeen, creationFinding, podsFindings, podsOf, unseenFinding } from '../owned-pods.ts'
import type { Related } from '../related.ts'
import { workloadNeeds } from '../workload.ts'

function explainSet(set: ReplicaSet, related: Related): Finding[] {
  const unseen = unseenFinding(set, 'replicaset')
  if (unseen !== undefined) return [unseen]
  const { replicas = 0, availableReplicas = 0 } = set.status ?? {}
  const wanted = set.spec?.replicas ?? 1
  if (replicas === wanted && availableReplicas >= wanted) return []
  const pods = podsOf(set, related)
  const short: Finding = {
    cause: 'NotAvailable',
    message: `${availableReplicas} of ${wanted} pods are available; ${replicas} exist.`,
    evidence: [
      seen(set, `status.replicas is ${replicas}, availableReplicas ${availableReplicas}`),
      ...conditionsSeen(set, 'ReplicaFailure'),
      ...budgetsSeen(pods, related),
    ],
    next: ['see the findings about its pods below; without any, wait'],
  }
  const failure = replicas < wanted ? creationFinding(set, related) : undefined
  return [...(failure === undefined ? [] : [failure]), ...podsFindings(pods, related), short]
}

const setState = ({ spec, status }: ReplicaSet): string =>
  `${status?.availableReplicas ?? 0} of ${spec?.replicas ?? 1} pods available`

export const replicaSet = defineExplainer<ReplicaSet>({
  needs: (set) => workloadNeeds(set),
  explain: explainSet,
  state: setState,
})

/** The selector of a ReplicationController is a plain map of labels. */
export const replicationController = defineExplainer<ReplicaSet>({
  needs: (controller) => {
    const matchLabels = controller.spec?.selector as Record<string, string> | undefined
    return workloadNeeds({ ...controller, spec: { ...controller.spec, selector: { matchLabels } } })
  },
  explain: explainSet,
  state: setState,
})
