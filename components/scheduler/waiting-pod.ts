/** Which pods wait for this scheduler (upstream: responsibleForPod). */
import type { Pod } from '../api/generated/types.ts'

/** The name of the scheduler that a pod is addressed to. */
export function schedulerNameOf({ spec }: Pod): string {
  return spec?.schedulerName || 'default-scheduler'
}

/** True for a pod that waits for one of these schedulers: not bound, not ending, and addressed to it. */
export function isWaiting(pod: Pod, schedulerNames: { has(name: string): boolean }): boolean {
  return (
    !pod.spec?.nodeName &&
    pod.metadata.deletionTimestamp === undefined &&
    schedulerNames.has(schedulerNameOf(pod)) &&
    pod.status?.phase !== 'Succeeded' &&
    pod.status?.phase !== 'Failed'
  )
}
