/** The metrics of the autoscaler (upstream: pkg/controller/podautoscaler/monitor, with the labels that horizontal.go sets). */
import type { Clock } from '../../component-base/clock.ts'
import { exponentialBuckets } from '../../component-base/metrics.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import { SpecError } from './spec-error.ts'

type Action = 'scale_up' | 'scale_down' | 'none'
type Fault = 'spec' | 'internal' | 'none'

export type AutoscalerMetrics = ReturnType<typeof declareAutoscalerMetrics>

const labelsHelp =
  "The label 'action' should be either 'scale_down', 'scale_up', or 'none'. Also, the label 'error' should be either 'spec', 'internal', or 'none'."
const reconciliationHelp = `${labelsHelp} Note that if both spec and internal errors happen during a reconciliation, the first one to occur is reported in \`error\` label.`
const computationHelp = `${labelsHelp} The label 'metric_type' corresponds to HPA.spec.metrics[*].type`

export function declareAutoscalerMetrics(metrics: Metrics) {
  const subsystem = 'horizontal_pod_autoscaler_controller'
  const labels = ['action', 'error']
  const buckets = exponentialBuckets(0.001, 2, 15)
  return {
    reconciliations: metrics.counter({
      name: `${subsystem}_reconciliations_total`,
      help: `Number of reconciliations of HPA controller. ${reconciliationHelp}`,
      labels,
    }),
    reconciliationSeconds: metrics.histogram({
      name: `${subsystem}_reconciliation_duration_seconds`,
      help: `The time(seconds) that the HPA controller takes to reconcile once. ${reconciliationHelp}`,
      labels,
      buckets,
    }),
    computations: metrics.counter({
      name: `${subsystem}_metric_computation_total`,
      help: `Number of metric computations. ${computationHelp}`,
      labels: [...labels, 'metric_type'],
    }),
    computationSeconds: metrics.histogram({
      name: `${subsystem}_metric_computation_duration_seconds`,
      help: `The time(seconds) that the HPA controller takes to calculate one metric. ${computationHelp}`,
      labels: [...labels, 'metric_type'],
      buckets,
    }),
  }
}

function actionOf(from: number, to: number): Action {
  if (to === from) return 'none'
  return to > from ? 'scale_up' : 'scale_down'
}

function faultOf(error: unknown): Fault {
  return error instanceof SpecError ? 'spec' : 'internal'
}

/** One reconciliation of an autoscaler. */
export interface Reconciliation {
  /** The workload was given another number of replicas. */
  scaled(from: number, to: number): void
  /** Counts the reconciliation; call it once. */
  ended(error?: unknown): void
}

export function startReconciliation(
  { reconciliations, reconciliationSeconds }: AutoscalerMetrics,
  clock: Clock,
): Reconciliation {
  const startedMs = clock.elapsed()
  let action: Action = 'none'
  return {
    scaled: (from, to) => void (action = actionOf(from, to)),
    ended: (error) => {
      const labels = [action, error === undefined ? 'none' : faultOf(error)]
      reconciliations.with(...labels).inc()
      reconciliationSeconds.with(...labels).observe((clock.elapsed() - startedMs) / 1000)
    },
  }
}

/**
 * Computes what one metric asks for, and counts that. The action compares with the replicas that the status last showed, which are
 * none before the first, as upstream. Rejects as `compute` does.
 */
export async function measureComputation<T extends { readonly replicas: number }>(
  { metrics, clock }: { readonly metrics: AutoscalerMetrics; readonly clock: Clock },
  { type, shownReplicas }: { readonly type: string; readonly shownReplicas: number },
  compute: () => Promise<T>,
): Promise<T> {
  const startedMs = clock.elapsed()
  const count = (action: Action, fault: Fault): void => {
    metrics.computations.with(action, fault, type).inc()
    const seconds = (clock.elapsed() - startedMs) / 1000
    metrics.computationSeconds.with(action, fault, type).observe(seconds)
  }
  try {
    const proposal = await compute()
    count(actionOf(shownReplicas, proposal.replicas), 'none')
    return proposal
  } catch (error) {
    count('none', faultOf(error))
    throw error
  }
}
