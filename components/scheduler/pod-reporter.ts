/** PodReporter: what the scheduler writes about pods besides bindings: conditions, events and preemptions. */
import type { Pod, PodCondition } from '../api/generated/types.ts'
import type { ResourceClient } from '../client/resource-client.ts'
import type { Clock } from '../component-base/clock.ts'
import { timestamp } from '../component-base/clock.ts'
import { splitKey } from '../machinery/objects/object.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'
import type { PodInfo } from './pod-info.ts'

/** Records one event about a pod; never fails and never waits for the server. */
export type RecordEvent = (
  pod: Pod,
  event: { type: 'Normal' | 'Warning'; reason: string; action: string; message: string },
) => void

export interface PodReporter {
  scheduled(info: PodInfo, nodeName: string): void
  /** Sets PodScheduled=False (only if it says something new) and the nomination, and records a FailedScheduling event. */
  failed(
    info: PodInfo,
    why: { reason: string; message: string; nominatedNodeName?: string },
  ): Promise<void>
  /** Deletes the victim, with a condition and an event that say for whom. */
  preempt(info: PodInfo, victim: PodInfo, nodeName: string): Promise<void>
}

/** The status patch that brings a condition to this state, or undefined when it is there already. */
export function conditionPatch(
  pod: Pod,
  wanted: Pick<PodCondition, 'type' | 'status'> & { reason: string; message: string },
  now: string,
): PodCondition | undefined {
  const old = pod.status?.conditions?.find(({ type }) => type === wanted.type)
  if (
    old?.status === wanted.status &&
    old.reason === wanted.reason &&
    old.message === wanted.message
  ) {
    return undefined
  }
  const lastTransitionTime =
    old?.status === wanted.status && old.lastTransitionTime ? old.lastTransitionTime : now
  return { ...wanted, lastTransitionTime }
}

export function createPodReporter(options: {
  pods: ResourceClient<Pod>
  record: RecordEvent
  clock: Clock
  schedulerName: string
}): PodReporter {
  const { pods, record, clock, schedulerName } = options

  const patchStatus = async (info: PodInfo, status: object): Promise<void> => {
    try {
      await pods.patch(
        splitKey(info.key),
        { metadata: { uid: info.uid }, status },
        {
          type: 'strategic',
          subresource: 'status',
        },
      )
    } catch (error) {
      // Gone, or another pod of the same name: there is nobody left to tell.
      if (!isStatusError(error, 'NotFound', 'Conflict')) throw error
    }
  }

  return {
    scheduled(info, nodeName) {
      record(info.pod, {
        type: 'Normal',
        reason: 'Scheduled',
        action: 'Binding',
        message: `Successfully assigned ${info.key} to ${nodeName}`,
      })
    },

    async failed(info, { reason, message, nominatedNodeName }) {
      record(info.pod, {
        type: 'Warning',
        reason: 'FailedScheduling',
        action: 'Scheduling',
        message,
      })
      const condition = conditionPatch(
        info.pod,
        { type: 'PodScheduled', status: 'False', reason, message },
        timestamp(clock.now()),
      )
      const nomination = info.pod.status?.nominatedNodeName ?? ''
      const isNominationNew = nominatedNodeName !== undefined && nominatedNodeName !== nomination
      if (condition === undefined && !isNominationNew) return
      await patchStatus(info, {
        ...(condition === undefined ? {} : { conditions: [condition] }),
        ...(isNominationNew ? { nominatedNodeName: nominatedNodeName || null } : {}),
      })
    },

    async preempt(info, victim, nodeName) {
      const condition = conditionPatch(
        victim.pod,
        {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'PreemptionByScheduler',
          message: `${schedulerName}: preempting to accommodate a higher priority pod`,
        },
        timestamp(clock.now()),
      )
      if (condition !== undefined) await patchStatus(victim, { conditions: [condition] })
      try {
        await pods.delete(splitKey(victim.key), { preconditions: { uid: victim.uid } })
      } catch (error) {
        // Gone already: that is what was wanted.
        if (!isStatusError(error, 'NotFound', 'Conflict')) throw error
      }
      record(victim.pod, {
        type: 'Normal',
        reason: 'Preempted',
        action: 'Preempting',
        message: `Preempted by pod ${info.uid} on node ${nodeName}`,
      })
    },
  }
}
