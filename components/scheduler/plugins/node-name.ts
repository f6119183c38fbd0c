/** NodeName: a pod that names its node goes nowhere else (upstream: plugins/nodename). */
import { registered } from '../cluster-event.ts'
import type { PluginWith, Rejection } from '../plugin.ts'

const rejection: Rejection = {
  reasons: ["node(s) didn't match the requested node name"],
  resolvable: false,
}

export const nodeName: PluginWith<'filter'> = {
  name: 'NodeName',
  events: [registered('Node', ['Add'])],
  filter({ pod }) {
    const wanted = pod.spec?.nodeName
    return wanted ? (node) => (wanted === node.name ? undefined : rejection) : undefined
  },
}
