/** Which pods keep a claim that is being deleted (upstream: pvc_protection_controller.go podUsesPVC). Pure. */
import { controllerOf } from '../machinery/objects/object.ts'
import type { PersistentVolumeClaim, Pod } from './generated/types.ts'

/** It is being removed by force: its agent will not use the claim again. */
function isShutDown({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0
}

/**
 * Whether the pod needs the claim kept. An unscheduled pod does not: its node will not start it with a claim that is being
 * deleted. A finished one does, until it is deleted.
 */
export function usesClaim(pod: Pod, claim: PersistentVolumeClaim): boolean {
  if (!pod.spec?.nodeName) return false
  const { name = '' } = claim.metadata
  return (pod.spec.volumes ?? []).some((volume) => {
    if (volume.persistentVolumeClaim !== undefined)
      return volume.persistentVolumeClaim.claimName === name
    const isOwn = controllerOf(claim)?.uid === pod.metadata.uid
    return (
      volume.ephemeral !== undefined &&
      `${pod.metadata.name}-${volume.name}` === name &&
      isOwn &&
      !isShutDown(pod)
    )
  })
}
