/** The spread constraints that hold for a pod, its own or by default, with the pods they count (upstream: podtopologyspread/common.go). */
import type { TopologySpreadConstraint } from '../../api/generated/types.ts'
import type { LabelSelector } from '../../machinery/selectors/label-selector.ts'
import { labelSelectorFrom, matchesLabels } from '../../machinery/selectors/label-selector.ts'
import type { PodGroup } from '../pod-counts.ts'
import type { PodInfo } from '../pod-info.ts'
import type { NodeInfo } from '../snapshot.ts'
import { matchesRequiredNodes, untolerated } from '../../api/node-selection.ts'
import { hasNodeAffinity } from './node-affinity.ts'

export interface SpreadConstraint {
  readonly topologyKey: string
  readonly maxSkew: number
  readonly minDomains: number
  readonly honorsAffinity: boolean
  readonly honorsTaints: boolean
  /** The pods that are spread, in the pod's namespace; ending ones do not count. */
  readonly group: PodGroup
}

export type WhenUnsatisfiable = 'DoNotSchedule' | 'ScheduleAnyway'

function groupOf(namespace: string, selector: LabelSelector): PodGroup {
  return {
    key: `spread ${namespace} ${JSON.stringify(selector)}`,
    selector,
    isByNamespaceLabels: false,
    includes: ({ pod: { metadata } }) =>
      metadata.deletionTimestamp === undefined &&
      (metadata.namespace ?? '') === namespace &&
      matchesLabels(selector, metadata.labels),
  }
}

/** The constraint's selector with the values that the pod has for its matchLabelKeys (KEP-3243). */
function selectorFor(
  { labelSelector, matchLabelKeys = [] }: TopologySpreadConstraint,
  labels: Readonly<Record<string, string>>,
): LabelSelector {
  const matched = matchLabelKeys.flatMap((key) =>
    Object.hasOwn(labels, key)
      ? [{ key, operator: '=' as const, values: [labels[key] as string] }]
      : [],
  )
  return [...labelSelectorFrom(labelSelector), ...matched]
}

/** The constraints of that sort; `selector` is that of constraints by default, which have none of their own. */
export function spreadConstraints(
  info: PodInfo,
  constraints: readonly TopologySpreadConstraint[],
  about: { readonly whenUnsatisfiable: WhenUnsatisfiable; readonly selector?: LabelSelector },
): SpreadConstraint[] {
  const { namespace = '', labels = {} } = info.pod.metadata
  const hasAffinity = hasNodeAffinity(info)
  return constraints
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === about.whenUnsatisfiable)
    .map((constraint) => ({
      topologyKey: constraint.topologyKey,
      maxSkew: constraint.maxSkew,
      minDomains: constraint.minDomains ?? 1,
      honorsAffinity: hasAffinity && (constraint.nodeAffinityPolicy ?? 'Honor') === 'Honor',
      honorsTaints: constraint.nodeTaintsPolicy === 'Honor',
      group: groupOf(namespace, about.selector ?? selectorFor(constraint, labels)),
    }))
}

/** Whether the node has the labels of all constraints. */
export function hasAllTopologies(
  node: Pick<NodeInfo, 'labels'>,
  constraints: readonly SpreadConstraint[],
): boolean {
  return constraints.every(({ topologyKey }) => node.labels[topologyKey] !== undefined)
}

/** Whether pods on the node count, as far as the constraint's inclusion policies say so (KEP-3094). */
export function isNodeIncluded(
  pod: PodInfo,
  constraint: SpreadConstraint,
  node: NodeInfo,
): boolean {
  if (constraint.honorsAffinity && !matchesRequiredNodes(pod.pod.spec, node)) return false
  return !constraint.honorsTaints || untolerated(node.taints, pod.tolerations) === undefined
}
