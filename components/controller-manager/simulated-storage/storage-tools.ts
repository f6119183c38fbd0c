/** The caches, clients and tools that the parts of the simulated storage share. */
import type { Dialect } from '../../api/dialect.ts'
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '../../api/generated/types.ts'
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
}

/** Why work fails that was asked to. */
export const simulatedFault = 'simulated fault'
