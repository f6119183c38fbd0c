/**
 * ClaimTracker: claims as the scheduler's own writes left them, and the devices that they hold, before the informer has seen these
 * writes (upstream: dynamicresources/dra_manager.go). Two decisions in a row never hand out one device twice.
 */
import type { AllocationResult, ResourceClaim } from '../../../api/generated/types.ts'
import type { Informer } from '../../../client/informer.ts'
import { keyOf } from '../../../machinery/objects/object.ts'
import { deviceId } from './device-pools.ts'

export interface ClaimTracker {
  /** By `namespace/name`. */
  get(key: string): ResourceClaim | undefined
  /** Ids of all devices that claims hold, or are about to. */
  allocatedDevices(): ReadonlySet<string>
  /** Whether an allocation of the claim is being written. */
  isPending(claim: ResourceClaim): boolean
  /** Counts the allocation from now on. */
  begin(claim: ResourceClaim, allocation: AllocationResult): void
  /** The claim was written: this is the server's answer. */
  wrote(claim: ResourceClaim): void
  /** Counts the allocation no more, unless the claim was written with it. */
  end(claim: ResourceClaim): void
}

export function createClaimTracker(informer: Informer<ResourceClaim>): ClaimTracker {
  const pending = new Map<string, AllocationResult>()
  const written = new Map<string, ResourceClaim>()
  let devices: ReadonlySet<string> | undefined
  informer.onEvent(({ type, object }) => {
    devices = undefined
    const own = written.get(uidOf(object))
    if (own !== undefined && (type === 'delete' || versionOf(object) >= versionOf(own))) {
      written.delete(uidOf(object))
    }
  })
  const newest = (claim: ResourceClaim): ResourceClaim => written.get(uidOf(claim)) ?? claim
  return {
    get: (key) => {
      const claim = informer.get(key)
      return claim && newest(claim)
    },
    allocatedDevices: () => {
      if (devices !== undefined) return devices
      const all = [...pending.values()]
      for (const claim of informer.list()) {
        const allocation = newest(claim).status?.allocation
        if (allocation !== undefined) all.push(allocation)
      }
      devices = new Set(all.flatMap(devicesOf))
      return devices
    },
    isPending: (claim) => pending.has(uidOf(claim)),
    begin: (claim, allocation) => {
      devices = undefined
      pending.set(uidOf(claim), allocation)
    },
    wrote: (claim) => {
      devices = undefined
      const known = informer.get(keyOf(claim))
      // It may be gone, or shown already.
      if (known === undefined || uidOf(known) !== uidOf(claim)) return
      if (versionOf(claim) > versionOf(newest(known))) written.set(uidOf(claim), claim)
    },
    end: (claim) => {
      devices = undefined
      pending.delete(uidOf(claim))
    },
  }
}

/** Devices with admin access stay free for others. */
function devicesOf({ devices }: AllocationResult): string[] {
  return (devices?.results ?? [])
    .filter(({ adminAccess }) => adminAccess !== true)
    .map(({ driver, pool, device }) => deviceId(driver, pool, device))
}

function uidOf({ metadata }: ResourceClaim): string {
  return metadata.uid ?? ''
}

function versionOf({ metadata }: ResourceClaim): number {
  return Number(metadata.resourceVersion ?? 0)
}
