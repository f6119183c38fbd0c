/** Pods that have failed. Pure. */
import type { Node, Pod } from '../../components/api/generated/types.ts'
import { conditionOf, conditionSeen, conditionsSeen, eventsSeen, seen } from './evidence.ts'
import type { Evidence, Finding } from './finding.ts'
import { sentence } from './names.ts'
import { containerFindings } from './pod-containers.ts'
import { nodeOf, type Related } from './related.ts'

function evictionFinding(pod: Pod, related: Related): Finding | undefined {
  const { reason, message = '' } = pod.status ?? {}
  const target = conditionOf(pod, 'DisruptionTarget')
  if (reason !== 'Evicted' && target?.status !== 'True') return undefined
  const why = message || target?.message || target?.reason || ''
  return {
    cause: reason === 'Evicted' ? 'Evicted' : (target?.reason ?? 'Disrupted'),
    message: sentence(`The pod was removed from node ${pod.spec?.nodeName ?? '(none)'}: ${why}`),
    evidence: [
      seen(
        pod,
        `status.phase is ${pod.status?.phase}${reason ? `, for the reason ${reason}` : ''}`,
      ),
      ...conditionsSeen(pod, 'DisruptionTarget'),
      ...eventsSeen(related, pod, ['Evicted', 'Preempted', 'TaintManagerEviction']),
      ...badNodeConditions(nodeOf(pod, related)),
    ],
    next: ['its controller replaces it; a pod without a controller has to be created again'],
  }
}

function badNodeConditions(node: Node | undefined): Evidence[] {
  if (node === undefined) return []
  const conditions = node.status?.conditions ?? []
  return conditions
    .filter(({ type, status }) => (type === 'Ready' ? status !== 'True' : status === 'True'))
    .map((condition) => conditionSeen(node, condition))
}

/** What to do about the reasons that nodes give for failed pods (upstream: kubelet.go, active_deadline.go, lifecycle/predicate.go). */
function failureAdvice(reason: string): string {
  if (reason === 'DeadlineExceeded') {
    return 'raise spec.activeDeadlineSeconds, or make the work faster, and create the pod again'
  }
  return reason.startsWith('OutOf')
    ? 'the node had no room when the pod came: create the pod again, for a node with room'
    : 'correct what its message names, and create the pod again'
}

/** Why a pod has failed: evicted, refused by its node, or by how its containers ended. */
export function failedFindings(pod: Pod, related: Related): Finding[] {
  const evicted = evictionFinding(pod, related)
  if (evicted !== undefined) return [evicted]
  const { reason = '', message = '' } = pod.status ?? {}
  const containers = containerFindings(pod, related)
  // A reason of the pod is why its containers were ended.
  if (reason === '' && containers.length > 0) return containers
  return [
    {
      cause: reason || 'Failed',
      message: sentence(`The pod failed${message ? `: ${message}` : ''}`),
      evidence: [
        seen(pod, 'status.phase is Failed'),
        ...containers.flatMap(({ evidence }) => evidence),
        ...eventsSeen(related, pod),
      ],
      next: [failureAdvice(reason)],
    },
  ]
}
