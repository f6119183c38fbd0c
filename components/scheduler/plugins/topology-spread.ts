/** PodTopologySpread: keeps the pods of a group evenly spread over topology domains. */
import type { TopologySpreadConstraint } from '../../api/generated/types.ts'
import { getOwn } from '../../machinery/values/json-copy.ts'
import { labelSelectorFrom, matchesLabels } from '../../machinery/selectors/label-selector.ts'
import type { ClusterView, FilterPlugin, Rejection, ScorePlugin } from '../plugin.ts'
import type { PodInfo } from '../pod-info.ts'
import type { NodeInfo } from '../snapshot.ts'
import { matchesNodeAffinity } from './affinity.ts'
import { untolerated } from './taints.ts'

const uneven: Rejection = {
  reasons: ["node(s) didn't match pod topology spread constraints"],
  resolvable: true,
}
const unlabelled: Rejection = {
  reasons: ["node(s) didn't match pod topology spread constraints (missing required label)"],
  resolvable: false,
}

interface Spread {
  readonly constraint: TopologySpreadConstraint
  /** How many pods of the group are in each domain that the pod could go to. */
  readonly counts: ReadonlyMap<string, number>
  /** 1 when the pod belongs to the group itself. */
  readonly self: number
}

/** A node counts when it has all the labels and, as far as the constraint says so, would take the pod. */
function isCounted(
  node: NodeInfo,
  about: { pod: PodInfo; constraint: TopologySpreadConstraint; keys: readonly string[] },
): boolean {
  const { pod, constraint, keys } = about
  if (!keys.every((key) => node.labels[key] !== undefined)) return false
  if ((constraint.nodeAffinityPolicy ?? 'Honor') === 'Honor' && !matchesNodeAffinity(pod, node)) {
    return false
  }
  const isHonoringTaints = constraint.nodeTaintsPolicy === 'Honor'
  return !isHonoringTaints || untolerated(node.taints, pod.tolerations) === undefined
}

function spreads(pod: PodInfo, view: ClusterView, whenUnsatisfiable: string): Spread[] {
  const constraints = (pod.pod.spec?.topologySpreadConstraints ?? []).filter(
    (constraint) => constraint.whenUnsatisfiable === whenUnsatisfiable,
  )
  const keys = constraints.map(({ topologyKey }) => topologyKey)
  const { namespace, labels = {} } = pod.pod.metadata
  return constraints.map((constraint) => {
    const { labelSelector, matchLabelKeys = [], topologyKey } = constraint
    const group = labelSelectorFrom(labelSelector)
    const isOfGroup = (of: Readonly<Record<string, string>> | undefined): boolean =>
      matchesLabels(group, of) &&
      matchLabelKeys.every((key) => !Object.hasOwn(labels, key) || getOwn(of, key) === labels[key])
    const counts = new Map<string, number>()
    for (const node of view.nodes) {
      if (!isCounted(node, { pod, constraint, keys })) continue
      const domain = node.labels[topologyKey] as string
      let count = counts.get(domain) ?? 0
      for (const { pod: other } of node.pods.values()) {
        const { metadata } = other
        const isThere = metadata.deletionTimestamp === undefined && metadata.namespace === namespace
        if (isThere && isOfGroup(metadata.labels)) count += 1
      }
      counts.set(domain, count)
    }
    return { constraint, counts, self: isOfGroup(labels) ? 1 : 0 }
  })
}

export const topologySpread: FilterPlugin = {
  name: 'PodTopologySpread',
  forPod(pod, view) {
    const hard = spreads(pod, view, 'DoNotSchedule').map((spread) => {
      const { counts, constraint } = spread
      const isShortOfDomains = counts.size < (constraint.minDomains ?? 1)
      return { ...spread, least: isShortOfDomains ? 0 : Math.min(...counts.values()) }
    })
    if (hard.length === 0) return undefined
    return (node) => {
      for (const { constraint, counts, self, least } of hard) {
        const domain = node.labels[constraint.topologyKey]
        if (domain === undefined) return unlabelled
        if ((counts.get(domain) ?? 0) + self - least > constraint.maxSkew) return uneven
      }
      return undefined
    }
  },
}

export const preferredTopologySpread: ScorePlugin = {
  name: 'PodTopologySpread',
  weight: 2,
  normalize: 'reverse',
  forPod(pod, view) {
    const soft = spreads(pod, view, 'ScheduleAnyway')
    if (soft.length === 0) return undefined
    return (node) => {
      let sum = 0
      for (const { constraint, counts } of soft) {
        const domain = node.labels[constraint.topologyKey]
        // A node outside of the topology is the last choice.
        sum +=
          domain === undefined ? Math.max(0, ...counts.values()) + 1 : (counts.get(domain) ?? 0)
      }
      return sum
    }
  },
}
