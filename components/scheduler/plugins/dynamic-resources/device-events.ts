/** The events that may let a pod have its devices after all (upstream: dynamicresources.go, EventsToRegister and its hints). */
import { deepEqual } from '../../../machinery/objects/object.ts'
import { registered, registeredPods } from '../../cluster-event.ts'
import type { RegisteredEvent } from '../../cluster-event.ts'
import type { ClaimTracker } from './claim-tracker.ts'
import { deviceClaimsOf } from './pod-device-claims.ts'

export function deviceEvents({ get }: Pick<ClaimTracker, 'get'>): readonly RegisteredEvent[] {
  return [
    registered('Node', ['Add', 'UpdateNodeLabel']),
    registered('ResourceClaim', ['Add', 'Update'], ({ pod }, { old, now }) => {
      const claims = deviceClaimsOf(pod, get)
      if ('fault' in claims) return false
      // Its devices are free for others.
      if (old?.status?.allocation !== undefined && now?.status?.allocation === undefined)
        return true
      if (!claims.some(({ metadata }) => metadata.uid === now?.metadata.uid)) return false
      return old === undefined || !deepEqual(old.status, now?.status)
    }),
    registeredPods(
      ['UpdatePodGeneratedResourceClaim'],
      ({ uid }, { now }) => now?.metadata.uid === uid && !('fault' in deviceClaimsOf(now, get)),
    ),
    registered('DeviceClass', ['Add', 'Update']),
    registered('ResourceSlice', ['Add', 'Update']),
  ]
}
