/** Writes of a StatefulSet's pods and claims, with the events about them (upstream: stateful_pod_control.go). */
import type { PersistentVolumeClaim, Pod, StatefulSet } from '../../api/generated/types.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { messageOf } from '../../component-base/log.ts'
import { deepEqual, keyOf } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { OwnWrites } from '../own-writes.ts'
import { isNamespaceTerminating } from '../replica-set/pod-control.ts'
import type { OwnerKinds } from './claim-owners.ts'
import { isOwnershipRight, withRightOwners } from './claim-owners.ts'
import type { IdentityKeys } from './identity.ts'
import { claimsFor, repaired } from './identity.ts'

export interface StatefulPodControl {
  /** Creates the pod's claims, then the pod. */
  create(set: StatefulSet, ordinal: number, pod: Pod): Promise<void>
  /** Creates the claims that the pod lacks, and sets their owners. */
  provideClaims(set: StatefulSet, ordinal: number, pod: Pod): Promise<void>
  /** Sets the owners of the claims that exist. */
  retainClaims(set: StatefulSet, ordinal: number, pod: Pod): Promise<void>
  /** Puts identity, storage and owners of claims right. */
  repair(set: StatefulSet, ordinal: number, pod: Pod): Promise<void>
  /** A pod that is gone already is no error. */
  delete(set: StatefulSet, pod: Pod): Promise<void>
}

export interface StatefulPodTools {
  readonly pods: ResourceClient<Pod>
  readonly claims: ResourceClient<PersistentVolumeClaim>
  readonly claimCache: Informer<PersistentVolumeClaim>
  readonly recorder: EventRecorder
  readonly ownWrites: OwnWrites
  readonly keys: IdentityKeys
  readonly kinds: OwnerKinds
}

type Verb = 'create' | 'update' | 'delete'

function reasonOf(outcome: 'Successful' | 'Failed', verb: Verb): string {
  return `${outcome}${verb.charAt(0).toUpperCase()}${verb.slice(1)}`
}

export function createStatefulPodControl(tools: StatefulPodTools): StatefulPodControl {
  const { pods, recorder, ownWrites, keys } = tools
  /** Tells the outcome of one write; a failure is thrown on. */
  const recorded = async <T>(
    set: StatefulSet,
    { verb, pod }: { verb: Verb; pod: Pod },
    write: () => Promise<T>,
  ): Promise<T> => {
    const what = `${verb} Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`
    try {
      const result = await write()
      const message = `${what} successful`
      recorder.record(set, { type: 'Normal', reason: reasonOf('Successful', verb), message })
      return result
    } catch (error) {
      // A lost race is retried, a pod of another owner stays, and a namespace that ends takes nothing new: no news each time.
      const isNews = !isStatusError(error, 'AlreadyExists', 'Conflict')
      if (isNews && !isNamespaceTerminating(error)) {
        const message = `${what} failed error: ${messageOf(error)}`
        recorder.record(set, { type: 'Warning', reason: reasonOf('Failed', verb), message })
      }
      throw error
    }
  }
  return {
    create: (set, ordinal, pod) =>
      recorded(set, { verb: 'create', pod }, async () => {
        const claims = await createClaims(tools, set, { ordinal, pod })
        ownWrites.wrote(keyOf(set), await pods.create(pod))
        await setOwners(tools, set, { pod, claims })
      }),
    provideClaims: async (set, ordinal, pod) => {
      const claims = await createClaims(tools, set, { ordinal, pod })
      await setOwners(tools, set, { pod, claims })
    },
    retainClaims: (set, ordinal, pod) =>
      setOwners(tools, set, { pod, claims: cachedClaims(tools, set, ordinal) }),
    repair: (set, ordinal, pod) =>
      recorded(set, { verb: 'update', pod }, async () => {
        const claims = await createClaims(tools, set, { ordinal, pod })
        await setOwners(tools, set, { pod, claims })
        const right = repaired(set, ordinal, { pod, keys })
        if (!deepEqual(right, pod)) ownWrites.wrote(keyOf(set), await pods.update(right))
      }),
    delete: (set, pod) =>
      recorded(set, { verb: 'delete', pod }, async () => {
        const { namespace, name = '', uid = '' } = pod.metadata
        try {
          await pods.delete({ namespace, name }, { preconditions: { uid } })
        } catch (error) {
          if (!isStatusError(error, 'NotFound')) throw error
        }
        ownWrites.deleted(keyOf(set), pod)
      }),
  }
}

function cachedClaims(
  { claimCache }: StatefulPodTools,
  set: StatefulSet,
  ordinal: number,
): PersistentVolumeClaim[] {
  return claimsFor(set, ordinal)
    .map((claim) => claimCache.get(keyOf(claim)))
    .filter((claim) => claim !== undefined)
}

/** The pod's claims; missing ones are created. Throws the first failure once all were tried. */
async function createClaims(
  { claims, claimCache, recorder }: StatefulPodTools,
  set: StatefulSet,
  { ordinal, pod }: { ordinal: number; pod: Pod },
): Promise<PersistentVolumeClaim[]> {
  const found: PersistentVolumeClaim[] = []
  const failures: unknown[] = []
  for (const wanted of claimsFor(set, ordinal)) {
    const { name } = wanted.metadata
    const cached = claimCache.get(keyOf(wanted))
    if (cached?.metadata.deletionTimestamp !== undefined)
      failures.push(new Error(`pvc ${name} is being deleted`))
    if (cached !== undefined) {
      found.push(cached)
      continue
    }
    const inSet = `Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`
    try {
      found.push(await claims.create(wanted))
      const message = `create Claim ${name} ${inSet} success`
      recorder.record(set, { type: 'Normal', reason: 'SuccessfulCreate', message })
    } catch (error) {
      // Created by us a moment ago, or by the user: the cache will show it.
      if (isStatusError(error, 'AlreadyExists')) continue
      const message = `create Claim ${name} for ${inSet} failed error: ${messageOf(error)}`
      recorder.record(set, { type: 'Warning', reason: 'FailedCreate', message })
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  return found
}

async function setOwners(
  { claims: client, kinds }: StatefulPodTools,
  set: StatefulSet,
  { pod, claims }: { pod: Pod; claims: readonly PersistentVolumeClaim[] },
): Promise<void> {
  for (const claim of claims) {
    if (isOwnershipRight(claim, { set, pod, kinds })) continue
    try {
      await client.update(withRightOwners(claim, { set, pod, kinds }))
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
    }
  }
}
