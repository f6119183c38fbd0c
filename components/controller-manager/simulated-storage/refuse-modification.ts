/**
 * Refuses another class of attributes for a simulated volume: only volumes of CSI drivers have attributes (upstream:
 * kubernetes-csi/external-resizer, pkg/modifycontroller; KEP-3751).
 */
import type { PersistentVolumeClaim } from '../../api/generated/types.ts'
import { simulatedProvisioner } from '../../api/simulation.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { ownVolume } from './storage-tools.ts'
import type { StorageTools } from './storage-tools.ts'

/** Records it once for each class that a claim asks for. */
export function refuseModification(tools: StorageTools, claim: PersistentVolumeClaim): void {
  const { refusedClasses, recorder } = tools
  const key = keyOf(claim)
  const wanted = claim.spec?.volumeAttributesClassName ?? ''
  const isWanted = wanted !== (claim.status?.currentVolumeAttributesClassName ?? '')
  const volume = isWanted ? ownVolume(tools, claim) : undefined
  if (volume === undefined) {
    refusedClasses.delete(key)
    return
  }
  const refused = `${claim.metadata.uid} ${wanted}`
  if (refusedClasses.get(key) === refused) return
  refusedClasses.set(key, refused)
  const message = `modify volume "${volume.metadata.name}" by resizer "${simulatedProvisioner}" failed: ${simulatedProvisioner} does not support volume attributes classes`
  recorder.record(claim, { type: 'Warning', reason: 'VolumeModifyFailed', message })
}
