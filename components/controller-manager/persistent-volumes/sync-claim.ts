/** One claim: finds it a volume, or keeps it bound to the one it has (upstream: pv_controller.go syncClaim). */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts'
import { claimClassName } from '../../api/default-classes.ts'
import {
  differInAttributesClass,
  differInVolumeMode,
  isBoundTo,
  isLargeEnough,
  offersAccessModes,
  volumeClassName,
} from '../../api/volume-binding.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { bestVolume } from './best-volume.ts'
import type { BinderTools } from './binder-tools.ts'
import { bind, setClaimPhase } from './binding.ts'
import {
  assignDefaultClass,
  isDelayed,
  isNodeSelected,
  recordDelay,
  requestVolume,
} from './provision.ts'

export async function syncClaim(tools: BinderTools, claim: PersistentVolumeClaim): Promise<void> {
  const isOld = claim.metadata.annotations?.[tools.keys.bindCompleted] !== undefined
  if (isOld) await keepBound(tools, claim)
  else if (claim.spec?.volumeName) await bindToNamed(tools, claim, claim.spec.volumeName)
  else await findVolume(tools, claim)
}

/** The claim takes any volume that satisfies it. */
async function findVolume(tools: BinderTools, claim: PersistentVolumeClaim): Promise<void> {
  const { volumes, recorder, dialect } = tools
  const waits = isDelayed(tools, claim) && !isNodeSelected(tools, claim)
  const volume = bestVolume(claim, volumes.list(), {
    dialect,
    onlyPreBound: isDelayed(tools, claim),
  })
  if (volume !== undefined) {
    await bindFound(tools, volume, claim)
    return
  }
  // A claim on its way out needs no new volume.
  if (claim.metadata.deletionTimestamp !== undefined) return
  if (await assignDefaultClass(tools, claim)) return
  if (waits) recordDelay(tools, claim)
  else if (claimClassName(claim, dialect) !== '') {
    await requestVolume(tools, claim)
    return
  } else {
    const message = 'no persistent volumes available for this claim and no storage class is set'
    recorder.record(claim, { type: 'Normal', reason: 'FailedBinding', message })
  }
  await setClaimPhase(tools, claim, 'Pending')
}

/** Binds, and tells how long the volume took if one was asked for. */
async function bindFound(
  tools: BinderTools,
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
): Promise<void> {
  const key = keyOf(claim)
  try {
    await bind(tools, volume, claim)
  } catch (error) {
    tools.times.fail(key)
    throw error
  }
  tools.times.end(key)
}

/** Why the claim cannot have the volume that it names; undefined when it can. Pure. */
function mismatchOf(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  { dialect }: BinderTools,
): string | undefined {
  if (volume.metadata.deletionTimestamp !== undefined)
    return `the volume is marked for deletion "${volume.metadata.name}"`
  if (!isLargeEnough(volume, claim)) return 'requested PV is too small'
  if (volumeClassName(volume, dialect) !== claimClassName(claim, dialect))
    return 'storageClassName does not match'
  if (differInAttributesClass(volume, claim)) return 'volumeAttributesClassName does not match'
  if (differInVolumeMode(volume, claim)) return 'incompatible volumeMode'
  return offersAccessModes(volume, claim) ? undefined : 'incompatible accessMode'
}

/** The user, or an attempt that was cut short, named a volume. */
async function bindToNamed(
  tools: BinderTools,
  claim: PersistentVolumeClaim,
  volumeName: string,
): Promise<void> {
  const { volumes, recorder, keys } = tools
  const volume = volumes.get(volumeName)
  const refuse = (reason: string, message: string): void =>
    recorder.record(claim, { type: 'Warning', reason, message })
  if (volume !== undefined && volume.spec?.claimRef === undefined) {
    const why = mismatchOf(volume, claim, tools)
    if (why === undefined) {
      await bind(tools, volume, claim)
      return
    }
    refuse('VolumeMismatch', `Cannot bind to requested volume "${volumeName}": ${why}`)
  } else if (volume !== undefined && isBoundTo(volume, claim)) {
    await bind(tools, volume, claim)
    return
  } else if (volume !== undefined) {
    refuse('FailedBinding', `volume "${volumeName}" already bound to a different claim.`)
    if (claim.metadata.annotations?.[keys.boundByController] !== undefined) {
      const { namespace = '', name = '' } = volume.spec?.claimRef ?? {}
      throw new Error(
        `invalid binding of claim "${keyOf(claim)}" to volume "${volumeName}": volume already claimed by "${namespace}/${name}"`,
      )
    }
  }
  await setClaimPhase(tools, claim, 'Pending')
}

/** A claim that was bound before stays bound to its volume, or is lost with it. */
async function keepBound(tools: BinderTools, claim: PersistentVolumeClaim): Promise<void> {
  const { volumeName = '' } = claim.spec ?? {}
  const lose = async (reason: string, message: string): Promise<void> => {
    await setClaimPhase(tools, claim, 'Lost', { event: { type: 'Warning', reason, message } })
  }
  if (volumeName === '') {
    await lose(
      'ClaimLost',
      'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!',
    )
    return
  }
  const volume = tools.volumes.get(volumeName)
  const uid = volume?.spec?.claimRef?.uid
  if (volume === undefined) {
    await lose(
      'ClaimLost',
      'Bound claim has lost its PersistentVolume. Data on the volume is lost!',
    )
  } else if (volume.spec?.claimRef === undefined || uid === claim.metadata.uid) {
    await bind(tools, volume, claim)
  } else {
    await lose(
      'ClaimMisbound',
      'Two claims are bound to the same volume, this one is bound incorrectly',
    )
  }
}
