/** Clients of a queue set that ask, are served and think, on an EventClock, and how many seats each of them had. */
import { createMetrics } from '../../components/component-base/metrics.ts'
import type {
  ArrivingRequest,
  FairRequest,
  FlowCounts,
} from '../../components/api-server/flow-control/fair-request.ts'
import { createLevelMetrics } from '../../components/api-server/flow-control/level-metrics.ts'
import { QueueSet } from '../../components/api-server/flow-control/queue-set.ts'
import { SeatIntegrator } from '../../components/api-server/flow-control/seat-integrator.ts'
import { dealHand } from '../../components/api-server/flow-control/shuffle-sharding.ts'
import { EventClock } from './event-clock.ts'

export interface QueueSetShape {
  /** Undefined: exempt. */
  readonly queues: number | undefined
  readonly handSize: number
  readonly queueLengthLimit: number
  readonly limit: number
}

export function emptyCounts(): FlowCounts {
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

export function queueSetOf({ queues, queueLengthLimit, limit }: QueueSetShape) {
  const clock = new EventClock()
  const metrics = createMetrics({ release: '1.32' })
  const gauges = createLevelMetrics(metrics, clock).gaugesOf('level')
  const queueSet = new QueueSet({ clock, gauges })
  queueSet.configure({ queues, queueLengthLimit }, { limit, denominator: Math.max(limit, 1) })
  return { clock, metrics, gauges, queueSet }
}

/** A request of the flow with this hash. */
export function arrivingOf(
  { queues = 0, handSize }: QueueSetShape,
  of: { hash: bigint; counts: FlowCounts } & Partial<ArrivingRequest['work']>,
): ArrivingRequest {
  const { initialSeats = 1, finalSeats = 0, additionalLatencyMs = 0, hash, counts } = of
  return {
    work: { initialSeats, finalSeats, additionalLatencyMs },
    hand: queues > 0 ? dealHand(hash, queues, handSize) : [0],
    schema: `flow ${hash}`,
    distinguisher: '',
    counts,
    from: { user: { name: '', groups: [] }, info: {} } as unknown as ArrivingRequest['from'],
  }
}

export interface Client {
  readonly hash: bigint
  readonly threads: number
  readonly calls: number
  readonly execMs: number
  /** Between an answer and the next request; may be negative. */
  readonly thinkMs: number
  readonly initialSeats?: number
  readonly finalSeats?: number
  readonly padMs?: number
  /** Half of its threads begin in the second half of the time. */
  readonly isSplit?: boolean
}

export interface RunOutcome {
  /** The average seats of each client until its answers, in each part of the time. */
  readonly averages: readonly (readonly number[])[]
  readonly counts: readonly FlowCounts[]
  /** Of all seats, by what the clients did. */
  readonly expectedDemand: readonly number[]
  readonly observedDemand: readonly number[]
  readonly queueSet: QueueSet
}

/** Starts a request and calls back once it executes. */
function startIn(
  queueSet: QueueSet,
  arriving: ArrivingRequest,
  on: { execute: (request: FairRequest) => void; refuse: () => void },
): void {
  const started = queueSet.start(arriving)
  if (typeof started === 'string') on.refuse()
  else if (started.isExecuting) on.execute(started)
  else started.onDecided = (why) => (why === undefined ? on.execute(started) : on.refuse())
}

/** Runs the clients for `evalMs`, in two parts if one of them is split, and then until all is done. */
export function runClients(
  shape: QueueSetShape,
  { clients, evalMs }: { clients: readonly Client[]; evalMs: number },
): RunOutcome {
  const { clock, queueSet, gauges } = queueSetOf(shape)
  const counts = clients.map(emptyCounts)
  const seats = clients.map(() => new SeatIntegrator(0))
  const demand = new SeatIntegrator(0)
  const add = (to: SeatIntegrator | undefined, by: number): void =>
    to?.set(to.value + by, clock.elapsed())

  function call(client: Client, index: number, left: number): void {
    if (left === 0) return
    const { hash, execMs, thinkMs, initialSeats = 1, finalSeats = 1, padMs = 0 } = client
    const work = { initialSeats, finalSeats, additionalLatencyMs: padMs }
    const arriving = arrivingOf(shape, {
      hash,
      counts: counts[index] as FlowCounts,
      ...work,
    })
    const width = Math.max(initialSeats, finalSeats)
    add(demand, width)
    startIn(queueSet, arriving, {
      refuse: () => add(demand, -width),
      execute: (request) => {
        add(seats[index], initialSeats)
        clock.after(execMs + thinkMs, () => call(client, index, left - 1))
        clock.after(execMs, () => {
          add(seats[index], -initialSeats)
          clock.after(padMs, () => add(demand, -width))
          queueSet.finish(request)
        })
      },
    })
  }

  const isSplit = clients.some((client) => client.isSplit)
  for (const [index, client] of clients.entries()) {
    for (let thread = 0; thread < client.threads; thread += 1) {
      const isLate = client.isSplit === true && thread >= client.threads / 2
      const calls = isLate ? client.calls / 2 : client.calls
      const startMs = (90 * thread + 20 * index) / 1e6 + (isLate ? evalMs / 2 : 0)
      clock.after(startMs, () => call(client, index, calls))
    }
  }
  const averages: number[][] = []
  for (const endMs of isSplit ? [evalMs / 2, evalMs] : [evalMs]) {
    clock.run(endMs)
    averages.push(seats.map((one) => one.reset(endMs).average))
  }
  const expected = demand.read(evalMs)
  const observed = gauges.demand.read(evalMs)
  clock.run()
  return {
    averages,
    counts,
    expectedDemand: [expected.average, expected.deviation],
    observedDemand: [observed.average, observed.deviation],
    queueSet,
  }
}

/** Shares capacity out evenly, where no one gets more than it demands. */
export function evenShares(demands: readonly number[], capacity: number): number[] {
  let left = capacity
  const shares = demands.map(() => 0)
  const ascending = demands.map((demand, index) => ({ demand, index }))
  ascending.sort((a, b) => a.demand - b.demand)
  for (const [rank, { demand, index }] of ascending.entries()) {
    const share = Math.min(demand, left / (demands.length - rank))
    shares[index] = share
    left -= share
  }
  return shares
}
