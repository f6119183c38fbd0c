/** NodeName: a pod that names its node goes nowhere else. */
import type { FilterPlugin, Rejection } from '../plugin.ts'

const rejection: Rejection = {
  reasons: ["node(s) didn't match the requested node name"],
  resolvable: false,
}

export const nodeName: FilterPlugin = {
  name: 'NodeName',
  forPod({ pod }) {
    const wanted = pod.spec?.nodeName
    return wanted ? (node) => (wanted === node.name ? undefined : rejection) : undefined
  },
}
