/** How a queue set shares its seats between flows (cases as upstream's queueset_test.go). */
import { describe, expect, it } from 'vitest'
import type { FairRequest } from '../../../components/api-server/flow-control/fair-request.ts'
import {
  arrivingOf,
  emptyCounts,
  evenShares,
  queueSetOf,
  runClients,
  type Client,
  type QueueSetShape,
} from '../../support/queue-set-run.ts'

const ns = 1e-6
const second = 1000

function shape(
  queues: number | undefined,
  handSize: number,
  more: { length: number; limit: number },
): QueueSetShape {
  return { queues, handSize, queueLengthLimit: more.length, limit: more.limit }
}

function client(
  hash: number,
  [threads, calls]: [number, number],
  more: Partial<Client> = {},
): Client {
  return { hash: BigInt(hash), threads, calls, execMs: second, thinkMs: second, ...more }
}

/** The seats that a client would use without any limit. */
const demandOf = ({ threads, execMs, thinkMs, initialSeats = 1 }: Client): number =>
  (threads * initialSeats * execMs) / (execMs + thinkMs)

function expectWithin(actual: readonly number[], expected: readonly number[], part: number): void {
  for (const [index, value] of actual.entries()) {
    const want = expected[index] as number
    const at = `client ${index}: ${value} instead of ${want}`
    expect(Math.abs(value - want), at).toBeLessThanOrEqual(want * part + 1e-6)
  }
}

interface Scenario {
  readonly name: string
  readonly shape: QueueSetShape
  readonly clients: readonly Client[]
  readonly evalMs: number
  /** How far from even shares each client may be. */
  readonly margin: number
}

const almost = second - ns
const quarterDay = 6 * 3600 * second

const fair: readonly Scenario[] = [
  {
    name: 'one client with one seat',
    shape: shape(9, 3, { length: 8, limit: 1 }),
    clients: [client(1001001001, [1, 21], { thinkMs: 0 })],
    evalMs: 20 * second,
    margin: 0,
  },
  {
    name: 'two alike, each with one queue',
    shape: shape(9, 1, { length: 8, limit: 4 }),
    clients: [1001001001, 2002002002].map((hash) => client(hash, [8, 20], { thinkMs: almost })),
    evalMs: 50 * second,
    margin: 0.01,
  },
  {
    name: 'two alike, each with three queues',
    shape: shape(8, 3, { length: 16, limit: 4 }),
    clients: [400900100100, 300900200200].map((hash) => client(hash, [8, 30], { thinkMs: almost })),
    evalMs: 60 * second,
    margin: 0.03,
  },
  {
    name: 'two that ask differently often, both for more than half',
    shape: shape(9, 1, { length: 8, limit: 4 }),
    clients: [client(1001001001, [8, 20]), client(2002002002, [7, 30], { thinkMs: second / 2 })],
    evalMs: 40 * second,
    margin: 0.01,
  },
  {
    name: 'one that asks for less than half gets all of it',
    shape: shape(9, 1, { length: 6, limit: 3 }),
    clients: [
      client(1001001001, [4, 20], { thinkMs: almost }),
      client(2002002002, [2, 20], { thinkMs: almost }),
    ],
    evalMs: 20 * second,
    margin: 0.01,
  },
  {
    name: 'requests of one seat and of two',
    shape: shape(64, 7, { length: 13, limit: 6 }),
    clients: [
      client(10010010010010, [13, 10], { thinkMs: almost }),
      client(20020020020020, [7, 10], { thinkMs: almost, initialSeats: 2 }),
    ],
    evalMs: 20 * second,
    margin: 0.155,
  },
  {
    name: 'requests that are wider than the limit',
    shape: shape(64, 7, { length: 35, limit: 6 }),
    clients: [2, 2, 2, 2, 7].map((initialSeats, index) =>
      client(
        [40040040040040, 50050050050050, 60060060060060, 70070070070070, 90090090090090][index] ??
          0,
        [15, 21],
        {
          thinkMs: almost,
          initialSeats,
        },
      ),
    ),
    evalMs: 225 * second,
    margin: 0.33,
  },
  {
    name: 'over days, while the progress meter is set back',
    shape: shape(9, 1, { length: 8, limit: 2000 }),
    clients: [
      client(1001001001, [8, 20], { execMs: quarterDay, thinkMs: quarterDay, initialSeats: 500 }),
      client(2002002002, [7, 30], {
        execMs: quarterDay,
        thinkMs: quarterDay / 2,
        initialSeats: 500,
      }),
    ],
    evalMs: 40 * quarterDay,
    margin: 0.01,
  },
]

describe('even shares', () => {
  it.each(fair)('$name', ({ shape: of, clients, evalMs, margin }) => {
    const { averages, counts, queueSet, observedDemand, expectedDemand } = runClients(of, {
      clients,
      evalMs,
    })
    expectWithin(averages[0] ?? [], evenShares(clients.map(demandOf), of.limit), margin)
    expectWithin(observedDemand, expectedDemand, 1e-9)
    for (const [index, count] of counts.entries()) {
      const { threads = 0, calls = 0 } = clients[index] ?? {}
      expect(count).toMatchObject({
        dispatched: threads * calls,
        executing: 0,
        executingSeats: 0,
        waiting: 0,
        waitingSeats: 0,
      })
    }
    expect(queueSet).toMatchObject({ isIdle: true, rejected: 0, seatsInUse: 0, waitingSeats: 0 })
  })

  it('the progress meter is set back before it is no longer exact', () => {
    const { shape: of, clients, evalMs } = fair.at(-1) as Scenario
    const { queueSet } = runClients(of, { clients, evalMs })
    expect(queueSet.epochAdvances).toBeGreaterThan(2)
    expect(queueSet.r).toBeLessThan(2 ** 53)
  })
})

describe('seats after the answer', () => {
  const cases: readonly [number, number, [number, number, number], number[]?][] = [
    [1, 0, [1, 1, 1]],
    [1, 0, [1, 2, 1]],
    [1, 0, [2, 2, 1]],
    [1, 0, [1, 1, 2]],
    [1, 0, [1, 2, 2]],
    [1, 0, [2, 2, 2]],
    [0, 1, [1, 1, 1], [0.5]],
    [0, 1, [1, 2, 1]],
    [0, 1, [2, 2, 1], [0.5]],
    [0, 1, [1, 1, 2], [0.25, 0.25]],
    [0, 1, [1, 2, 2], [0.5, 0.5]],
    [0, 1, [2, 2, 2], [0.25, 0.25]],
    [1, 0.5, [1, 1, 1]],
    [1, 0.5, [1, 2, 1]],
    [1, 0.5, [2, 2, 1]],
    [1, 0.5, [1, 1, 2], [1 / 3, 1 / 3]],
    [1, 0.5, [1, 2, 2]],
    [1, 0.5, [2, 2, 2], [1 / 3, 1 / 3]],
    [0.5, 1, [1, 1, 1], [0.5]],
    [0.5, 1, [1, 2, 1]],
    [0.5, 1, [2, 2, 1], [0.5]],
    [0.5, 1, [1, 1, 2], [0.25, 0.25]],
    [0.5, 1, [1, 2, 2], [0.5, 0.5]],
    [0.5, 1, [2, 2, 2], [0.25, 0.25]],
  ]
  it.each(cases)(
    'think %d s, notify %d s, [final seats, limit, clients] %j',
    (think, pad, [finalSeats, limit, many], exact) => {
      const clients = [1001001001, 2002002002]
        .slice(0, many)
        .map((hash) =>
          client(hash, [1, 25], { thinkMs: think * second, padMs: pad * second, finalSeats }),
        )
      const of = shape(9, 3, { length: 8, limit })
      const { averages, observedDemand, expectedDemand } = runClients(of, {
        clients,
        evalMs: 24 * second,
      })
      expectWithin(averages[0] ?? [], exact ?? evenShares(clients.map(demandOf), limit), 0)
      expectWithin(observedDemand, expectedDemand, 1e-9)
    },
  )

  it('are in use until the additional latency is over', () => {
    const of = shape(1, 1, { length: 10, limit: 10 })
    const { clock, queueSet } = queueSetOf(of)
    const counts = emptyCounts()
    const work = { initialSeats: 1, finalSeats: 10, additionalLatencyMs: 60 * second }
    const wide = queueSet.start(arrivingOf(of, { hash: 1n, counts, ...work })) as FairRequest
    queueSet.finish(wide)
    expect(queueSet).toMatchObject({ executing: 0, seatsInUse: 10, isIdle: true })
    const next = queueSet.start(arrivingOf(of, { hash: 1n, counts })) as FairRequest
    expect(next.isExecuting).toBe(false)
    clock.run(60 * second - 1)
    expect(queueSet).toMatchObject({ seatsInUse: 10, waiting: 1 })
    clock.run(60 * second)
    expect(queueSet).toMatchObject({ seatsInUse: 1, waiting: 0, executing: 1 })
    expect(next.isExecuting).toBe(true)
  })

  it('are no more than the limit, for as much longer', () => {
    const of = shape(1, 1, { length: 10, limit: 2 })
    const { clock, queueSet } = queueSetOf(of)
    const work = { initialSeats: 1, finalSeats: 10, additionalLatencyMs: second }
    const wide = queueSet.start(
      arrivingOf(of, { hash: 1n, counts: emptyCounts(), ...work }),
    ) as FairRequest
    queueSet.finish(wide)
    expect(queueSet.seatsInUse).toBe(2)
    clock.run(5 * second - 1)
    expect(queueSet.seatsInUse).toBe(2)
    clock.run(5 * second)
    expect(queueSet.seatsInUse).toBe(0)
  })
})

describe('a flow that did not use its share', () => {
  it('gets its share once it can use it, and little more for what it missed', () => {
    const clients = [
      client(1001001001, [2, 40], { thinkMs: -ns }),
      client(2002002002, [2, 40], { thinkMs: -ns, isSplit: true }),
    ]
    const of = shape(9, 1, { length: 6, limit: 3 })
    const { averages } = runClients(of, { clients, evalMs: 40 * second })
    expectWithin(averages[0] ?? [], [2, 1], 0.01)
    expectWithin(averages[1] ?? [], [1.5, 1.5], 0.26)
    for (const average of averages[1] ?? []) {
      expect(Math.abs(average - 1.5)).toBeGreaterThan(0.15)
    }
  })
})

describe('without queues', () => {
  it('whoever comes first gets the seats, and others are rejected', () => {
    const clients = [
      client(1001001001, [6, 10], { thinkMs: 57 }),
      client(2002002002, [4, 15], { thinkMs: 750 }),
    ]
    const of = shape(0, 0, { length: 0, limit: 4 })
    const { averages, counts } = runClients(of, { clients, evalMs: 13 * second })
    const even = evenShares(clients.map(demandOf), 4)
    for (const [index, average] of (averages[0] ?? []).entries()) {
      expect(Math.abs(average / (even[index] as number) - 1)).toBeGreaterThan(0.2)
    }
    const rejected = counts.map(({ refused }) => refused['concurrency-limit'])
    expect(rejected[0]! + rejected[1]!).toBeGreaterThan(0)
  })

  it.each([0, 2])('exempt requests take what they want, with a limit of %d', (limit) => {
    const clients = [client(1001001001, [5, 20], { initialSeats: 3 })]
    const of = shape(undefined, 3, { length: 2, limit })
    const { averages, counts, observedDemand, expectedDemand } = runClients(of, {
      clients,
      evalMs: 40 * second,
    })
    expectWithin(averages[0] ?? [], [7.5], 1e-8)
    expectWithin(observedDemand, expectedDemand, 1e-9)
    expect(counts[0]?.dispatched).toBe(100)
  })
})

describe('the next dispatch', () => {
  /** Two queues; each holds a request of its own flow, behind one that has all seats. */
  function twoWaiting(limit: number, widths: readonly [number, number], busy: number) {
    const of = shape(2, 1, { length: 10, limit })
    const { clock, queueSet } = queueSetOf(of)
    const start = (hash: bigint, initialSeats: number): FairRequest =>
      queueSet.start(arrivingOf(of, { hash, counts: emptyCounts(), initialSeats })) as FairRequest
    const running = start(0n, busy)
    const waiting = widths.map((width, index) => start(BigInt(index), width))
    return { clock, queueSet, running, waiting }
  }

  it('is of the request that finishes first in virtual time', () => {
    const { queueSet, running, waiting } = twoWaiting(1, [1, 1], 1)
    queueSet.finish(running)
    // The first queue has had a request already.
    expect(waiting.map(({ isExecuting }) => isExecuting)).toEqual([false, true])
  })

  it('waits for the seats of a wide request, while narrow ones in other queues wait, too', () => {
    const of = shape(2, 1, { length: 10, limit: 50 })
    const { clock, queueSet } = queueSetOf(of)
    const counts = emptyCounts()
    const start = (hash: bigint, initialSeats: number): FairRequest =>
      queueSet.start(arrivingOf(of, { hash, counts, initialSeats })) as FairRequest
    const first = start(0n, 26)
    const wide = start(1n, 25)
    const narrow = start(0n, 10)
    clock.run(1)
    expect([wide.isExecuting, narrow.isExecuting]).toEqual([false, false])
    expect(counts.unaccommodated).toBeGreaterThan(0)
    queueSet.finish(first)
    expect([wide.isExecuting, narrow.isExecuting]).toEqual([true, true])
  })

  it('a request that is cancelled leaves its queue, and one that was dispatched does not', () => {
    const { clock, queueSet, running, waiting } = twoWaiting(1, [1, 1], 1)
    const decided: unknown[] = []
    for (const one of waiting) one.onDecided = (why) => decided.push(why)
    clock.run(second)
    queueSet.cancel(waiting[0]!, 'cancelled')
    queueSet.cancel(waiting[0]!, 'time-out')
    queueSet.cancel(running, 'cancelled')
    expect(decided).toEqual(['cancelled'])
    expect(queueSet).toMatchObject({ waiting: 1, rejected: 1, cancelled: 1, timedOut: 0 })
    queueSet.finish(running)
    expect(decided).toEqual(['cancelled', undefined])
    expect(waiting[0]?.isExecuting).toBe(false)
  })

  it('a full queue rejects only while all seats are taken', () => {
    const of = shape(1, 1, { length: 1, limit: 2 })
    const { queueSet } = queueSetOf(of)
    const start = (initialSeats: number) =>
      queueSet.start(arrivingOf(of, { hash: 1n, counts: emptyCounts(), initialSeats }))
    const first = start(1) as FairRequest
    start(2)
    // The queue is as long as it may be, and one seat is free, which the wide request waits with.
    expect(typeof start(1)).toBe('object')
    queueSet.configure({ queues: 1, queueLengthLimit: 1 }, { limit: 1, denominator: 1 })
    expect(start(1)).toBe('queue-full')
    queueSet.finish(first)
  })
})

describe('a new configuration', () => {
  it('keeps waiting requests in their queues, and drops surplus queues once they are idle', () => {
    const of = shape(8, 8, { length: 10, limit: 1 })
    const { queueSet } = queueSetOf(of)
    const requests = Array.from(
      { length: 9 },
      () => queueSet.start(arrivingOf(of, { hash: 7n, counts: emptyCounts() })) as FairRequest,
    )
    queueSet.configure({ queues: 2, queueLengthLimit: 10 }, { limit: 1, denominator: 1 })
    expect(queueSet).toMatchObject({ waiting: 8, executing: 1 })
    expect(queueSet.queues.length).toBe(8)
    for (let served = 0; served < 9; served += 1) {
      const running = requests.find(
        (one) =>
          one.isExecuting && [...queueSet.queues].some((q) => [...q.executing].includes(one)),
      )
      queueSet.finish(running as FairRequest)
    }
    expect(queueSet).toMatchObject({ isIdle: true, seatsInUse: 0 })
    expect(queueSet.queues.length).toBe(2)
  })

  it('with a higher limit dispatches what waits', () => {
    const of = shape(4, 2, { length: 10, limit: 1 })
    const { queueSet } = queueSetOf(of)
    for (let count = 0; count < 5; count += 1) {
      queueSet.start(arrivingOf(of, { hash: 3n, counts: emptyCounts() }))
    }
    queueSet.configure({ queues: 4, queueLengthLimit: 10 }, { limit: 3, denominator: 3 })
    expect(queueSet).toMatchObject({ executing: 3, waiting: 2 })
  })
})
