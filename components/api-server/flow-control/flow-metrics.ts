/** Metrics of priority and fairness, read when they are shown (upstream: apiserver pkg/util/flowcontrol/metrics). */
import type { Metrics, Sample } from '../../component-base/metrics.ts'
import type { Flow } from './flow-configuration.ts'
import type { FlowControl } from './flow-control.ts'
import type { Refusal } from './priority-level.ts'

const prefix = 'apiserver_flowcontrol'
const labels = ['flow_schema', 'priority_level']

export function declareFlowMetrics(metrics: Metrics, control: FlowControl): void {
  const perFlow = (
    name: string,
    kind: 'counter' | 'gauge',
    more: { help: string; of: (flow: Flow) => number },
  ): void => {
    metrics.observed(
      { kind, name: `${prefix}_${name}`, help: more.help, stability: 'BETA', labels },
      () =>
        control.flows.map((flow) => ({
          labels: [flow.name, flow.level.name],
          value: more.of(flow),
        })),
    )
  }
  perFlow('current_executing_requests', 'gauge', {
    help: 'Requests in flight, without long-running ones.',
    of: ({ counts }) => counts.executing,
  })
  perFlow('current_executing_seats', 'gauge', {
    help: 'Seats that the requests in flight occupy.',
    of: ({ counts }) => counts.executing,
  })
  perFlow('current_inqueue_requests', 'gauge', {
    help: 'Requests in queues.',
    of: ({ counts }) => counts.waiting,
  })
  perFlow('dispatched_requests_total', 'counter', {
    help: 'Requests that were dispatched.',
    of: ({ counts }) => counts.dispatched,
  })
  metrics.observed(
    {
      kind: 'counter',
      name: `${prefix}_rejected_requests_total`,
      help: 'Rejected requests, by reason.',
      stability: 'BETA',
      labels: [...labels, 'reason'],
    },
    () =>
      control.flows.flatMap(({ name, level, counts }) =>
        (Object.entries(counts.refused) as [Refusal, number][])
          .filter(([, value]) => value > 0)
          .map(([reason, value]): Sample => ({ labels: [name, level.name, reason], value })),
      ),
  )
  metrics.observed(
    {
      kind: 'gauge',
      name: `${prefix}_nominal_limit_seats`,
      help: 'Nominal seats of a priority level.',
      stability: 'BETA',
      labels: ['priority_level'],
    },
    () => control.levels.map(({ name, nominal }) => ({ labels: [name], value: nominal })),
  )
}
