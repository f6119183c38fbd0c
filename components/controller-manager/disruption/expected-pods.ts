/** How many pods a budget's workloads want, all together (upstream: disruption.go getExpectedPodCount). */
import type { Pod, PodDisruptionBudget } from '../../api/generated/types.ts'
import type { OwnerReference } from '../../machinery/objects/object.ts'
import { controllerOf } from '../../machinery/objects/object.ts'
import { share } from '../deployment/replica-math.ts'

/** A workload and the number of pods it wants; its uid keeps it from being counted twice. */
export interface Scale {
  readonly uid: string
  readonly replicas: number
}

/**
 * The scale of a pod's controller, of the Deployment above it where there is one. Undefined when the controller is gone.
 * Rejects for a kind that has no scale, and with what a server answers that cannot tell.
 */
export type FindScale = (
  controller: OwnerReference,
  namespace: string,
) => Promise<Scale | undefined>

export interface Expectation {
  /** What the budget's percentages are of. */
  readonly expectedPods: number
  readonly desiredHealthy: number
}

/** Pods without a controller do not count: no controller would replace them. */
async function wantedByControllers(pods: readonly Pod[], findScale: FindScale): Promise<number> {
  const scales = new Map<string, number>()
  const seen = new Set<string>()
  for (const pod of pods) {
    const controller = controllerOf(pod)
    if (controller === undefined || seen.has(controller.uid)) continue
    seen.add(controller.uid)
    const scale = await findScale(controller, pod.metadata.namespace ?? '')
    if (scale === undefined) {
      throw new Error(`found no controllers for pod ${JSON.stringify(pod.metadata.name)}`)
    }
    scales.set(scale.uid, scale.replicas)
  }
  return [...scales.values()].reduce((sum, replicas) => sum + replicas, 0)
}

/** Rejects when a pod's controller cannot be counted. */
export async function expectedOf(
  { spec }: PodDisruptionBudget,
  pods: readonly Pod[],
  findScale: FindScale,
): Promise<Expectation> {
  const { maxUnavailable, minAvailable } = spec ?? {}
  if (maxUnavailable !== undefined) {
    const expectedPods = await wantedByControllers(pods, findScale)
    const unavailable = share(maxUnavailable, expectedPods, Math.ceil)
    return { expectedPods, desiredHealthy: Math.max(0, expectedPods - unavailable) }
  }
  if (typeof minAvailable === 'number') {
    return { expectedPods: pods.length, desiredHealthy: minAvailable }
  }
  if (minAvailable !== undefined) {
    const expectedPods = await wantedByControllers(pods, findScale)
    return { expectedPods, desiredHealthy: share(minAvailable, expectedPods, Math.ceil) }
  }
  return { expectedPods: 0, desiredHealthy: 0 }
}
