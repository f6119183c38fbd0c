/** PersistentVolume (upstream: pkg/registry/core/persistentvolume). */
import type { PersistentVolume } from '../../../api/generated/types.ts'
import type { FeatureGates } from '../../../api/feature-gates.ts'
import { timestamp } from '../../../component-base/clock.ts'
import type { Strategy } from '../strategy.ts'
import { validateVolume, validateVolumeChange } from './persistent-volume-validation.ts'
import { defaultVolumeSource } from './pod/volume-defaults.ts'
import { roundUpAmounts } from '../rules/quantities.ts'
import { simulationWarnings } from '../rules/simulation-warnings.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { validation } from '../rules/strategy-checks.ts'

/** With the gate off, a volume gets no class of attributes that it does not have (KEP-3751). */
function dropAttributesClass(
  { spec }: PersistentVolume,
  old: PersistentVolume | undefined,
  gates: FeatureGates,
): void {
  if (gates.VolumeAttributesClass || old?.spec?.volumeAttributesClassName !== undefined) return
  delete spec?.volumeAttributesClassName
}

export const persistentVolumeStrategy: Strategy = {
  applyDefaults(object) {
    const { spec, status } = object as PersistentVolume
    if (status) status.phase ||= 'Pending'
    if (!spec) return
    roundUpAmounts(spec.capacity)
    spec.persistentVolumeReclaimPolicy ||= 'Retain'
    spec.volumeMode ??= 'Filesystem'
    defaultVolumeSource(spec)
  },
  prepareForCreate(object, { nowMs, gates }) {
    object['status'] = { phase: 'Pending', lastPhaseTransitionTime: timestamp(nowMs) }
    dropAttributesClass(object as PersistentVolume, undefined, gates)
  },
  prepareForUpdate(object, old, { gates }) {
    dropAttributesClass(object as PersistentVolume, old as PersistentVolume, gates)
  },
  ...validation<PersistentVolume>(validateVolume, validateVolumeChange),
  warnings: (object, old) => simulationWarnings('PersistentVolume', object, old),
  subresources: {
    status: {
      prepareForUpdate(object, old, { nowMs }) {
        restoreAllButStatus(object, old)
        const { status } = object as PersistentVolume
        const before = (old as PersistentVolume).status
        if (!status || status.phase === before?.phase) return
        const told = status.lastPhaseTransitionTime
        if (!told || told === before?.lastPhaseTransitionTime) {
          status.lastPhaseTransitionTime = timestamp(nowMs)
        }
      },
      validateUpdate: () => [],
    },
  },
}
