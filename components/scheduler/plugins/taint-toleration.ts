/**
 * TaintToleration: NoSchedule and NoExecute taints keep out pods that do not tolerate them; PreferNoSchedule scores
 * (upstream: plugins/tainttoleration).
 */
import type { Taint } from '../../api/generated/types.ts'
import { tolerates, untolerated } from '../../api/node-selection.ts'
import { registered, registeredPods } from '../cluster-event.ts'
import type { PluginWith } from '../plugin.ts'
import { normalizeByHighest, scoreEach } from '../plugin.ts'

const isSoft = ({ effect }: Taint): boolean => effect === 'PreferNoSchedule'

export const taintToleration: PluginWith<'filter' | 'score'> = {
  name: 'TaintToleration',
  events: [
    registered('Node', ['Add', 'UpdateNodeTaint'], ({ tolerations }, { old, now }) => {
      const isKept = (taints: readonly Taint[] | undefined): boolean =>
        untolerated(taints, tolerations) !== undefined
      return !isKept(now?.spec?.taints) && (old === undefined || isKept(old.spec?.taints))
    }),
    registeredPods(['UpdatePodTolerations'], ({ uid }, { now }) => now?.metadata.uid === uid),
  ],
  filter: (pod) => (node) => {
    if (node.taints.length === 0) return undefined
    const taint = untolerated(node.taints, pod.tolerations)
    if (taint === undefined) return undefined
    return {
      reasons: [`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`],
      resolvable: false,
    }
  },
  score(pod, nodes) {
    if (!nodes.some((node) => node.taints.some(isSoft))) return undefined
    const relevant = pod.tolerations.filter((t) => !t.effect || t.effect === 'PreferNoSchedule')
    const intolerable = scoreEach(
      nodes,
      ({ taints }) =>
        taints.filter((taint) => isSoft(taint) && !relevant.some((each) => tolerates(each, taint)))
          .length,
    )
    return normalizeByHighest(intolerable, true)
  },
}
