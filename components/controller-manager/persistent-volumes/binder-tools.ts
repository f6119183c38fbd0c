/** The caches, clients and tools that the parts of the binder share. */
import type { Dialect } from '../../api/dialect.ts'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from '../../api/generated/types.ts'
import type { VolumeKeys } from '../../api/volume-binding.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { VolumeMetrics } from '../volume-metrics.ts'
import type { NewestObjects } from './newest-objects.ts'
import type { OperationTimes } from './operation-times.ts'

export interface BinderTools {
  readonly claims: NewestObjects<PersistentVolumeClaim>
  readonly volumes: NewestObjects<PersistentVolume>
  readonly classes: Informer<StorageClass>
  /** Indexed by claim. */
  readonly pods: Informer<Pod>
  readonly claimClient: ResourceClient<PersistentVolumeClaim>
  readonly volumeClient: ResourceClient<PersistentVolume>
  readonly recorder: EventRecorder
  readonly metrics: VolumeMetrics
  /** By the key of a claim whose volume is made, and the name of a volume that is deleted. */
  readonly times: OperationTimes
  readonly keys: VolumeKeys
  readonly dialect: Dialect
  /** Whether volumes are made for claims (--enable-dynamic-provisioning). */
  readonly provisions: boolean
  /** Has the claim of that key looked at soon. */
  readonly queueClaim: (key: string) => void
}
