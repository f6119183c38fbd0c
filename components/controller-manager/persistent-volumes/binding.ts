/**
 * Binding as writes: the volume names the claim first, then the claim names the volume, so that a crash in between leaves a
 * volume that is held for the claim (upstream: pv_controller.go bind, unbindVolume, updateClaimStatus, updateVolumePhase).
 */
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimStatus,
} from '../../api/generated/types.ts'
import { isBoundTo, referenceToClaim, storageIn } from '../../api/volume-binding.ts'
import type { RecordedEvent } from '../../client/event-recorder.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { compareQuantities } from '../../machinery/values/quantity.ts'
import type { BinderTools } from './binder-tools.ts'

export type VolumePhase = 'Available' | 'Bound' | 'Released' | 'Failed'
export type ClaimPhase = 'Pending' | 'Bound' | 'Lost'

function withAnnotation<T extends PersistentVolume | PersistentVolumeClaim>(
  object: T,
  key: string,
): T {
  const { metadata } = object
  if (metadata.annotations?.[key] !== undefined) return object
  const annotations = { ...metadata.annotations, [key]: 'yes' }
  return { ...object, metadata: { ...metadata, annotations } }
}

/** Writes the volume if it is not `volume` already, and remembers the answer. */
export async function writeVolume(
  { volumes, volumeClient }: BinderTools,
  volume: PersistentVolume,
  next: PersistentVolume,
): Promise<PersistentVolume> {
  if (deepEqual(volume, next)) return volume
  const written = await volumeClient.update(next)
  volumes.wrote(written)
  return written
}

/** Writes the claim if it is not `claim` already, and remembers the answer. */
export async function writeClaim(
  { claims, claimClient }: BinderTools,
  claim: PersistentVolumeClaim,
  next: PersistentVolumeClaim,
): Promise<PersistentVolumeClaim> {
  if (deepEqual(claim, next)) return claim
  const written = await claimClient.update(next)
  claims.wrote(written)
  return written
}

/** Sets the phase; the event is recorded only when that is a change. */
export async function setVolumePhase(
  { volumes, volumeClient, recorder }: BinderTools,
  volume: PersistentVolume,
  phase: VolumePhase,
  event?: RecordedEvent,
): Promise<PersistentVolume> {
  if (volume.status?.phase === phase) return volume
  const { message: _old, ...status } = volume.status ?? {}
  const message = event === undefined ? {} : { message: event.message }
  const next = { ...volume, status: { ...status, ...message, phase } }
  const written = await volumeClient.updateStatus(next)
  volumes.wrote(written)
  if (event !== undefined) recorder.record(written, event)
  return written
}

/** The claim's status in that phase; a claim that becomes bound has the volume's size and access modes. Pure. */
function claimStatus(
  { status = {} }: PersistentVolumeClaim,
  phase: ClaimPhase,
  volume: PersistentVolume | undefined,
): PersistentVolumeClaimStatus {
  const { accessModes: _modes, capacity, ...rest } = status
  if (volume === undefined) return { ...rest, phase }
  const { accessModes, capacity: offered = {}, volumeAttributesClassName } = volume.spec ?? {}
  // What a bound claim's attributes are is said by whoever changes them.
  const isNewlyBound = status.phase === 'Pending' && phase === 'Bound'
  const attributes =
    isNewlyBound && volumeAttributesClassName !== undefined
      ? { currentVolumeAttributesClassName: volumeAttributesClassName }
      : {}
  // The size of a claim that is bound already is its expander's concern.
  const isSameSize =
    status.phase === phase ||
    (capacity !== undefined && compareQuantities(storageIn(capacity), storageIn(offered)) === 0)
  const size = isSameSize ? capacity : offered
  return {
    ...rest,
    phase,
    ...(accessModes === undefined ? {} : { accessModes }),
    ...(size === undefined ? {} : { capacity: size }),
    ...attributes,
  }
}

/** Sets phase, size and access modes; the event is recorded only when the phase changes. */
export async function setClaimPhase(
  { claims, claimClient, recorder }: BinderTools,
  claim: PersistentVolumeClaim,
  phase: ClaimPhase,
  { volume, event }: { readonly volume?: PersistentVolume; readonly event?: RecordedEvent } = {},
): Promise<PersistentVolumeClaim> {
  const isNews = claim.status?.phase !== phase
  const status = claimStatus(claim, phase, volume)
  if (deepEqual(claim.status, status)) return claim
  const written = await claimClient.updateStatus({ ...claim, status })
  claims.wrote(written)
  if (event !== undefined && isNews) recorder.record(written, event)
  return written
}

/** Binds both to each other and marks both as Bound. Skips the writes that are already done. */
export async function bind(
  tools: BinderTools,
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
): Promise<void> {
  const { keys } = tools
  const { namespace, name, uid } = claim.metadata
  const ref = volume.spec?.claimRef
  const isNamed = ref?.name === name && ref?.namespace === namespace && ref?.uid === uid
  const named = isNamed
    ? volume
    : { ...volume, spec: { ...volume.spec, claimRef: referenceToClaim(claim) } }
  const nextVolume = isBoundTo(volume, claim)
    ? named
    : withAnnotation(named, keys.boundByController)
  const boundVolume = await writeVolume(tools, volume, nextVolume)
  const taken = await setVolumePhase(tools, boundVolume, 'Bound')

  const volumeName = taken.metadata.name ?? ''
  const isChosen = claim.spec?.volumeName === volumeName
  const chosen = isChosen
    ? claim
    : withAnnotation({ ...claim, spec: { ...claim.spec, volumeName } }, keys.boundByController)
  const boundClaim = await writeClaim(tools, claim, withAnnotation(chosen, keys.bindCompleted))
  await setClaimPhase(tools, boundClaim, 'Bound', { volume: taken })
}

/** Takes a binding back: a controller's wholly, of a user's the uid alone. */
export async function unbindVolume(tools: BinderTools, volume: PersistentVolume): Promise<void> {
  const { boundByController } = tools.keys
  const { metadata, spec = {} } = volume
  const { claimRef, ...free } = spec
  let next: PersistentVolume
  if (metadata.annotations?.[boundByController] === undefined) {
    const { uid: _uid, ...ref } = claimRef ?? {}
    next = { ...volume, spec: { ...spec, claimRef: ref } }
  } else {
    const { [boundByController]: _own, ...annotations } = metadata.annotations
    next = { ...volume, metadata: { ...metadata, annotations }, spec: free }
  }
  await setVolumePhase(tools, await writeVolume(tools, volume, next), 'Available')
}
