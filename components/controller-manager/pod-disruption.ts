/** Ending a pod on purpose: the DisruptionTarget condition says why, then the pod is deleted (KEP-3329). */
import type { Pod } from '../api/generated/types.ts'
import type { ResourceClient } from '../client/resource-client.ts'
import type { Clock } from '../component-base/clock.ts'
import { timestamp } from '../component-base/clock.ts'
import { isStatusError } from '../machinery/status-error.ts'
import { withPodCondition } from './pod-state.ts'

export interface Disruption {
  readonly pods: ResourceClient<Pod>
  readonly clock: Clock
  /** `undefined` sets no condition. */
  readonly why: { readonly reason: string; readonly message: string } | undefined
  /** Also marks a pod failed that has not ended: nobody is left who would say so. */
  readonly markFailed?: boolean
  /** Default: the pod's own grace period. */
  readonly gracePeriodSeconds?: number
}

/** The status the pod is to have before it is deleted; undefined when it has it. Pure. */
function statusBefore(pod: Pod, options: Disruption): Pod['status'] | undefined {
  const { why, markFailed = false, clock } = options
  const { phase } = pod.status ?? {}
  const fails = markFailed && phase !== 'Succeeded' && phase !== 'Failed'
  const adds = why !== undefined && (!markFailed || fails)
  if (!fails && !adds) return undefined
  const condition = { type: 'DisruptionTarget', status: 'True', ...why }
  return {
    ...(fails ? { phase: 'Failed' } : {}),
    ...(adds ? { conditions: withPodCondition(pod, condition, timestamp(clock.now())) } : {}),
  }
}

/** Deletes this very pod. One that is gone, or was replaced by another of its name, is left alone. */
export async function disruptPod(pod: Pod, options: Disruption): Promise<void> {
  const { pods, gracePeriodSeconds } = options
  const { namespace, name = '', uid = '' } = pod.metadata
  const ref = { namespace, name }
  try {
    for (;;) {
      const live = await pods.get(ref)
      if (live.metadata.uid !== uid) return
      const status = statusBefore(live, options)
      if (status === undefined) break
      const patch = { metadata: { uid, resourceVersion: live.metadata.resourceVersion }, status }
      try {
        await pods.patch(ref, patch, { type: 'merge', subresource: 'status' })
        break
      } catch (error) {
        // Somebody else reported on it meanwhile: look again.
        if (!isStatusError(error, 'Conflict')) throw error
      }
    }
    await pods.delete(ref, {
      preconditions: { uid },
      ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    })
  } catch (error) {
    if (!isStatusError(error, 'NotFound', 'Conflict')) throw error
  }
}
