/**
 * resourceclaim-controller: makes claims of devices from templates, and frees devices that no pod uses any more (upstream:
 * pkg/controller/resourceclaim; KEP-4381). Behind the gate DynamicResourceAllocation.
 */
import type { Pod, ResourceClaim, ResourceClaimTemplate } from '../../api/generated/types.ts'
import { podResourceClaims } from '../../api/pod-references.ts'
import { runController, source } from '../../client/controller.ts'
import { controllerOf, keyOf } from '../../machinery/objects/object.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createOwnWrites } from '../own-writes.ts'
import { addIndexOnce } from '../pod-indexes.ts'
import { syncClaimUsers } from './claim-users.ts'
import { syncPodClaims } from './pod-claims.ts'

const workers = 10
const byClaim = 'resource-claim'
const byOwner = 'owner'

/** `namespace/name` of the pod's claims. */
function claimKeysOf(pod: Pod): string[] {
  return podResourceClaims(pod).map((name) => `${pod.metadata.namespace ?? ''}/${name}`)
}

function keysOfPod(pod: Pod): string[] {
  if ((pod.spec?.resourceClaims ?? []).length === 0) return []
  return [`pod:${keyOf(pod)}`, ...claimKeysOf(pod).map((key) => `claim:${key}`)]
}

/** Runs until `signal` aborts. Keys are `pod:namespace/name` and `claim:namespace/name`. */
export async function runResourceClaims(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues, recorder, gates } = context
  const metrics = context.metrics.resourceClaims
  const pods = informers.informer<Pod>(resources.pods)
  const claims = informers.informer<ResourceClaim>(resources.resourceClaims)
  const templates = informers.informer<ResourceClaimTemplate>(resources.resourceClaimTemplates)
  addIndexOnce(pods, byClaim, claimKeysOf)
  metrics.follow(claims)
  addIndexOnce(claims, byOwner, (claim) => [controllerOf(claim)?.uid ?? ''])
  const shared = {
    dialect,
    pods,
    claims,
    podClient: client.resource<Pod>(resources.pods),
    claimClient: client.resource<ResourceClaim>(resources.resourceClaims),
  }
  const podOptions = {
    ...shared,
    podResource: resources.pods,
    templates,
    ownedBy: (uid: string) => (uid === '' ? [] : claims.byIndex(byOwner, uid)),
    writes: createOwnWrites(claims, clock),
    recorder,
    allowsAdminAccess: gates.DRAAdminAccess,
    metrics,
  }
  const keysOfClaim = (claim: ResourceClaim): string[] => {
    const owner = controllerOf(claim)
    const users = pods.byIndex(byClaim, keyOf(claim)).map((pod) => `pod:${keyOf(pod)}`)
    const made =
      owner?.kind === 'Pod' ? [`pod:${claim.metadata.namespace ?? ''}/${owner.name}`] : []
    return [`claim:${keyOf(claim)}`, ...users, ...made]
  }
  await runController(
    {
      name: 'resource_claim',
      informers: [
        source(pods, keysOfPod),
        source(claims, keysOfClaim),
        source(templates, () => []),
      ],
      reconcile: async (key) => {
        const colon = key.indexOf(':')
        const object = key.slice(colon + 1)
        if (key.startsWith('pod:')) return await syncPodClaims(podOptions, object)
        return await syncClaimUsers(shared, object)
      },
      workers,
      clock,
      log,
      queues,
    },
    signal,
  )
}

export const resourceClaimController: ControllerEntry = {
  name: 'resourceclaim-controller',
  aliases: ['resource-claim-controller'],
  eventSource: 'resource_claim',
  defaultOn: true,
  gates: ['DynamicResourceAllocation'],
  start: runResourceClaims,
}
