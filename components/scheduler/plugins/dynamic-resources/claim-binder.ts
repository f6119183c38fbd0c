/** ClaimBinder: writes allocations and reservations to claims, and takes reservations back (upstream: dynamicresources.go, bindClaim). */
import { claimFinalizer, isReservedFor, reservedFor } from '../../../api/device-claims.ts'
import type { Dialect } from '../../../api/dialect.ts'
import type { AllocationResult, Pod, ResourceClaim } from '../../../api/generated/types.ts'
import type { ResourceClient } from '../../../client/resource-client.ts'
import { messageOf } from '../../../component-base/log.ts'
import { keyOf, splitKey } from '../../../machinery/objects/object.ts'
import { isStatusError } from '../../../machinery/objects/status-error.ts'

/** Writes that lose a race are tried again so often. */
const mostTries = 5

export interface ClaimBinder {
  /** Reserves the claim for the pod, with the allocation if there is one; resolves with the server's answer. */
  bind(
    claim: ResourceClaim,
    pod: Pod,
    allocation: AllocationResult | undefined,
  ): Promise<ResourceClaim>
  /** Takes the pod's reservation back. */
  release(claim: ResourceClaim, pod: Pod): Promise<void>
}

export function createClaimBinder(
  client: ResourceClient<ResourceClaim>,
  dialect: Dialect,
): ClaimBinder {
  const finalizer = claimFinalizer(dialect)
  const bindOnce: ClaimBinder['bind'] = async (claim, pod, allocation) => {
    let now = claim
    if (now.metadata.deletionTimestamp !== undefined) {
      throw new Error(`claim ${keyOf(now)} got deleted in the meantime`)
    }
    if (allocation !== undefined) {
      if (now.status?.allocation !== undefined) {
        throw new Error(`claim ${keyOf(now)} got allocated elsewhere in the meantime`)
      }
      if (!now.metadata.finalizers?.includes(finalizer)) {
        now = await explained(`add finalizer to claim ${keyOf(now)}`, () =>
          client.update(withFinalizer(now, finalizer)),
        )
      }
      now = { ...now, status: { ...now.status, allocation } }
    }
    if (isReservedFor(pod, now)) return now
    const what = allocation === undefined ? 'reservation' : 'allocation and reservation'
    return await explained(`add ${what} to claim ${keyOf(now)}`, () =>
      client.updateStatus(reservedFor(now, pod)),
    )
  }
  return {
    bind: async (claim, pod, allocation) => {
      let now = claim
      for (let tries = 1; ; tries++) {
        try {
          return await bindOnce(now, pod, allocation)
        } catch (error) {
          const isRace = error instanceof Error && isStatusError(error.cause, 'Conflict')
          if (!isRace || tries === mostTries) throw error
        }
        now = await explained(`get updated claim ${keyOf(claim)} after conflict`, () =>
          client.get(splitKey(keyOf(claim))),
        )
        if (now.metadata.uid !== claim.metadata.uid) {
          throw new Error(`claim ${keyOf(claim)} got deleted in the meantime`)
        }
      }
    },
    release: async ({ metadata }, pod) => {
      const reservation = { $patch: 'delete', uid: pod.metadata.uid }
      const patch = { metadata: { uid: metadata.uid }, status: { reservedFor: [reservation] } }
      await client.patch(splitKey(keyOf({ metadata })), patch, {
        type: 'strategic',
        subresource: 'status',
      })
    },
  }
}

function withFinalizer(claim: ResourceClaim, finalizer: string): ResourceClaim {
  const { metadata } = claim
  const finalizers = [...(metadata.finalizers ?? []), finalizer]
  return { ...claim, metadata: { ...metadata, finalizers } }
}

async function explained<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error })
  }
}
