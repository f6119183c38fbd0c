/**
 * flow-control: classifies requests by FlowSchema and gives them seats of their priority level (upstream: API Priority and
 * Fairness, apiserver pkg/util/flowcontrol; KEP-1040).
 */
import { upkeepOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import { untilSharedMoment } from '../../component-base/shared-moment.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import type { RequestContext } from '../request/request.ts'
import { DroppedRequests } from './dropped-requests.ts'
import type { Flow } from './flow.ts'
import { followFlowConfiguration, type FlowConfigurationOptions } from './flow-configuration.ts'
import { entranceOf, type Enter } from './flow-entrance.ts'
import { createFlowSeries } from './flow-series.ts'
import { createLevelMetrics } from './level-metrics.ts'
import { PriorityLevel } from './priority-level.ts'
import { QueueSet } from './queue-set.ts'
import { borrowingPeriodMs, moveSeats } from './seat-borrowing.ts'
import { WatchTracker } from './watch-tracker.ts'
import type { WorkEstimatorParts } from './work-estimate.ts'

export interface FlowControlOptions
  extends FlowConfigurationOptions, Pick<WorkEstimatorParts, 'countOf' | 'withWatchList'> {
  readonly clock: Clock
  readonly metrics: Metrics
  /** How long after its arrival a request may wait for seats. */
  readonly longestWaitMs: number
}

export interface FlowControl {
  flowOf(context: Pick<RequestContext, 'user' | 'info'>): Flow
  /** Seats at once, or when enough are free; a refusal otherwise. */
  enter: Enter
  /** Notes a rejected request. Returns after how many seconds its client should try again. */
  drop(flow: Flow): number
  /** Watches, which writes have to notify. */
  readonly watches: WatchTracker
  /** Levels in order of their names, and flows in matching order, as they are now. */
  readonly levels: readonly PriorityLevel[]
  readonly flows: readonly Flow[]
  /** The fraction of its demand that each level gets. */
  readonly fairFraction: number
  /** Waiting requests by kind. */
  readonly waiting: Readonly<Record<'reading' | 'mutating', number>>
  /** Moves seats between levels, every ten seconds until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>
}

/** The first flow that matches. The catch-all takes every other request, even of users without any group. */
function flowIn(flows: readonly Flow[], context: Pick<RequestContext, 'user' | 'info'>): Flow {
  for (const flow of flows) if (flow.matches(context)) return flow
  return flows.find(({ name }) => name === 'catch-all') as Flow
}

/** How long rejected clients should wait, by level. */
function droppedBy(clock: Pick<Clock, 'now'>): FlowControl['drop'] {
  const byLevel = new WeakMap<PriorityLevel, DroppedRequests>()
  return ({ level }) => {
    const dropped = byLevel.get(level) ?? new DroppedRequests()
    byLevel.set(level, dropped)
    dropped.add(clock.now())
    return dropped.retryAfter
  }
}

/** Calls back every ten seconds, until `signal` aborts. */
async function everyPeriod(clock: Clock, signal: AbortSignal, move: () => void): Promise<void> {
  while (!signal.aborted) {
    try {
      await upkeepOf(clock).sleep(untilSharedMoment(clock, borrowingPeriodMs), signal)
    } catch (error) {
      if (signal.aborted) return
      throw error
    }
    move()
  }
}

export function createFlowControl(options: FlowControlOptions): FlowControl {
  const { clock, metrics, longestWaitMs, countOf, withWatchList, seats } = options
  const { gaugesOf, reading, mutating } = createLevelMetrics(metrics, clock)
  const watches = new WatchTracker()
  const waiting = { reading: 0, mutating: 0 }
  let fairFraction = 0
  const move = (levels: readonly PriorityLevel[]): void => {
    fairFraction = moveSeats(levels, { nowMs: clock.elapsed(), totalSeats: seats })
  }
  const configuration = followFlowConfiguration({
    ...options,
    newLevel: (name) => {
      const gauges = gaugesOf(name)
      const queueSet = new QueueSet({ clock, gauges })
      return new PriorityLevel({ name, queueSet, integrator: gauges.demand })
    },
    newSeries: createFlowSeries(metrics),
    estimator: { countOf, watches, withWatchList, isConsistentFromCache: true },
    onBuilt: (levels) => {
      const mostWaiting = levels.reduce((sum, level) => sum + level.mostWaiting, 0)
      const mostExecuting = levels.reduce((sum, level) => sum + level.nominal, 0)
      for (const kind of [reading, mutating]) {
        kind.waiting.setLimit(Math.max(mostWaiting, 1), clock.elapsed())
        kind.executing.setLimit(Math.max(mostExecuting, 1), clock.elapsed())
      }
      move(levels)
    },
  })
  const enter = entranceOf({
    clock,
    longestWaitMs,
    gauges: { reading, mutating },
    waiting,
    onIdle: configuration.forget,
  })
  return {
    flowOf: (context) => flowIn(configuration.current().flows, context),
    enter,
    drop: droppedBy(clock),
    watches,
    get levels() {
      return configuration.current().levels
    },
    get flows() {
      return configuration.current().flows
    },
    get fairFraction() {
      return fairFraction
    },
    waiting,
    run: (signal) => everyPeriod(clock, signal, () => move(configuration.current().levels)),
  }
}
