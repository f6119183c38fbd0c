/** The status of an autoscaler while it is worked out (upstream: horizontal.go setStatus, setConditionInList). */
import type {
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerStatus,
  MetricStatus,
} from '../../api/generated/types.ts'

export interface StatusDraft {
  /** Sets the condition in its place. Its time of transition moves with the status alone. */
  set(type: ConditionType, isTrue: boolean, why: { reason: string; message: string }): void
  /** The status with these numbers. As upstream it has no observedGeneration. */
  finished(of: {
    readonly currentReplicas: number
    readonly desiredReplicas: number
    readonly metrics: readonly MetricStatus[]
    readonly lastScaleTime?: string | undefined
  }): HorizontalPodAutoscalerStatus
  /** The status with nothing but its conditions changed. */
  conditionsOnly(): HorizontalPodAutoscalerStatus
}

type ConditionType = 'AbleToScale' | 'ScalingActive' | 'ScalingLimited'

export function draftStatus(
  old: HorizontalPodAutoscalerStatus | undefined,
  now: string,
): StatusDraft {
  const conditions: HorizontalPodAutoscalerCondition[] = [...(old?.conditions ?? [])]
  return {
    set: (type, isTrue, { reason, message }) => {
      const status = isTrue ? 'True' : 'False'
      const at = conditions.findIndex((one) => one.type === type)
      const before = conditions[at]
      const lastTransitionTime =
        before?.status === status ? (before.lastTransitionTime ?? now) : now
      const next = { type, status, lastTransitionTime, reason, message }
      if (before === undefined) conditions.push(next)
      else conditions[at] = next
    },
    finished: ({ currentReplicas, desiredReplicas, metrics, lastScaleTime }) => ({
      ...(lastScaleTime === undefined ? {} : { lastScaleTime }),
      ...(currentReplicas === 0 ? {} : { currentReplicas }),
      desiredReplicas,
      ...(metrics.length === 0 ? {} : { currentMetrics: [...metrics] }),
      conditions,
    }),
    conditionsOnly: () => ({ desiredReplicas: 0, ...old, conditions }),
  }
}
