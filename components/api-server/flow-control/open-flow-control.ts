/** open-flow-control: priority and fairness by the server's flags, with metrics. */
import { StartError } from '../../component-base/component.ts'
import type { ApiServerOptions } from '../configuration/options.ts'
import { createFlowControl, type FlowControl, type FlowControlOptions } from './flow-control.ts'
import { declareFlowMetrics } from './flow-metrics.ts'

/** Upstream's limit, whatever the timeout of requests. */
const longestWaitMs = 60_000

/** Undefined when disabled. Throws a StartError when there are no seats. */
export function openFlowControl(
  options: ApiServerOptions,
  parts: Omit<FlowControlOptions, 'seats' | 'longestWaitMs'>,
): FlowControl | undefined {
  if (!options['enable-priority-and-fairness']) return undefined
  const reading = options['max-requests-inflight']
  const mutating = options['max-mutating-requests-inflight']
  const seats = reading + mutating
  if (seats <= 0) {
    throw new StartError(
      `--max-requests-inflight=${reading} and --max-mutating-requests-inflight=${mutating} must add up to something positive: raise one, or pass --enable-priority-and-fairness=false for no limit`,
    )
  }
  const control = createFlowControl({
    ...parts,
    seats,
    // A request that waits longer has too little time left.
    longestWaitMs: Math.min(options['request-timeout'] / 4, longestWaitMs),
  })
  declareFlowMetrics(parts.metrics, control)
  return control
}
