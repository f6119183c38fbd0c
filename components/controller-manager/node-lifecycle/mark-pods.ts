/** Marks the pods of a silent node not ready (upstream: MarkPodsNotReady). */
import type { Pod } from '../../api/generated/types.ts'
import { isGone } from '../../client/is-gone.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { Clock } from '../../component-base/clock.ts'
import { timestamp } from '../../component-base/clock.ts'
import { eachAtOnce } from '../batches.ts'
import { isReady, readyCondition, withPodCondition } from '../pod-state.ts'

const atOnce = 20

export interface PodMarker {
  /** Throws the first failure once all were tried: lost races are for the next try. A pod that is gone is not a failure. */
  markNotReady(pods: readonly Pod[]): Promise<void>
}

export function createPodMarker(options: {
  readonly pods: ResourceClient<Pod>
  readonly recorder: EventRecorder
  readonly clock: Clock
}): PodMarker {
  const { pods, recorder, clock } = options
  const mark = async (pod: Pod): Promise<void> => {
    const { namespace, name = '', uid, resourceVersion } = pod.metadata
    const { lastTransitionTime: _, ...ready } = readyCondition(pod) ?? { type: 'Ready' }
    const now = timestamp(clock.now())
    const conditions = withPodCondition(pod, { ...ready, status: 'False' }, now)
    recorder.record(pod, {
      type: 'Warning',
      reason: 'NodeNotReady',
      message: 'Node is not ready',
    })
    const patch = { metadata: { uid, resourceVersion }, status: { conditions } }
    try {
      await pods.patch({ namespace, name }, patch, { type: 'merge', subresource: 'status' })
    } catch (error) {
      if (!isGone(error)) throw error
    }
  }
  return {
    markNotReady: async (all) => {
      const [failure] = await eachAtOnce(all.filter(isReady), atOnce, mark)
      if (failure !== undefined) throw failure
    },
  }
}
