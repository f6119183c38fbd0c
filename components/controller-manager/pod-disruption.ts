/** Ending a pod on purpose: the DisruptionTarget condition says why, then the pod is deleted (KEP-3329). */
import type { Pod } from '../api/generated/types.ts'
import type { ResourceClient } from '../client/resource-client.ts'
import { isGone } from '../client/is-gone.ts'
import type { Clock } from '../component-base/clock.ts'
import { timestamp } from '../component-base/clock.ts'
import { withPodCondition } from './pod-state.ts'

export interface Disruption {
  readonly pods: ResourceClient<Pod>
  readonly clock: Clock
  /** `undefined` sets no condition. */
  readonly why: { readonly reason: string; readonly message: string } | undefined
  /** Also marks a running pod failed: no node agent is left to report its end. */
  readonly markFailed?: boolean
  /** Default: the pod's own grace period. */
  readonly gracePeriodSeconds?: number
}

/** The part of the pod's status to change before it is deleted; undefined for none. Pure. */
function statusBefore(pod: Pod, options: Disruption): Pod['status'] | undefined {
  const { why, markFailed = false, clock } = options
  const { phase } = pod.status ?? {}
  const fails = markFailed && phase !== 'Succeeded' && phase !== 'Failed'
  const adds = why !== undefined && (!markFailed || fails)
  if (!fails && !adds) return undefined
  const condition = { type: 'DisruptionTarget', status: 'True', ...why }
  const conditions = withPodCondition(pod, condition, timestamp(clock.now()))
  return {
    ...(fails ? { phase: 'Failed' } : {}),
    ...(adds ? { conditions: conditions.filter(({ type }) => type === condition.type) } : {}),
  }
}

/**
 * Deletes this very pod, as the caller last saw it. A pod that is gone, or was replaced by another of its name, is left alone.
 * It never reads the pod: not every controller's role has `get` (upstream: pkg/util/pod PatchPodStatus).
 */
export async function disruptPod(pod: Pod, options: Disruption): Promise<void> {
  const { pods, gracePeriodSeconds } = options
  const { namespace, name = '', uid = '' } = pod.metadata
  const ref = { namespace, name }
  const status = statusBefore(pod, options)
  try {
    if (status !== undefined) {
      // Merged by the condition's type, so that what others reported meanwhile stays.
      const patch = { metadata: { uid }, status }
      await pods.patch(ref, patch, { type: 'strategic', subresource: 'status' })
    }
    await pods.delete(ref, {
      preconditions: { uid },
      ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    })
  } catch (error) {
    if (!isGone(error)) throw error
  }
}
