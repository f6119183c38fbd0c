/** The status of a ReplicaSet or ReplicationController (upstream: replica_set_utils.go calculateStatus). Pure. */
import type { Pod, ReplicaSetStatus } from '../../api/generated/types.ts'
import { matchesLabels, labelSelectorOfMap } from '../../machinery/selectors/label-selector.ts'
import { withCondition, withoutCondition } from '../conditions.ts'
import { nonZero } from '../non-zero.ts'
import { availableInMs, isReady } from '../pod-state.ts'
import type { ReplicaOwner } from './replica-kind.ts'

export interface ReplicaFailure {
  readonly reason: 'FailedCreate' | 'FailedDelete'
  readonly message: string
}

export function replicaStatus(
  owner: ReplicaOwner,
  pods: readonly Pod[],
  at: { nowMs: number; now: string; failure: ReplicaFailure | undefined },
): ReplicaSetStatus {
  const { minReadySeconds = 0, template } = owner.spec ?? {}
  const ofTemplate = labelSelectorOfMap(template?.metadata?.labels ?? {})
  const { failure } = at
  const old = owner.status?.conditions
  const conditions =
    failure === undefined
      ? withoutCondition(old, 'ReplicaFailure')
      : withCondition(old, {
          type: 'ReplicaFailure',
          status: 'True',
          lastTransitionTime: at.now,
          ...failure,
        })
  const count = (test: (pod: Pod) => boolean): number => pods.filter(test).length
  return {
    replicas: pods.length,
    ...nonZero({
      fullyLabeledReplicas: count((pod) => matchesLabels(ofTemplate, pod.metadata.labels)),
      readyReplicas: count(isReady),
      availableReplicas: count((pod) => availableInMs(pod, minReadySeconds, at.nowMs) === 0),
      observedGeneration: owner.metadata.generation ?? 0,
    }),
    ...(conditions.length === 0 ? {} : { conditions: [...conditions] }),
  }
}
