/** PodLoop: one worker for every pod of a node, as the informer shows them. */
import type { Pod, PodCondition, PodStatus } from '../../api/generated/types.ts'
import type { InformerEvent } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { isGone } from '../../client/is-gone.ts'
import type { Gate } from '../../component-base/gate.ts'
import type { ObjectMeta } from '../../machinery/objects/object.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import type { AdmitPod, Rejection } from './pod-admission.ts'
import type { FoundContainer, PodWorkerOptions } from './pod-worker.ts'
import { PodWorker } from './pod-worker.ts'

export interface PodLoop {
  onEvent(event: InformerEvent<Pod>): void
  pods(): readonly Pod[]
  /** Undefined for a pod that is not here. */
  container(namespace: string, pod: string, container: string): FoundContainer | undefined
  /** The agent stops; containers go on. */
  abandon(): void
}

function refOf({ namespace, name = '' }: ObjectMeta): { namespace?: string; name: string } {
  return { name, ...(namespace === undefined ? {} : { namespace }) }
}

/**
 * Conditions as a strategic patch has to send them: it merges them by type, so that the reason of a condition would outlive its cause
 * (upstream: pkg/util/pod, PatchPodStatus).
 */
function withRemovals(
  conditions: readonly PodCondition[] | undefined,
  before: readonly (PodStatus | undefined)[],
): { readonly conditions?: readonly object[] } {
  if (conditions === undefined) return {}
  const known = before.flatMap((status) => status?.conditions ?? [])
  const removed = (condition: PodCondition): object =>
    Object.fromEntries(
      (['reason', 'message'] as const)
        .filter((field) => condition[field] === undefined)
        .filter((field) => known.some((old) => old.type === condition.type && old[field]))
        .map((field) => [field, null]),
    )
  return { conditions: conditions.map((one) => ({ ...one, ...removed(one) })) }
}

/**
 * Addresses as a strategic patch has to send them: it merges them by address, so that one that was given up would stay beside the new
 * one of its family, which no pod may have.
 */
function replacedAddresses({ hostIPs, podIPs }: PodStatus): {
  readonly hostIPs?: readonly object[]
  readonly podIPs?: readonly object[]
} {
  const replace = { $patch: 'replace' }
  return {
    ...(hostIPs === undefined ? {} : { hostIPs: [...hostIPs, replace] }),
    ...(podIPs === undefined ? {} : { podIPs: [...podIPs, replace] }),
  }
}

/** Status writes and deletions of pods, through the gate; a pod that has gone, or is another one by now, is no error. */
export function podWrites(
  pods: ResourceClient<Pod>,
  gate: Gate,
): Pick<PodWorkerOptions, 'writeStatus' | 'deletePod'> {
  return {
    async writeStatus(pod: Pod, status: PodStatus, published: PodStatus | undefined) {
      const { metadata } = pod
      const conditions = withRemovals(status.conditions, [pod.status, published])
      const sent = { ...status, ...conditions, ...replacedAddresses(status) }
      const patch = { metadata: { uid: metadata.uid }, status: sent }
      try {
        const how = { type: 'strategic', subresource: 'status' } as const
        return await gate(() => pods.patch(refOf(metadata), patch, how))
      } catch (error) {
        if (isGone(error)) return 'gone'
        throw error
      }
    },
    async deletePod({ metadata }: Pod) {
      const { uid } = metadata
      const preconditions = uid === undefined ? {} : { preconditions: { uid } }
      try {
        const how = { gracePeriodSeconds: 0, ...preconditions }
        await gate(() => pods.delete(refOf(metadata), how))
      } catch (error) {
        if (!isGone(error)) throw error
      }
    },
  }
}

/** Options of the workers, but for admission, which is among the pods of the node. */
export type PodLoopOptions = Omit<PodWorkerOptions, 'admit'> & { readonly admit: AdmitPod }

export function createPodLoop(options: PodLoopOptions): PodLoop {
  const workers = new Map<string, PodWorker>()
  const admit = (pod: Pod): Rejection | undefined => {
    const active = [...workers.values()].filter(
      ({ isActive, uid }) => isActive && uid !== pod.metadata.uid,
    )
    return options.admit(
      pod,
      active.map((worker) => worker.pod),
    )
  }

  const drop = (key: string): void => {
    workers.get(key)?.vanish()
    workers.delete(key)
  }

  return {
    onEvent(event) {
      const pod = event.object
      const key = keyOf(pod)
      if (event.type === 'delete') {
        drop(key)
        return
      }
      const worker = workers.get(key)
      if (worker !== undefined && worker.uid === pod.metadata.uid) {
        worker.update(pod)
        return
      }
      drop(key)
      workers.set(key, new PodWorker(pod, { ...options, admit }))
    },
    pods: () => [...workers.values()].map(({ pod }) => pod),
    container: (namespace, pod, container) =>
      workers.get(`${namespace}/${pod}`)?.container(container),
    abandon() {
      for (const worker of workers.values()) worker.abandon()
    },
  }
}
