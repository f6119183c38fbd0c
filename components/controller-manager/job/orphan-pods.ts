/**
 * Takes the tracking finalizer from pods that no Job will count: their Job is gone or finished, or they have none
 * (upstream: job_controller.go syncOrphanPod).
 */
import type { Job, Pod } from '../../api/generated/types.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { controllerOf, keyOf } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import { controlledBy } from '../pod-indexes.ts'
import { finishedCondition } from './job-conditions.ts'
import { hasTrackingFinalizer } from './job-pods.ts'
import { isManagedElsewhere } from './job-rules.ts'
import type { JobRules } from './job-rules.ts'
import { removeFinalizer } from './manage-pods.ts'

export interface OrphanSync {
  readonly jobs: Informer<Job>
  readonly pods: Informer<Pod>
  readonly podClient: ResourceClient<Pod>
  /** Of Jobs. */
  readonly resource: Resource
  readonly rules: JobRules
}

/** Whether the pod keeps the finalizer for nothing. */
function isOrphan({ jobs, resource, rules }: OrphanSync, pod: Pod): boolean {
  if (!hasTrackingFinalizer(pod, rules)) return false
  const controller = controllerOf(pod)
  if (controller === undefined) return true
  // Another kind of owner may use the finalizer in its own way.
  const isJob =
    controller.kind === resource.kind && controller.apiVersion === apiVersionOf(resource)
  if (!isJob) return false
  const job = jobs.get(`${pod.metadata.namespace ?? ''}/${controller.name}`)
  if (job === undefined || job.metadata.uid !== controller.uid) return true
  return !isManagedElsewhere(job, rules) && finishedCondition(job) !== undefined
}

/** The pod's key, if it is an orphan. */
export function orphanKeys(sync: OrphanSync, pod: Pod): readonly string[] {
  return isOrphan(sync, pod) ? [keyOf(pod)] : []
}

/** The orphans that a Job leaves which is gone or finished. */
export function orphansOf(sync: OrphanSync, job: Job): readonly string[] {
  return controlledBy(sync.pods, job)
    .owned.filter((pod) => isOrphan(sync, pod))
    .map(keyOf)
}

export async function syncOrphanPod(sync: OrphanSync, key: string): Promise<void> {
  const pod = sync.pods.get(key)
  if (pod === undefined || !isOrphan(sync, pod)) return
  await removeFinalizer(sync.podClient, pod, sync.rules)
}
