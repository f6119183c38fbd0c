/** TaintToleration: NoSchedule and NoExecute taints keep out pods that do not tolerate them; PreferNoSchedule scores. */
import type { Taint, Toleration } from '../../api/generated/types.ts'
import type { FilterPlugin, ScorePlugin } from '../plugin.ts'

/** Upstream's rule: an empty effect or, with Exists, an empty key matches any; the operator is Equal by default. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false
  if (toleration.key && toleration.key !== taint.key) return false
  switch (toleration.operator) {
    case undefined:
    case '':
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '')
    case 'Exists':
      return true
    default:
      return false
  }
}

/** The first taint that keeps a pod with these tolerations off the node. */
export function untolerated(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
): Taint | undefined {
  return taints.find(
    (taint) =>
      (taint.effect === 'NoSchedule' || taint.effect === 'NoExecute') &&
      !tolerations.some((toleration) => tolerates(toleration, taint)),
  )
}

export const taints: FilterPlugin = {
  name: 'TaintToleration',
  forPod: (pod) => (node) => {
    if (node.taints.length === 0) return undefined
    const taint = untolerated(node.taints, pod.tolerations)
    if (taint === undefined) return undefined
    return {
      reasons: [`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`],
      resolvable: false,
    }
  },
}

export const preferredTaints: ScorePlugin = {
  name: 'TaintToleration',
  weight: 3,
  normalize: 'reverse',
  forPod(pod, view) {
    const isSoft = ({ effect }: Taint): boolean => effect === 'PreferNoSchedule'
    if (!view.nodes.some((node) => node.taints.some(isSoft))) return undefined
    const relevant = pod.tolerations.filter((t) => !t.effect || t.effect === 'PreferNoSchedule')
    return (node) =>
      node.taints.filter(
        (taint) => isSoft(taint) && !relevant.some((each) => tolerates(each, taint)),
      ).length
  },
}
