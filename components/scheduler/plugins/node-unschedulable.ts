/** NodeUnschedulable: a cordoned node takes only pods that tolerate the taint of the same meaning (upstream: plugins/nodeunschedulable). */
import { labelKey } from '../../api/dialect.ts'
import { registered, registeredPods } from '../cluster-event.ts'
import type { Handle, PluginWith, Rejection } from '../plugin.ts'
import type { PodInfo } from '../pod-info.ts'
import { tolerates } from '../../api/node-selection.ts'

const rejection: Rejection = { reasons: ['node(s) were unschedulable'], resolvable: false }

export function nodeUnschedulable({ dialect }: Pick<Handle, 'dialect'>): PluginWith<'filter'> {
  const taint = { key: labelKey(dialect, 'node', 'unschedulable'), effect: 'NoSchedule' }
  const isTolerated = ({ tolerations }: Pick<PodInfo, 'tolerations'>): boolean =>
    tolerations.some((toleration) => tolerates(toleration, taint))
  return {
    name: 'NodeUnschedulable',
    events: [
      registered('Node', ['Add', 'UpdateNodeTaint'], (_pod, { now }) => !now?.spec?.unschedulable),
      registeredPods(
        ['UpdatePodTolerations'],
        (pod, { now }) =>
          now?.metadata.uid === pod.uid &&
          isTolerated({ tolerations: now.spec?.tolerations ?? [] }),
      ),
    ],
    filter(pod) {
      if (isTolerated(pod)) return undefined
      return (node) => (node.isUnschedulable ? rejection : undefined)
    },
  }
}
