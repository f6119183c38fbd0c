/** flow: one FlowSchema with its level: what it matches, and how many of its requests there are. */
import type { Dialect } from '../../api/dialect.ts'
import type { FlowSchema } from '../../api/generated/types.ts'
import type { RequestContext, RequestInfo } from '../request/request.ts'
import type { FlowCounts } from './fair-request.ts'
import { distinguisherOf, inPrecedence, matcherOf } from './flow-matcher.ts'
import type { FlowSeries } from './flow-series.ts'
import type { PriorityLevel } from './priority-level.ts'
import { dealHand, flowHash } from './shuffle-sharding.ts'
import type { WorkEstimate, WorkEstimatorParts } from './work-estimate.ts'
import { estimateWork } from './work-estimator.ts'

type Asked = Pick<RequestContext, 'user' | 'info'>

export interface Flow {
  readonly name: string
  readonly level: PriorityLevel
  /** The response headers that name it. */
  readonly headers: Readonly<Record<string, string>>
  readonly counts: FlowCounts
  readonly series: FlowSeries
  matches(asked: Asked): boolean
  /** '' where requests are not told apart: in levels with fewer than two queues. */
  distinguisherOf(asked: Asked): string
  /** The queues of a flow, the same ones as long as the configuration is the same. */
  handOf(distinguisher: string): readonly number[]
  estimate(info: RequestInfo): WorkEstimate
}

export interface FlowBuilderOptions {
  readonly dialect: Dialect
  readonly newSeries: (schema: string, level: string) => FlowSeries
  readonly estimator: Omit<WorkEstimatorParts, 'onWatches'>
}

/** Flows whose hands are kept; computing one takes a few microseconds. */
const mostHands = 10_000
const onlyQueue: readonly number[] = Object.freeze([0])

function newCounts(): FlowCounts {
  return {
    executing: 0,
    executingSeats: 0,
    waiting: 0,
    waitingSeats: 0,
    dispatched: 0,
    unaccommodated: 0,
    refused: { 'concurrency-limit': 0, 'queue-full': 0, 'time-out': 0, cancelled: 0 },
  }
}

function handsOf(schema: string, { queues, handSize }: PriorityLevel): Flow['handOf'] {
  if (queues < 2) return () => onlyQueue
  const hands = new Map<string, readonly number[]>()
  return (distinguisher) => {
    const known = hands.get(distinguisher)
    if (known !== undefined) return known
    if (hands.size >= mostHands) hands.clear()
    const hand = dealHand(flowHash(schema, distinguisher), queues, handSize)
    hands.set(distinguisher, hand)
    return hand
  }
}

/** Builds flows. One that is configured again keeps its counts. */
export function flowBuilder({
  dialect,
  newSeries,
  estimator,
}: FlowBuilderOptions): (
  schemas: readonly FlowSchema[],
  levels: ReadonlyMap<string, PriorityLevel>,
) => Flow[] {
  const counts = new Map<string, FlowCounts>()
  const prefix = `x-${dialect.name}-pf`

  function flowOf(schema: FlowSchema, level: PriorityLevel): Flow {
    const { name = '', uid = '' } = schema.metadata
    const own = counts.get(name) ?? newCounts()
    counts.set(name, own)
    const series = newSeries(name, level.name)
    const estimated = { ...estimator, onWatches: series.watches }
    return {
      name,
      level,
      headers: {
        [`${prefix}-flowschema-uid`]: uid,
        [`${prefix}-prioritylevel-uid`]: level.uid,
      },
      counts: own,
      series,
      matches: matcherOf(schema),
      distinguisherOf: level.queues < 2 ? () => '' : (asked) => distinguisherOf(schema, asked),
      handOf: handsOf(name, level),
      estimate: (info) => estimateWork(info, level.maxSeats, estimated),
    }
  }

  return (schemas, levels) => {
    const flows = inPrecedence(schemas).flatMap((schema): Flow[] => {
      // A schema without its level matches no request.
      const level = levels.get(schema.spec?.priorityLevelConfiguration?.name ?? '')
      return level === undefined || level.isQuiescing ? [] : [flowOf(schema, level)]
    })
    const names = new Set(flows.map(({ name }) => name))
    for (const [name, { executing, waiting }] of counts) {
      if (!names.has(name) && executing + waiting === 0) counts.delete(name)
    }
    return flows
  }
}
