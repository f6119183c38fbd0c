/** DaemonSets that lack pods on nodes, whose pods are not ready, or that no node is eligible for. */
import type { DaemonSet } from '../../../components/api/generated/types.ts'
import { eventsSeen, seen } from '../evidence.ts'
import { defineExplainer } from '../explainer.ts'
import type { Finding } from '../finding.ts'
import { countText, labelsText } from '../names.ts'
import { budgetsSeen, creationFinding, podsFindings, podsOf, unseenFinding } from '../owned-pods.ts'
import type { Related } from '../related.ts'
import { workloadNeeds } from '../workload.ts'

function noNodeFinding(set: DaemonSet, { nodes, incomplete }: Related): Finding {
  const selector = set.spec?.template?.spec?.nodeSelector
  const wants = selector === undefined ? '' : `; its pods want nodes with ${labelsText(selector)}`
  return {
    cause: 'NoEligibleNode',
    message: `${incomplete.has('nodes') ? 'No node' : `None of ${countText(nodes.length, 'node')}`} is eligible for the pods${wants}.`,
    evidence: [seen(set, 'status.desiredNumberScheduled is 0')],
    next: ["change the template's nodeSelector, affinity or tolerations, or label a node"],
  }
}

function shortFinding(set: DaemonSet, related: Related): Finding {
  const status = set.status
  const wanted = status?.desiredNumberScheduled ?? 0
  const updated = status?.updatedNumberScheduled ?? 0
  const isManual = set.spec?.updateStrategy?.type === 'OnDelete' && updated < wanted
  return {
    cause: isManual ? 'UpdateOnDelete' : 'NotAvailable',
    message: isManual
      ? `${updated} of ${wanted} pods are of the newest revision; with the strategy OnDelete pods are updated only when someone deletes them.`
      : `${status?.numberAvailable ?? 0} of ${wanted} pods are available, ${updated} of the newest revision.`,
    evidence: [
      seen(
        set,
        `${wanted} nodes are eligible, ${status?.currentNumberScheduled ?? 0} have a pod, ${status?.numberReady ?? 0} a ready one`,
      ),
      ...eventsSeen(related, set, ['FailedDaemonPod']),
      ...budgetsSeen(podsOf(set, related), related),
    ],
    next: [
      isManual ? 'delete the older pods' : 'see the findings about its pods; without any, wait',
    ],
  }
}

function explainSet(set: DaemonSet, related: Related): Finding[] {
  const unseen = unseenFinding(set, 'daemonset')
  if (unseen !== undefined) return [unseen]
  const { desiredNumberScheduled: wanted = 0, numberAvailable = 0 } = set.status ?? {}
  if (wanted === 0) return [noNodeFinding(set, related)]
  if (numberAvailable >= wanted && (set.status?.updatedNumberScheduled ?? 0) >= wanted) return []
  const pods = podsOf(set, related)
  const failure = pods.length < wanted ? creationFinding(set, related) : undefined
  return [
    ...(failure === undefined ? [] : [failure]),
    ...podsFindings(pods, related),
    shortFinding(set, related),
  ]
}

export const daemonSet = defineExplainer<DaemonSet>({
  needs: (set) => workloadNeeds(set),
  explain: explainSet,
  state: ({ status }) =>
    `${status?.numberAvailable ?? 0} of ${status?.desiredNumberScheduled ?? 0} pods available`,
})
