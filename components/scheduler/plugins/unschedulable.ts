/** NodeUnschedulable: a cordoned node takes only pods that tolerate the taint of the same meaning. */
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type { FilterPlugin, Rejection } from '../plugin.ts'
import { tolerates } from './taints.ts'

const rejection: Rejection = { reasons: ['node(s) were unschedulable'], resolvable: false }

export function unschedulable(dialect: Dialect): FilterPlugin {
  const taint = { key: labelKey(dialect, 'node', 'unschedulable'), effect: 'NoSchedule' }
  return {
    name: 'NodeUnschedulable',
    forPod({ tolerations }) {
      if (tolerations.some((toleration) => tolerates(toleration, taint))) return undefined
      return (node) => (node.isUnschedulable ? rejection : undefined)
    },
  }
}
