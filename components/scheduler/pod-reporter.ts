/** PodReporter: the scheduler's writes about pods besides bindings: conditions, events and preemptions. */
import type { Pod, PodCondition } from '../api/generated/types.ts'
import type { ResourceClient } from '../client/resource-client.ts'
import { isGone } from '../client/is-gone.ts'
import type { Clock } from '../component-base/clock.ts'
import { timestamp } from '../component-base/clock.ts'
import { splitKey } from '../machinery/objects/object.ts'
import type { PodInfo } from './pod-info.ts'
import { schedulerNameOf } from './waiting-pod.ts'

/** Records one event about a pod, reported by a scheduler of that name; never fails and never waits for the server. */
export type RecordEvent = (
  reporter: string,
  pod: Pod,
  event: { type: 'Normal' | 'Warning'; reason: string; action: string; message: string },
) => void

export interface PodReporter {
  scheduled(info: PodInfo, nodeName: string): void
  /** Sets PodScheduled=False (only if it differs) and the nomination, and records a FailedScheduling event. */
  failed(
    info: PodInfo,
    why: { reason: string; message: string; nominatedNodeName?: string },
  ): Promise<void>
  /** Takes back the nomination of a pod that a more important one displaced. */
  withdrawn(info: PodInfo): Promise<void>
  /** Deletes the victim, with a condition and an event that name the preemptor. */
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

export interface PodReporterOptions {
  readonly pods: ResourceClient<Pod>
  readonly record: RecordEvent
  readonly clock: Clock
}

export function createPodReporter(options: PodReporterOptions): PodReporter {
  const { record } = options
  return {
    scheduled: (info, nodeName) =>
      record(schedulerNameOf(info.pod), info.pod, {
        type: 'Normal',
        reason: 'Scheduled',
        action: 'Binding',
        message: `Successfully assigned ${info.key} to ${nodeName}`,
      }),
    failed: (info, why) => reportFailure(options, info, why),
    withdrawn: async (info) => {
      if (!info.pod.status?.nominatedNodeName) return
      await patchStatus(options.pods, info, { nominatedNodeName: null })
    },
    preempt: (info, victim, nodeName) => preempt(options, victim, { by: info, nodeName }),
  }
}

async function reportFailure(
  { pods, record, clock }: PodReporterOptions,
  info: PodInfo,
  { reason, message, nominatedNodeName }: Parameters<PodReporter['failed']>[1],
): Promise<void> {
  record(schedulerNameOf(info.pod), info.pod, {
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
  await patchStatus(pods, info, {
    ...(condition === undefined ? {} : { conditions: [condition] }),
    ...(isNominationNew ? { nominatedNodeName: nominatedNodeName || null } : {}),
  })
}

async function preempt(
  { pods, record, clock }: PodReporterOptions,
  victim: PodInfo,
  { by, nodeName }: { readonly by: PodInfo; readonly nodeName: string },
): Promise<void> {
  const condition = conditionPatch(
    victim.pod,
    {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'PreemptionByScheduler',
      message: `${schedulerNameOf(by.pod)}: preempting to accommodate a higher priority pod`,
    },
    timestamp(clock.now()),
  )
  if (condition !== undefined) await patchStatus(pods, victim, { conditions: [condition] })
  try {
    await pods.delete(splitKey(victim.key), { preconditions: { uid: victim.uid } })
  } catch (error) {
    // The victim is gone already.
    if (!isGone(error)) throw error
  }
  record(schedulerNameOf(by.pod), victim.pod, {
    type: 'Normal',
    reason: 'Preempted',
    action: 'Preempting',
    message: `Preempted by pod ${by.uid} on node ${nodeName}`,
  })
}

async function patchStatus(
  pods: ResourceClient<Pod>,
  info: PodInfo,
  status: object,
): Promise<void> {
  const patch = { metadata: { uid: info.uid }, status }
  try {
    await pods.patch(splitKey(info.key), patch, { type: 'strategic', subresource: 'status' })
  } catch (error) {
    // The pod is gone, or another has its name: the condition concerns no pod any more.
    if (!isGone(error)) throw error
  }
}
