/** open-flow-control: priority and fairness by the server's flags, with metrics. */
import type { Metrics } from '../../component-base/metrics.ts'
import { declareFlowMetrics } from './flow-metrics.ts'
import type { ApiServerOptions } from '../configuration/options.ts'
import { createFlowControl, type FlowControl, type FlowControlOptions } from './flow-control.ts'

type Parts = Omit<FlowControlOptions, 'seats' | 'longestWaitMs'> & { readonly metrics: Metrics }

/** Undefined when disabled. */
export function openFlowControl(
  options: ApiServerOptions,
  { metrics, ...parts }: Parts,
): FlowControl | undefined {
  if (!options['enable-priority-and-fairness']) return undefined
  const control = createFlowControl({
    ...parts,
    seats: options['max-requests-inflight'] + options['max-mutating-requests-inflight'],
    // As upstream: a request that waits longer has too little time left.
    longestWaitMs: options['request-timeout'] / 4,
  })
  declareFlowMetrics(metrics, control)
  return control
}
