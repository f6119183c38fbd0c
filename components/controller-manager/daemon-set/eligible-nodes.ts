/** Which nodes get a daemon, and which keep the one they have (upstream: NodeShouldRunDaemonPod). Pure. */
import type { DaemonSet, Node } from '../../api/generated/types.ts'
import type { Dialect } from '../../api/dialect.ts'
import { matchesRequiredNodes, untolerated } from '../../api/node-selection.ts'
import { tolerationsOf } from './daemon-pods.ts'

export interface Eligibility {
  /** A daemon is to run there. */
  readonly shouldRun: boolean
  /** One that is there already may stay. */
  readonly mayStay: boolean
}

export function eligibility(set: DaemonSet, node: Node, dialect: Dialect): Eligibility {
  const { name = '', labels = {} } = node.metadata
  const spec = set.spec?.template.spec
  const isNamed = !spec?.nodeName || spec.nodeName === name
  if (!isNamed || !matchesRequiredNodes(spec, { name, labels }))
    return { shouldRun: false, mayStay: false }
  const tolerations = tolerationsOf(spec, dialect)
  const { taints } = node.spec ?? {}
  return {
    shouldRun: untolerated(taints, tolerations) === undefined,
    mayStay: untolerated(taints, tolerations, ['NoExecute']) === undefined,
  }
}
