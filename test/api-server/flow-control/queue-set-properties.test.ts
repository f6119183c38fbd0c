/** What holds of a queue set whatever its requests do. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { FairRequest } from '../../../components/api-server/flow-control/fair-request.ts'
import { widthOf } from '../../../components/api-server/flow-control/work-estimate.ts'
import { arrivingOf, emptyCounts, queueSetOf } from '../../support/queue-set-run.ts'

const shape = { queues: 8, handSize: 3, queueLengthLimit: 4, limit: 5 }

type Step =
  | {
      kind: 'start'
      flow: number
      initialSeats: number
      finalSeats: number
      additionalLatencyMs: number
    }
  | { kind: 'finish' | 'cancel'; which: number }
  | { kind: 'wait'; ms: number }
  | { kind: 'configure'; limit: number; queues: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('start' as const),
      flow: fc.nat(6),
      initialSeats: fc.integer({ min: 1, max: 7 }),
      finalSeats: fc.nat(7),
      additionalLatencyMs: fc.constantFrom(0, 5, 20),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('finish' as const), which: fc.nat(30) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('cancel' as const), which: fc.nat(30) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(50) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('configure' as const),
      limit: fc.integer({ min: 1, max: 8 }),
      // New requests are dealt the queues of the shape.
      queues: fc.integer({ min: 8, max: 12 }),
    }),
  },
)

/** Takes the steps, and checks after each of them. */
function run(steps: readonly Step[]): void {
  const { clock, queueSet } = queueSetOf(shape)
  const counts = emptyCounts()
  const executing: FairRequest[] = []
  const waiting: FairRequest[] = []
  let { limit } = shape
  let refused = 0
  let started = 0

  function start({ flow, ...work }: Extract<Step, { kind: 'start' }>): void {
    started += 1
    const request = queueSet.start(
      arrivingOf(shape, { hash: BigInt(flow) * 977n, counts, ...work }),
    )
    if (typeof request === 'string') refused += 1
    else if (request.isExecuting) executing.push(request)
    else {
      waiting.push(request)
      request.onDecided = (why) => {
        waiting.splice(waiting.indexOf(request), 1)
        if (why === undefined) executing.push(request)
        else refused += 1
      }
    }
  }

  function check(): void {
    expect(queueSet.waiting).toBe(waiting.length)
    expect(queueSet.executing).toBe(executing.length)
    expect(counts).toMatchObject({ waiting: waiting.length, executing: executing.length })
    expect(counts.executingSeats).toBe(queueSet.seatsInUse)
    expect(counts.waitingSeats).toBe(queueSet.waitingSeats)
    expect(queueSet.dispatched + refused + waiting.length).toBe(started)
    const inQueues = queueSet.queues.reduce((sum, queue) => sum + queue.seatsInUse, 0)
    expect(inQueues).toBe(queueSet.seatsInUse)
    // Nothing waits while no seat is used.
    if (waiting.length > 0) expect(queueSet.seatsInUse).toBeGreaterThan(0)
  }

  for (const one of steps) {
    const before = queueSet.seatsInUse
    if (one.kind === 'start') start(one)
    else if (one.kind === 'wait') clock.run(clock.elapsed() + one.ms)
    else if (one.kind === 'configure') {
      ;({ limit } = one)
      const { queueLengthLimit } = shape
      queueSet.configure({ queues: one.queues, queueLengthLimit }, { limit, denominator: limit })
    } else if (one.kind === 'finish') {
      const [request] = executing.splice(one.which % Math.max(executing.length, 1), 1)
      if (request !== undefined) queueSet.finish(request)
    } else {
      const request = waiting[one.which % Math.max(waiting.length, 1)]
      if (request !== undefined) queueSet.cancel(request, 'cancelled')
    }
    check()
    // More seats than the limit are in use only by one that is wider, or from before the limit fell.
    if (queueSet.seatsInUse > Math.max(limit, before)) {
      expect(executing.some(({ arriving }) => widthOf(arriving.work) > limit)).toBe(true)
    }
  }
  // Each round serves one request at least.
  for (let round = 0; round <= steps.length; round += 1) {
    clock.run(clock.elapsed() + 1000)
    for (const request of executing.splice(0)) queueSet.finish(request)
  }
  check()
  expect(queueSet).toMatchObject({ isIdle: true, seatsInUse: 0, waitingSeats: 0 })
}

it('every request is decided once, seats are conserved, and none is left in the end', () => {
  fc.assert(fc.property(fc.array(step, { minLength: 1, maxLength: 80 }), run), { numRuns: 500 })
})
