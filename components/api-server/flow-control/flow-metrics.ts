/**
 * flow-metrics: metrics of priority and fairness that are read when they are shown (upstream: flowcontrol/metrics/metrics.go,
 * without request_concurrency_limit and request_concurrency_in_use, which 1.32 hides).
 */
import type { MetricOptions, Metrics, Sample } from '../../component-base/metrics.ts'
import type { FlowCounts, Refusal } from './fair-request.ts'
import type { FlowControl } from './flow-control.ts'
import type { PriorityLevel } from './priority-level.ts'
import { inSeconds } from './seat-seconds.ts'

const prefix = 'apiserver_flowcontrol'
const flowLabels = ['flow_schema', 'priority_level']

type Observed = Pick<MetricOptions, 'help' | 'stability'> & {
  /** Default: gauge. */
  readonly kind?: 'counter'
}

type Of<T> = Observed & { readonly of: (one: T) => number }

const flowMetrics: Readonly<Record<string, Of<FlowCounts>>> = {
  current_executing_requests: {
    help: 'Executing requests, and watches that have not started.',
    stability: 'BETA',
    of: ({ executing }) => executing,
  },
  current_executing_seats: {
    help: 'Seats in use, also by requests whose watchers are being notified.',
    stability: 'BETA',
    of: ({ executingSeats }) => executingSeats,
  },
  current_inqueue_requests: {
    help: 'Requests in queues.',
    stability: 'BETA',
    of: ({ waiting }) => waiting,
  },
  current_inqueue_seats: {
    help: 'Seats that the requests in queues wait for.',
    of: ({ waitingSeats }) => waitingSeats,
  },
  dispatched_requests_total: {
    kind: 'counter',
    help: 'Requests that were dispatched.',
    stability: 'BETA',
    of: ({ dispatched }) => dispatched,
  },
  request_dispatch_no_accommodation_total: {
    kind: 'counter',
    help: 'How often a request was next and too few seats were free for it.',
    of: ({ unaccommodated }) => unaccommodated,
  },
}

const levelMetrics: Readonly<Record<string, Of<PriorityLevel>>> = {
  nominal_limit_seats: {
    help: 'Seats of a priority level by its share.',
    stability: 'BETA',
    of: ({ nominal }) => nominal,
  },
  lower_limit_seats: {
    help: 'Seats that a priority level does not lend.',
    of: ({ lowest }) => lowest,
  },
  upper_limit_seats: {
    help: 'Seats of a priority level with all that it may borrow.',
    of: ({ highest }) => highest,
  },
  current_limit_seats: {
    help: 'Seats that a priority level may use now.',
    of: ({ current }) => current,
  },
  demand_seats_high_watermark: {
    help: 'Most seats in use and waited for, over the last ten seconds.',
    of: ({ demand }) => demand.highWatermark,
  },
  demand_seats_average: {
    help: 'Average of seats in use and waited for, over the last ten seconds.',
    of: ({ demand }) => demand.average,
  },
  demand_seats_stdev: {
    help: 'Standard deviation of seats in use and waited for, over the last ten seconds.',
    of: ({ demand }) => demand.deviation,
  },
  demand_seats_smoothed: {
    help: 'Smoothed demand for seats.',
    of: ({ demand }) => demand.smoothed,
  },
  target_seats: {
    help: 'Seats that a priority level would get if all could.',
    of: ({ target }) => target,
  },
  current_r: {
    help: 'Seat-seconds that each active queue of a priority level got.',
    of: ({ queueSet }) => inSeconds(queueSet.r),
  },
  dispatch_r: {
    help: 'current_r at the last dispatch from a queue.',
    of: ({ queueSet }) => inSeconds(queueSet.lastDispatch.r),
  },
  latest_s: {
    help: 'Start of the last dispatched request in virtual time.',
    of: ({ queueSet }) => inSeconds(queueSet.lastDispatch.s),
  },
}

function declareLevelMetrics(metrics: Metrics, control: FlowControl): void {
  for (const [name, { kind = 'gauge', of, ...more }] of Object.entries(levelMetrics)) {
    metrics.observed({ ...more, kind, name: `${prefix}_${name}`, labels: ['priority_level'] }, () =>
      control.levels.map((level) => ({ labels: [level.name], value: of(level) })),
    )
  }
  const declareBounds = (
    name: string,
    more: { help: string; of: (level: PriorityLevel) => readonly [number, number] },
  ): void => {
    metrics.observed(
      {
        kind: 'gauge',
        name: `${prefix}_${name}`,
        help: more.help,
        labels: ['bound', 'priority_level'],
      },
      () =>
        control.levels.flatMap((level) => {
          const [lowest, highest] = more.of(level)
          return [
            { labels: ['min', level.name], value: inSeconds(lowest) },
            { labels: ['max', level.name], value: inSeconds(highest) },
          ]
        }),
    )
  }
  declareBounds('next_s_bounds', {
    help: 'Earliest and latest start in virtual time, over the queues with requests at the last dispatch.',
    of: ({ queueSet: { lastDispatch } }) => [lastDispatch.lowest, lastDispatch.highest],
  })
  declareBounds('next_discounted_s_bounds', {
    help: 'As next_s_bounds, less the work in progress.',
    of: ({ queueSet: { lastDispatch } }) => [
      lastDispatch.lowestDiscounted,
      lastDispatch.highestDiscounted,
    ],
  })
  metrics.observed(
    {
      kind: 'counter',
      name: `${prefix}_epoch_advance_total`,
      help: 'How often current_r was set back, so that it stays exact.',
      labels: ['priority_level', 'success'],
    },
    () =>
      control.levels
        .filter(({ queueSet }) => queueSet.epochAdvances > 0)
        .map(({ name, queueSet }) => ({ labels: [name, 'true'], value: queueSet.epochAdvances })),
  )
}

function declareRejections(metrics: Metrics, control: FlowControl): void {
  metrics.observed(
    {
      kind: 'counter',
      name: `${prefix}_rejected_requests_total`,
      help: 'Rejected requests, by reason.',
      stability: 'BETA',
      labels: [...flowLabels, 'reason'],
    },
    () =>
      control.flows.flatMap(({ name, level, counts }) =>
        (Object.entries(counts.refused) as [Refusal, number][])
          .filter(([, value]) => value > 0)
          .map(([reason, value]): Sample => ({ labels: [name, level.name, reason], value })),
      ),
  )
}

export function declareFlowMetrics(metrics: Metrics, control: FlowControl): void {
  for (const [name, { kind = 'gauge', of, ...more }] of Object.entries(flowMetrics)) {
    metrics.observed({ ...more, kind, name: `${prefix}_${name}`, labels: flowLabels }, () =>
      control.flows.map(({ name: schema, level, counts }) => ({
        labels: [schema, level.name],
        value: of(counts),
      })),
    )
  }
  declareLevelMetrics(metrics, control)
  declareRejections(metrics, control)
  metrics.observed(
    {
      kind: 'gauge',
      name: `${prefix}_seat_fair_frac`,
      help: 'The fraction of its demand for seats that each priority level gets.',
    },
    () => [{ value: control.fairFraction }],
  )
  metrics.observed(
    {
      kind: 'gauge',
      name: 'apiserver_current_inqueue_requests',
      help: 'Requests in queues, by kind.',
      labels: ['request_kind'],
    },
    () => [
      { labels: ['mutating'], value: control.waiting.mutating },
      { labels: ['readOnly'], value: control.waiting.reading },
    ],
  )
}
