/** VolumeWait: holds a pod's containers back until its volumes are there, and records why they are not. */
import type { Pod } from '../../api/generated/types.ts'
import { backoffDelay } from '../../component-base/backoff.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { RecordPodEvent } from './pod-containers.ts'
import type { PodVolumes } from './pod-volumes.ts'

/** As upstream's volume operations are retried (exponentialbackoff). */
const retryDelays = { initialMs: 500, maxMs: 122_000 }

export interface VolumeWait {
  /** Whether the volumes are there; the first call has them looked at. Once true, it stays so. */
  isOver(pod: Pod): boolean
  stop(): void
}

export function createVolumeWait(options: {
  readonly volumes: PodVolumes
  readonly record: RecordPodEvent
  readonly clock: Clock
  /** Called when `isOver` is worth another call. */
  readonly onChange: () => void
}): VolumeWait {
  const { volumes, record, clock, onChange } = options
  let state: 'new' | 'checking' | 'waiting' | 'over' | 'stopped' = 'new'
  let failures = 0
  let cancel = (): void => {}
  const check = async (pod: Pod): Promise<void> => {
    const faults = await volumes.check(pod)
    if (state === 'stopped') return
    if (faults.length === 0) {
      state = 'over'
      onChange()
      return
    }
    for (const message of faults) record(pod, { type: 'Warning', reason: 'FailedMount', message })
    state = 'waiting'
    cancel = clock.after(backoffDelay(retryDelays, failures), () => {
      state = 'new'
      onChange()
    })
    failures += 1
  }
  return {
    isOver: (pod) => {
      if (state === 'new') {
        state = volumes.needsCheck(pod) ? 'checking' : 'over'
        if (state === 'checking') void check(pod)
      }
      return state === 'over'
    },
    stop: () => {
      if (state !== 'over') state = 'stopped'
      cancel()
    },
  }
}
