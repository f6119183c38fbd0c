/** The caches, clients and tools that the parts of the simulated storage share. */
import type { Dialect } from '../../api/dialect.ts'
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '../../api/generated/types.ts'
import { simulatedProvisioner } from '../../api/simulation.ts'
import type { VolumeKeys } from '../../api/volume-binding.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { OwnWrites } from '../own-writes.ts'
import type { SimulatedWork } from './simulated-work.ts'

export interface StorageTools {
  readonly claims: Informer<PersistentVolumeClaim>
  readonly volumes: Informer<PersistentVolume>
  readonly classes: Informer<StorageClass>
  readonly claimClient: ResourceClient<PersistentVolumeClaim>
  readonly volumeClient: ResourceClient<PersistentVolume>
  readonly nodeClient: ResourceClient<Node>
  readonly recorder: EventRecorder
  readonly keys: VolumeKeys
  readonly dialect: Dialect
  readonly clock: Clock
  /** Volumes that were made. */
  readonly ownWrites: OwnWrites
  /** Making, expanding and deleting volumes. */
  readonly making: SimulatedWork
  readonly expanding: SimulatedWork
  readonly deleting: SimulatedWork
  /** The class of attributes that each claim was refused, by the claim's key. */
  readonly refusedClasses: Map<string, string>
}

/** The claim's volume, if this provisioner made it and both name each other. */
export function ownVolume(
  { volumes, keys }: StorageTools,
  { metadata, spec, status }: PersistentVolumeClaim,
): PersistentVolume | undefined {
  const volume = spec?.volumeName ? volumes.get(spec.volumeName) : undefined
  const isOwn = volume?.metadata.annotations?.[keys.provisionedBy] === simulatedProvisioner
  const isBound = status?.phase === 'Bound' && volume?.spec?.claimRef?.uid === metadata.uid
  return isOwn && isBound ? volume : undefined
}

/** Why work fails that was asked to. */
export const simulatedFault = 'simulated fault'
