/** HorizontalPodAutoscalers that do not scale, by their conditions. */
import type { HorizontalPodAutoscaler } from '../../../components/api/generated/types.ts'
import { conditionSeen, eventsSeen, seen, warningsSeen, type AnyCondition } from '../evidence.ts'
import { defineExplainer, eventsNeed } from '../explainer.ts'
import type { Finding } from '../finding.ts'
import { sentence } from '../names.ts'
import type { Related } from '../related.ts'

/** What to do, by the condition's reason (upstream: pkg/controller/podautoscaler/horizontal.go). */
function advice(
  { reason = '' }: AnyCondition,
  { spec, metadata }: HorizontalPodAutoscaler,
): string {
  const { kind = '', name = '' } = spec?.scaleTargetRef ?? {}
  const target = `${kind.toLowerCase()}/${name} -n ${metadata.namespace}`
  const texts: Record<string, string> = {
    FailedGetScale: `check that the target exists and can be scaled: kubectl get ${target}`,
    FailedUpdateScale: `check that the target can be scaled: kubectl get ${target}`,
    FailedGetResourceMetric: `check that the pods have metrics (kubectl top pod -n ${metadata.namespace}), and that every container requests the resource`,
    FailedGetContainerResourceMetric:
      'check that the container exists, has metrics, and requests the resource',
    FailedGetPodsMetric:
      'check that something serves the custom metrics API: kubectl get apiservices',
    FailedGetObjectMetric:
      'check that something serves the custom metrics API: kubectl get apiservices',
    FailedGetExternalMetric:
      'check that something serves the external metrics API: kubectl get apiservices',
    ScalingDisabled: `the target is scaled to 0; scale it up to let the autoscaler act: kubectl scale --replicas=1 ${target}`,
    InvalidSelector: 'correct the selector of the target',
    AmbiguousSelector: 'several autoscalers select the same pods: delete all but one',
    TooManyReplicas: 'raise spec.maxReplicas if more pods are wanted',
    TooFewReplicas: 'lower spec.minReplicas if fewer pods are wanted',
  }
  return texts[reason] ?? 'correct what the condition names'
}

function conditionFinding(
  scaler: HorizontalPodAutoscaler,
  condition: AnyCondition,
  related: Related,
): Finding {
  const { type, status, reason = '', message = '' } = condition
  return {
    cause: reason || `${type}${status}`,
    message: sentence(message || `${type} is ${status}`),
    evidence: [
      conditionSeen(scaler, condition),
      ...eventsSeen(related, scaler, [reason, 'FailedComputeMetricsReplicas', 'FailedRescale']),
    ],
    next: [advice(condition, scaler)],
  }
}

/** Limits are as they should be unless more pods were wanted than are allowed. */
function isTrouble({ type, status, reason }: AnyCondition): boolean {
  return type === 'ScalingLimited'
    ? status === 'True' && reason === 'TooManyReplicas'
    : status !== 'True'
}

function explainScaler(scaler: HorizontalPodAutoscaler, related: Related): Finding[] {
  const conditions: readonly AnyCondition[] = scaler.status?.conditions ?? []
  if (conditions.length === 0) {
    return [
      {
        cause: 'NotObserved',
        message: 'The autoscaler has no conditions: no controller has looked at it yet.',
        evidence: [seen(scaler, 'status.conditions is empty'), ...warningsSeen(related, scaler)],
        next: ['wait 15 s; then check that the controller manager runs: skiff status'],
      },
    ]
  }
  return conditions.filter(isTrouble).map((one) => conditionFinding(scaler, one, related))
}

export const horizontalPodAutoscaler = defineExplainer<HorizontalPodAutoscaler>({
  needs: (scaler) => [eventsNeed(scaler)],
  explain: explainScaler,
  state: ({ spec, status }) => {
    const { currentReplicas = 0, desiredReplicas = 0 } = status ?? {}
    const range = `${spec?.minReplicas ?? 1} to ${spec?.maxReplicas}`
    return `${currentReplicas} pods, ${desiredReplicas} wanted, in the range ${range}`
  },
})
