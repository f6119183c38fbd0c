/** waiting-pods: pods without a node, and why. Pure. */
import type { Pod } from '../../../../components/api/generated/types.ts'
import type { SlimEvent } from '../../../protocol/live.ts'

export interface WaitingPod {
  /** `namespace/name`. */
  readonly key: string
  readonly state: 'gated' | 'nominated' | 'unschedulable' | 'queued'
  /** In words. */
  readonly queue: string
  /** The scheduler's message. */
  readonly message: string
  readonly priority: number
  readonly createdMs: number
  /** Set while victims of preemption leave. */
  readonly nominatedNode: string | undefined
  /** Failed attempts, as far as events reach back. */
  readonly attempts: number
}

function queueOf(pod: Pod): Pick<WaitingPod, 'state' | 'queue' | 'message'> {
  const { spec, status } = pod
  const gates = (spec?.schedulingGates ?? []).map(({ name }) => name)
  const tried = status?.conditions?.find(({ type }) => type === 'PodScheduled')
  const message = tried?.message ?? ''
  const nominated = status?.nominatedNodeName
  if (gates.length > 0) {
    return { state: 'gated', queue: `held back by ${gates.join(', ')}`, message }
  }
  if (nominated) {
    return { state: 'nominated', queue: `waits for room on ${nominated}`, message }
  }
  if (tried?.status === 'False') {
    const queue = 'did not fit; tried again after a change that may help'
    return { state: 'unschedulable', queue, message }
  }
  return { state: 'queued', queue: 'in the queue, not tried yet', message }
}

/** Pods that wait for a scheduler: the most important first, then the oldest. */
export function waitingPods(pods: readonly Pod[], events: Iterable<SlimEvent>): WaitingPod[] {
  const attempts = new Map<string, number>()
  for (const { reason, regarding, count } of events) {
    if (reason !== 'FailedScheduling') continue
    attempts.set(regarding, (attempts.get(regarding) ?? 0) + count)
  }
  return pods
    .filter(
      ({ spec, status, metadata }) =>
        !spec?.nodeName &&
        metadata?.deletionTimestamp === undefined &&
        status?.phase !== 'Failed' &&
        status?.phase !== 'Succeeded',
    )
    .map((pod): WaitingPod => {
      const { namespace = '', name = '', creationTimestamp } = pod.metadata ?? {}
      const key = `${namespace}/${name}`
      return {
        key,
        ...queueOf(pod),
        priority: pod.spec?.priority ?? 0,
        createdMs: Date.parse(creationTimestamp ?? ''),
        nominatedNode: pod.status?.nominatedNodeName || undefined,
        attempts: attempts.get(`Pod ${key}`) ?? 0,
      }
    })
    .toSorted((one, other) => other.priority - one.priority || one.createdMs - other.createdMs)
}
