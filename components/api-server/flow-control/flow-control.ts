/**
 * flow-control: classifies requests by FlowSchema and gives them seats of their priority level (upstream: API Priority and
 * Fairness, apiserver pkg/util/flowcontrol).
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../../component-base/clock.ts'
import type { RequestContext } from '../request/request.ts'
import {
  followFlowConfiguration,
  type Flow,
  type FlowConfigurationOptions,
  type FollowedFlowConfiguration,
} from './flow-configuration.ts'
import { distinguisherOf } from './flow-matcher.ts'
import type { PriorityLevel, Refusal } from './priority-level.ts'

export interface FlowControlOptions extends FlowConfigurationOptions {
  readonly clock: Clock
  /** How long a request may wait for a seat. */
  readonly longestWaitMs: number
}

/** A taken seat; call it when the request has been served. */
export type Leave = () => void

export interface FlowControl {
  flowOf(context: Pick<RequestContext, 'user' | 'info'>): Flow
  /** A seat at once, or when one is free; a refusal otherwise. */
  enter(flow: Flow, context: RequestContext): Leave | Promise<Leave | Refusal> | Refusal
  /** Levels and flows, as they are now. */
  readonly levels: readonly PriorityLevel[]
  readonly flows: readonly Flow[]
}

/** The seats of all levels: which are free, and who gets them. */
function createSeats(configuration: FollowedFlowConfiguration, seats: number) {
  /** Whether levels have lendable seats that they do not use, less those that are lent. */
  function canBorrow(): boolean {
    let left = 0
    for (const { isExempt, nominal, lendable, executing } of configuration.current().levels) {
      if (isExempt) continue
      const unused = Math.min(lendable, nominal - executing)
      left += unused
    }
    return left > 0
  }

  function hasSeat(level: PriorityLevel): boolean {
    if (level.isExempt || seats === 0 || level.executing < level.nominal) return true
    return level.executing < level.nominal + level.borrowable && canBorrow()
  }

  /** Gives free seats to waiting requests: first to the level that freed one, then to those that borrow. */
  function seatWaiting(freed?: PriorityLevel): void {
    const all = configuration.allLevels.values()
    for (const level of freed === undefined ? all : [freed, ...all]) {
      while (level.waiting > 0 && hasSeat(level)) level.seatNext()
    }
  }

  return {
    hasSeat,
    seatWaiting,
    /** Counts a request whose level has taken a seat for it. */
    seated({ level, counts }: Flow): Leave {
      counts.executing += 1
      counts.dispatched += 1
      return () => {
        counts.executing -= 1
        level.executing -= 1
        configuration.current()
        seatWaiting(level)
      }
    },
  }
}

/** Waits in a queue of the flow's level until a seat is free, the wait takes too long or the client goes away. */
async function awaitSeat(
  { level, counts, schema, name }: Flow,
  at: { context: RequestContext; clock: Clock; longestWaitMs: number },
): Promise<Refusal | undefined> {
  const { context, clock, longestWaitMs } = at
  const { promise, resolve } = Promise.withResolvers<Refusal | undefined>()
  const exit = level.wait(hashOf(name, distinguisherOf(schema, context)), resolve)
  if (typeof exit === 'string') return exit
  const { signal } = context.http
  const cancelled = (): void => exit('cancelled')
  const stop = clock.after(longestWaitMs, () => exit('time-out'))
  signal.addEventListener('abort', cancelled, { once: true })
  if (signal.aborted) cancelled()
  counts.waiting += 1
  const refusal = await promise
  counts.waiting -= 1
  stop()
  signal.removeEventListener('abort', cancelled)
  return refusal
}

export function createFlowControl(options: FlowControlOptions): FlowControl {
  const { clock, longestWaitMs } = options
  const configuration = followFlowConfiguration(options, () => {
    // The changed levels may have more seats.
    configuration.current()
    seatWaiting()
  })
  const { hasSeat, seatWaiting, seated } = createSeats(configuration, options.seats)

  async function queued(flow: Flow, context: RequestContext): Promise<Leave | Refusal> {
    const refusal = await awaitSeat(flow, { context, clock, longestWaitMs })
    if (refusal === undefined) return seated(flow)
    flow.counts.refused[refusal] += 1
    return refusal
  }

  return {
    flowOf: (context) => {
      const { flows } = configuration.current()
      const found = flows.find((flow) => flow.matches(context))
      // The catch-all takes every other request, even of users without any group.
      return found ?? (flows.find(({ name }) => name === 'catch-all') as Flow)
    },
    enter: (flow, context) => {
      const { level } = flow
      // A new request does not overtake waiting ones.
      if (level.waiting === 0 && hasSeat(level)) {
        level.take()
        return seated(flow)
      }
      return queued(flow, context)
    },
    get levels() {
      return configuration.current().levels
    },
    get flows() {
      return configuration.current().flows
    },
  }
}

/** Numbers that pick a flow's queues, the same ones for the same flow. */
function hashOf(name: string, distinguisher: string): number[] {
  const digest = createHash('sha256').update(`${name}\0${distinguisher}`).digest()
  return Array.from({ length: 8 }, (_, index) => digest.readUInt32BE(index * 4))
}
