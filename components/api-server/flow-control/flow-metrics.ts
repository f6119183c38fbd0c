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
    help: 'Requests being served, without those that run long.',
    of: ({ counts }) => counts.executing,
  })
  perFlow('current_executing_seats', 'gauge', {
    help: 'Seats of the requests being served.',
    of: ({ counts }) => counts.executing,
  })
  perFlow('current_inqueue_requests', 'gauge', {
    help: 'Requests that wait for a seat.',
    of: ({ counts }) => counts.waiting,
  })
  perFlow('dispatched_requests_total', 'counter', {
    help: 'Requests that got a seat.',
    of: ({ counts }) => counts.dispatched,
  })
  metrics.observed(
    {
      kind: 'counter',
      name: `${prefix}_rejected_requests_total`,
      help: 'Requests that got none, by why.',
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
      help: 'Seats of a priority level by its share.',
      stability: 'BETA',
      labels: ['priority_level'],
    },
    () => control.levels.map(({ name, nominal }) => ({ labels: [name], value: nominal })),
  )
}
