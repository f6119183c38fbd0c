/** What the metrics of an autoscaler ask for together (upstream: horizontal.go, computeReplicasForMetrics). */
import type { HorizontalPodAutoscaler, MetricStatus } from '../../api/generated/types.ts'
import type { Clock } from '../../component-base/clock.ts'
import { messageOf } from '../../component-base/log.ts'
import { measureComputation } from './autoscaler-metrics.ts'
import type { AutoscalerMetrics } from './autoscaler-metrics.ts'
import type { StatusDraft } from './autoscaler-status.ts'
import { failureOf, proposalOf } from './metric-proposals.ts'
import type { MetricReader, ScaledWorkload } from './metric-proposals.ts'
import type { ScaleTarget } from './scale-target.ts'
import type { TargetPods } from './target-pods.ts'

/** One look at an autoscaler. */
export interface Look {
  readonly key: string
  readonly autoscaler: HorizontalPodAutoscaler
  readonly draft: StatusDraft
  /** Records a warning about the autoscaler. */
  readonly warn: (reason: string, message: string) => void
}

/** What the metrics want, with the status of each of them. */
export interface Metered {
  readonly statuses: readonly MetricStatus[]
  /** Undefined when no replicas may be concluded. */
  readonly wanted?: { readonly replicas: number; readonly metric: string }
  /** Of the first metric that failed. */
  readonly error?: string
}

interface MetricFailure {
  readonly reason: string
  readonly message: string
  readonly error: string
}

export interface Meter {
  readonly reader: MetricReader
  readonly targetPods: TargetPods
  readonly metrics: AutoscalerMetrics
  readonly clock: Clock
}

/** The highest of what the metrics ask for. A metric that fails keeps the others from scaling down. Rejects for nothing. */
export async function meteredReplicas(
  meter: Meter,
  look: Look,
  target: ScaleTarget,
): Promise<Metered> {
  const { autoscaler, draft } = look
  const { namespace = '' } = autoscaler.metadata
  const selected = meter.targetPods.select(look.key, target.selector)
  if ('fault' in selected) {
    const { reason, error, condition } = selected.fault
    draft.set('ScalingActive', false, condition)
    look.warn(reason, error)
    return { statuses: [], error }
  }
  const workload: ScaledWorkload = { ...target, namespace, pods: selected.pods }
  const { statuses, failures, wanted } = await readMetrics(meter, look, workload)
  const [first] = failures
  const counts = `(${failures.length} invalid out of ${statuses.length})`
  const error = first && { error: `invalid metrics ${counts}, first error is: ${first.error}` }
  if (wanted === undefined || (first !== undefined && wanted.replicas < target.specReplicas)) {
    if (first !== undefined) draft.set('ScalingActive', false, first)
    return { statuses, ...error }
  }
  const message = `the HPA was able to successfully calculate a replica count from ${wanted.metric}`
  draft.set('ScalingActive', true, { reason: 'ValidMetricFound', message })
  return { statuses, wanted, ...error }
}

/** Reads one metric after the other; a warning tells of each that fails. */
async function readMetrics(
  meter: Meter,
  { autoscaler, warn }: Look,
  workload: ScaledWorkload,
): Promise<Pick<Metered, 'statuses' | 'wanted'> & { readonly failures: readonly MetricFailure[] }> {
  const shownReplicas = autoscaler.status?.currentReplicas ?? 0
  const statuses: MetricStatus[] = []
  const failures: MetricFailure[] = []
  let wanted: Metered['wanted']
  for (const spec of autoscaler.spec?.metrics ?? []) {
    try {
      const { replicas, name, status } = await measureComputation(
        meter,
        { type: spec.type, shownReplicas },
        () => proposalOf(meter.reader, workload, spec),
      )
      statuses.push(status)
      if (wanted === undefined || wanted.replicas === 0 || replicas > wanted.replicas)
        wanted = { replicas, metric: name }
    } catch (error) {
      const why = messageOf(error)
      const { reason, prefix } = failureOf(spec)
      warn(reason, why)
      // Positions in the status are those of the spec.
      statuses.push({ type: '' })
      const message = `the HPA was unable to compute the replica count: ${why}`
      failures.push({ reason, message, error: `${prefix}${why}` })
    }
  }
  return { statuses, failures, ...(wanted && { wanted }) }
}
