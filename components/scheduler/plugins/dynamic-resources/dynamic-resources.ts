/**
 * DynamicResources: a pod goes where the devices of its claims are, and gets them (upstream: plugins/dynamicresources; KEP-4381).
 * Behind the gate DynamicResourceAllocation.
 */
import { canBeReserved, isReservedFor } from '../../../api/device-claims.ts'
import type {
  DeviceClass,
  Pod,
  ResourceClaim,
  ResourceSlice,
} from '../../../api/generated/types.ts'
import { matchesNodeTerm } from '../../../api/node-selection.ts'
import type { SelectableNode } from '../../../api/node-selection.ts'
import { resourcesOf } from '../../../api/resources.ts'
import type { Informer } from '../../../client/informer.ts'
import { messageOf } from '../../../component-base/log.ts'
import { keyOf } from '../../../machinery/objects/object.ts'
import type { DeviceSupport, Handle, PluginWith, Rejection, Reservation } from '../../plugin.ts'
import type { PodInfo } from '../../pod-info.ts'
import { createAllocator, type Allocation } from './allocator.ts'
import { createClaimBinder, type ClaimBinder } from './claim-binder.ts'
import { createClaimTracker, type ClaimTracker } from './claim-tracker.ts'
import { deviceEvents } from './device-events.ts'
import { deviceClaimsOf } from './pod-device-claims.ts'

const name = 'DynamicResources'
const reject = (reason: string): Rejection => ({ reasons: [reason], resolvable: false })
const notOnNode = reject('resourceclaim not available on the node')

type Points = 'preEnqueue' | 'filter' | 'postFilter' | 'reserve'

/** What an upstream scheduler has with the gate off: configuration may name the plugin. */
const disabled: PluginWith<Points> = {
  name,
  preEnqueue: () => undefined,
  filter: () => undefined,
  postFilter: async () => ({ ok: false, message: 'plugin disabled', keepsNomination: true }),
  reserve: () => undefined,
}

interface Parts extends DeviceSupport {
  readonly tracker: ClaimTracker
  readonly classes: Informer<DeviceClass>
  readonly slices: Informer<ResourceSlice>
  readonly binder: ClaimBinder
}

export function dynamicResources(handle: Handle): PluginWith<Points> {
  const { devices, informers, client, dialect, log } = handle
  if (devices === undefined) return disabled
  const { resourceClaims, resourceSlices, deviceClasses } = resourcesOf(dialect)
  const tracker = createClaimTracker(informers.informer<ResourceClaim>(resourceClaims))
  const binder = createClaimBinder(client.resource<ResourceClaim>(resourceClaims), dialect)
  const parts: Parts = {
    ...devices,
    tracker,
    classes: informers.informer<DeviceClass>(deviceClasses),
    slices: informers.informer<ResourceSlice>(resourceSlices),
    binder,
  }
  return {
    name,
    events: deviceEvents(tracker),
    preEnqueue: ({ pod }) => {
      const claims = deviceClaimsOf(pod, tracker.get)
      return 'fault' in claims ? reject(claims.fault) : undefined
    },
    filter: (pod) => asError('PreFilter', () => filterFor(parts, pod)),
    postFilter: async ({ pod: { pod }, snapshot, diagnosis, dryRun = false }) => {
      const isConcerned = diagnosis.rejectedBy.has(name)
      const claims = deviceClaimsOf(pod, tracker.get)
      if ('fault' in claims || claims.length === 0) return undefined
      const idle = isConcerned ? idleElsewhere(claims, pod, snapshot.nodes) : undefined
      if (idle === undefined) return failure('still not schedulable')
      if (!dryRun) await deallocate(client.resource<ResourceClaim>(resourceClaims), tracker, idle)
      return failure('deallocation of ResourceClaim completed')
    },
    reserve: (pod, node) =>
      reserve(parts, { pod, node }, (error) => {
        log.warn('a claim stays reserved for a pod that is not bound', { pod: pod.key, error })
      }),
  }
}

const failure = (message: string) => ({
  ok: false as const,
  message,
  keepsNomination: true,
  isPreemption: false,
})

/** Names the extension point in the error, as upstream's framework does. */
function asError<T>(point: 'PreFilter' | 'Filter', run: () => T): T {
  try {
    return run()
  } catch (error) {
    const where =
      point === 'Filter' ? `running "${name}" filter plugin` : `running ${point} plugin "${name}"`
    throw new Error(`${where}: ${messageOf(error)}`, { cause: error })
  }
}

function isAllocated({ status }: ResourceClaim): boolean {
  return status?.allocation !== undefined
}

/** Whether a node can use what the claim has. */
function isUsableOn({ status }: ResourceClaim, node: SelectableNode): boolean {
  const terms = status?.allocation?.nodeSelector?.nodeSelectorTerms
  return terms === undefined || terms.some((term) => matchesNodeTerm(term, node))
}

function filterFor(
  parts: Parts,
  { pod }: PodInfo,
): ((node: SelectableNode) => Rejection | undefined) | Rejection | undefined {
  const claims = deviceClaimsOf(pod, parts.tracker.get)
  if ('fault' in claims) return reject(claims.fault)
  if (claims.length === 0) return undefined
  for (const claim of claims) {
    const fault = isAllocated(claim) ? useFault(claim, pod) : allocationFault(parts, claim)
    if (fault !== undefined) return reject(fault)
  }
  const allocate = allocatorFor(parts, claims)
  return (node) => {
    const allocation = asError('Filter', () => allocate(node))
    if ('reason' in allocation) return reject(allocation.reason)
    return claims.every((claim) => isUsableOn(claim, node)) ? undefined : notOnNode
  }
}

function useFault(claim: ResourceClaim, pod: Pod): string | undefined {
  return canBeReserved(claim) || isReservedFor(pod, claim) ? undefined : 'resourceclaim in use'
}

function allocationFault({ tracker, classes }: Parts, claim: ResourceClaim): string | undefined {
  if (tracker.isPending(claim)) {
    return `resource claim ${keyOf(claim)} is in the process of being allocated`
  }
  for (const { name: request, deviceClassName } of claim.spec.devices?.requests ?? []) {
    if (deviceClassName === '') throw new Error(`request ${request}: unsupported request type`)
    if (classes.get(deviceClassName) === undefined) {
      return `request ${request}: device class ${deviceClassName} does not exist`
    }
  }
  return undefined
}

/** Allocates those of the claims that have nothing yet. */
function allocatorFor(
  { tracker, classes, slices, compile, allowsAdminAccess }: Parts,
  claims: readonly ResourceClaim[],
): (node: SelectableNode) => Allocation {
  const open = claims.filter((claim) => !isAllocated(claim))
  if (open.length === 0) return () => ({ results: [] })
  return createAllocator({
    claims: open,
    slices: slices.list(),
    allocated: tracker.allocatedDevices(),
    classOf: (className) => classes.get(className),
    compile,
    allowsAdminAccess,
  })
}

/** A claim whose devices are of no use on some node, and that no other pod uses. */
function idleElsewhere(
  claims: readonly ResourceClaim[],
  pod: Pod,
  nodes: readonly SelectableNode[],
): ResourceClaim | undefined {
  return claims.find((claim) => {
    const users = claim.status?.reservedFor ?? []
    const isIdle = users.every(({ uid }) => uid === pod.metadata.uid) && users.length <= 1
    return isIdle && isAllocated(claim) && nodes.some((node) => !isUsableOn(claim, node))
  })
}

async function deallocate(
  client: { updateStatus(claim: ResourceClaim): Promise<ResourceClaim> },
  tracker: ClaimTracker,
  claim: ResourceClaim,
): Promise<void> {
  const { reservedFor: _users, allocation: _devices, ...status } = claim.status ?? {}
  tracker.wrote(await client.updateStatus({ ...claim, status }))
}

function reserve(
  parts: Parts,
  { pod: { pod }, node }: { readonly pod: PodInfo; readonly node: SelectableNode },
  onReleaseFailure: (error: unknown) => void,
): Reservation | Rejection | undefined {
  const { tracker, binder } = parts
  const claims = deviceClaimsOf(pod, tracker.get)
  if ('fault' in claims) return reject(claims.fault)
  if (claims.length === 0) return undefined
  const allocation = allocatorFor(parts, claims)(node)
  if ('reason' in allocation) return reject(allocation.reason)
  const open = claims.filter((claim) => !isAllocated(claim))
  const chosen = new Map(open.map((claim, i) => [claim, allocation.results[i]]))
  for (const [claim, result] of chosen) if (result !== undefined) tracker.begin(claim, result)
  const state = [...claims]
  return {
    preBind: async () => {
      for (const [i, claim] of claims.entries()) {
        if (isReservedFor(pod, claim)) continue
        const bound = await binder.bind(claim, pod, chosen.get(claim))
        state[i] = bound
        tracker.wrote(bound)
        tracker.end(claim)
      }
    },
    unreserve: () => {
      for (const claim of state) {
        tracker.end(claim)
        if (!isAllocated(claim) || !isReservedFor(pod, claim)) continue
        binder.release(claim, pod).catch(onReleaseFailure)
      }
    },
  }
}
