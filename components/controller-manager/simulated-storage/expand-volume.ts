/**
 * Expands a bound volume whose claim asks for more. A simulated volume needs no step on its node (upstream:
 * kubernetes-csi/external-resizer; KEP-1790 for the allocated resources).
 */
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimStatus,
} from '../../api/generated/types.ts'
import { simulatedProvisioner, storageWish } from '../../api/simulation.ts'
import { claimClassName } from '../../api/default-classes.ts'
import { requestedStorage, storageIn } from '../../api/volume-binding.ts'
import type { Result } from '../../client/controller.ts'
import { timestamp } from '../../component-base/clock.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { compareQuantities } from '../../machinery/values/quantity.ts'
import { findCondition, withoutCondition } from '../conditions.ts'
import { ownVolume, simulatedFault } from './storage-tools.ts'
import type { StorageTools } from './storage-tools.ts'

const inProgress = 'ControllerResizeInProgress'

function isMarked({ status }: PersistentVolumeClaim): boolean {
  return status?.allocatedResourceStatuses?.['storage'] !== undefined
}

export async function expandVolume(
  tools: StorageTools,
  claim: PersistentVolumeClaim,
): Promise<Result | void> {
  const { recorder, expanding, classes, dialect } = tools
  const key = keyOf(claim)
  const volume = ownVolume(tools, claim)
  const size = requestedStorage(claim)
  const isWanted = compareQuantities(size, storageIn(claim.status?.capacity)) > 0
  if (volume === undefined || (!isWanted && !isMarked(claim))) {
    expanding.forget(key)
    return
  }
  const name = volume.metadata.name ?? ''
  const marked = isMarked(claim) ? claim : await mark(tools, claim, name)
  expanding.hasBegun(key, claim.metadata.uid ?? '')
  const { parameters } = classes.get(claimClassName(claim, dialect)) ?? {}
  const wish = isWanted ? storageWish('expand', claim.metadata.annotations, parameters) : undefined
  const state = expanding.advance(key, wish)
  if (state.kind === 'waiting') return { requeueAfterMs: state.leftMs }
  if (state.kind === 'failed') {
    const message = `resize volume "${name}" by resizer "${simulatedProvisioner}" failed: ${simulatedFault}`
    recorder.record(claim, { type: 'Warning', reason: 'VolumeResizeFailed', message })
    return { requeueAfterMs: state.retryInMs }
  }
  await finish(tools, { claim: marked, volume, size })
  expanding.forget(key)
}

/** Says in the claim's status that its volume is being expanded. */
async function mark(
  { claimClient, recorder, clock }: StorageTools,
  claim: PersistentVolumeClaim,
  volumeName: string,
): Promise<PersistentVolumeClaim> {
  const { status = {} } = claim
  const old = findCondition(status.conditions, 'Resizing')
  const now = timestamp(clock.now())
  const resizing = old ?? { type: 'Resizing', status: 'True', lastTransitionTime: now }
  const marked = await claimClient.updateStatus({
    ...claim,
    status: {
      ...status,
      conditions: [...withoutCondition(status.conditions, 'Resizing'), resizing],
      allocatedResources: { ...status.allocatedResources, storage: requestedStorage(claim) },
      allocatedResourceStatuses: { ...status.allocatedResourceStatuses, storage: inProgress },
    },
  })
  const message = `External resizer is resizing volume ${volumeName}`
  recorder.record(marked, { type: 'Normal', reason: 'Resizing', message })
  return marked
}

/** The status of a claim whose volume has this size. Pure. */
function expandedStatus(
  status: PersistentVolumeClaimStatus,
  size: string,
): PersistentVolumeClaimStatus {
  const { conditions, allocatedResourceStatuses = {}, ...rest } = status
  const { storage: _done, ...statuses } = allocatedResourceStatuses
  const kept = withoutCondition(conditions, 'Resizing')
  return {
    ...rest,
    capacity: { ...rest.capacity, storage: size },
    allocatedResources: { ...rest.allocatedResources, storage: size },
    ...(kept.length > 0 && { conditions: [...kept] }),
    ...(Object.keys(statuses).length > 0 && { allocatedResourceStatuses: statuses }),
  }
}

/** The volume gets its new size first: a claim never shows more than there is. */
async function finish(
  { volumeClient, claimClient, recorder }: StorageTools,
  expansion: {
    readonly claim: PersistentVolumeClaim
    readonly volume: PersistentVolume
    readonly size: string
  },
): Promise<void> {
  const { claim, volume, size } = expansion
  const { spec = {} } = volume
  if (compareQuantities(storageIn(spec.capacity), size) < 0) {
    const capacity = { ...spec.capacity, storage: size }
    await volumeClient.update({ ...volume, spec: { ...spec, capacity } })
  }
  const status = expandedStatus(claim.status ?? {}, size)
  const expanded = await claimClient.updateStatus({ ...claim, status })
  const message = 'Resize volume succeeded'
  recorder.record(expanded, { type: 'Normal', reason: 'VolumeResizeSuccessful', message })
}
