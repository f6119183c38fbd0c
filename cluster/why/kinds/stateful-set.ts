/** StatefulSets whose pods are not ready, or not of the newest revision. */
import type { Pod, StatefulSet } from '../../../components/api/generated/types.ts'
import { seen } from '../evidence.ts'
import { defineExplainer } from '../explainer.ts'
import type { Finding } from '../finding.ts'
import { listText } from '../names.ts'
import {
  budgetsSeen,
  creationFinding,
  podsFindings,
  podsOf,
  troubledPods,
  unseenFinding,
} from '../owned-pods.ts'
import type { Related } from '../related.ts'
import { workloadNeeds } from '../workload.ts'

const ordinalOf = ({ metadata }: Pod): number => Number(/\d+$/.exec(metadata.name ?? '')?.[0] ?? 0)

function updateFinding(set: StatefulSet): Finding | undefined {
  const { updateRevision, currentRevision, updatedReplicas = 0 } = set.status ?? {}
  const wanted = set.spec?.replicas ?? 1
  if (updateRevision === currentRevision || updatedReplicas >= wanted) return undefined
  const { type, rollingUpdate } = set.spec?.updateStrategy ?? {}
  const { partition = 0 } = rollingUpdate ?? {}
  if (type !== 'OnDelete' && updatedReplicas >= wanted - partition) return undefined
  const text = `${updatedReplicas} of ${wanted} pods are of revision ${updateRevision}`
  return {
    cause: type === 'OnDelete' ? 'UpdateOnDelete' : 'RolloutIncomplete',
    message:
      type === 'OnDelete'
        ? `${text}; with the strategy OnDelete pods are updated only when someone deletes them.`
        : `${text}; pods are updated one after the other, each once the one before is ready.`,
    evidence: [
      seen(set, `currentRevision is ${currentRevision}, updateRevision ${updateRevision}`),
    ],
    next: [
      type === 'OnDelete'
        ? 'delete the older pods one by one'
        : `wait, and watch it: kubectl rollout status statefulset/${set.metadata.name} -n ${set.metadata.namespace}`,
    ],
  }
}

/** With ordered pods, the first that is not ready keeps the ones after it from being created. */
function orderFinding(set: StatefulSet, pods: readonly Pod[], related: Related): Finding {
  const wanted = set.spec?.replicas ?? 1
  const { readyReplicas = 0 } = set.status ?? {}
  const isOrdered = set.spec?.podManagementPolicy !== 'Parallel'
  const [first] = troubledPods(pods).toSorted((a, b) => ordinalOf(a) - ordinalOf(b))
  const blocked =
    isOrdered && first !== undefined && pods.length < wanted
      ? ` ${first.metadata.name} has to be ready before the next pod is created.`
      : ''
  return {
    cause: 'NotReady',
    message: `${readyReplicas} of ${wanted} pods are ready; ${pods.length} exist.${blocked}`,
    evidence: [
      seen(
        set,
        `pods: ${
          listText(
            pods.map(({ metadata }) => metadata.name ?? ''),
            5,
          ) || 'none'
        }`,
      ),
      ...budgetsSeen(pods, related),
    ],
    next: ['see the findings about its pods below; without any, wait'],
  }
}

function explainSet(set: StatefulSet, related: Related): Finding[] {
  const unseen = unseenFinding(set, 'statefulset')
  if (unseen !== undefined) return [unseen]
  const wanted = set.spec?.replicas ?? 1
  const { readyReplicas = 0 } = set.status ?? {}
  const pods = podsOf(set, related)
  const update = updateFinding(set)
  const updates = update === undefined ? [] : [update]
  const isWhole =
    readyReplicas >= wanted && pods.length <= wanted && troubledPods(pods).length === 0
  if (isWhole) return updates
  const failure = pods.length < wanted ? creationFinding(set, related) : undefined
  return [
    ...(failure === undefined ? [] : [failure]),
    ...podsFindings(pods, related),
    orderFinding(set, pods, related),
    ...updates,
  ]
}

export const statefulSet = defineExplainer<StatefulSet>({
  needs: (set) => workloadNeeds(set),
  explain: explainSet,
  state: ({ spec, status }) => {
    const partition = spec?.updateStrategy?.rollingUpdate?.partition ?? 0
    const held = partition > 0 ? `, pods below ${partition} stay at the older revision` : ''
    return `${status?.readyReplicas ?? 0} of ${spec?.replicas ?? 1} pods ready${held}`
  },
})
