/** How seats are shared out and lent (cases as upstream's conc_alloc_test.go, borrowing and integrator tests). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PriorityLevelConfiguration } from '../../../components/api/generated/types.ts'
import { DroppedRequests } from '../../../components/api-server/flow-control/dropped-requests.ts'
import { PriorityLevel } from '../../../components/api-server/flow-control/priority-level.ts'
import { allocateSeats } from '../../../components/api-server/flow-control/seat-allocation.ts'
import { moveSeats } from '../../../components/api-server/flow-control/seat-borrowing.ts'
import { SeatIntegrator } from '../../../components/api-server/flow-control/seat-integrator.ts'
import { dealHand, flowHash } from '../../../components/api-server/flow-control/shuffle-sharding.ts'
import { queueSetOf } from '../../support/queue-set-run.ts'

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)

describe('an allocation', () => {
  const claim = fc
    .record({
      low: fc.double({ min: 0, max: 4, noNaN: true }),
      above: fc.double({ min: 0, max: 2, noNaN: true }),
      room: fc.double({ min: 0, max: 3, noNaN: true }),
    })
    .map(({ low, above, room }) => ({
      lowerBound: low,
      target: low + above,
      upperBound: low + room,
    }))

  it('adds up to the total, and gives each claim the same fraction or the bound next to it', () => {
    const claims = fc.array(claim, { minLength: 1, maxLength: 9 })
    fc.assert(
      fc.property(claims, fc.double({ min: 0, max: 1, noNaN: true }), (all, at) => {
        const low = sum(all.map(({ lowerBound }) => lowerBound))
        const high = sum(all.map(({ upperBound }) => upperBound))
        const total = low + (high - low) * at
        const { seats, fraction } = allocateSeats(total, all)!
        expect(sum([...seats])).toBeCloseTo(total, 5)
        for (const [index, { lowerBound, upperBound, target }] of all.entries()) {
          const wanted = fraction * Math.max(target, 0.001)
          const given = seats[index] as number
          expect(given).toBeCloseTo(Math.min(Math.max(wanted, lowerBound), upperBound), 5)
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('beyond the bounds is impossible', () => {
    const claims = [{ lowerBound: 2, target: 3, upperBound: 4 }]
    expect(allocateSeats(1, claims)).toBeUndefined()
    expect(allocateSeats(5, claims)).toBeUndefined()
    expect(allocateSeats(3, claims)).toEqual({ seats: [3], fraction: 1 })
    expect(allocateSeats(0, [])).toEqual({ seats: [], fraction: 0 })
  })

  it('of a claim without a target takes what nobody else can', () => {
    const claims = [
      { lowerBound: 0, target: 0, upperBound: 10 },
      { lowerBound: 1, target: 2, upperBound: 2 },
    ]
    expect(allocateSeats(6, claims)?.seats.map((seats) => Math.round(seats))).toEqual([4, 2])
  })
})

function levelOf(
  name: string,
  spec: PriorityLevelConfiguration['spec'],
): {
  level: PriorityLevel
  demand: SeatIntegrator
} {
  const { queueSet, gauges } = queueSetOf({ queues: 0, handSize: 0, queueLengthLimit: 0, limit: 0 })
  const level = new PriorityLevel({ name, queueSet, integrator: gauges.demand })
  level.configure({ metadata: { name }, ...(spec === undefined ? {} : { spec }) })
  return { level, demand: gauges.demand }
}

function limited(nominalConcurrencyShares: number, lendablePercent: number) {
  const limitResponse = {
    type: 'Queue',
    queuing: { queues: 64, handSize: 6, queueLengthLimit: 50 },
  }
  return {
    type: 'Limited',
    limited: { nominalConcurrencyShares, lendablePercent, limitResponse },
  }
}

describe('lending', () => {
  /** The exempt level and three of the bootstrap levels, with six seats for each share. */
  function four() {
    const exempt = levelOf('exempt', {
      type: 'Exempt',
      exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 },
    })
    const high = levelOf('high', limited(40, 50))
    const middle = levelOf('middle', limited(100, 90))
    const low = levelOf('low', limited(5, 0))
    const all = [exempt, high, middle, low]
    const seats = 145 * 6
    for (const { level } of all) level.share(seats, 145)
    let nowMs = 0
    /** Ends a period in which the levels wanted so many seats all the time. */
    const period = (demands: Partial<Record<string, number>>): number[] => {
      for (const { level, demand } of all) demand.set(demands[level.name] ?? demand.value, nowMs)
      nowMs += 10_000
      moveSeats(
        all.map(({ level }) => level),
        { nowMs, totalSeats: seats },
      )
      return all.map(({ level }) => level.current)
    }
    return { levels: all.map(({ level }) => level), seats, period }
  }

  it('when exempt requests take all seats, the others keep what they do not lend', () => {
    const { levels, seats, period } = four()
    const many = seats + 100
    const limits = period({ exempt: many, high: many, middle: many, low: many })
    expect(limits).toEqual([many, ...levels.slice(1).map(({ lowest }) => lowest)])
  })

  it('when exempt requests take some, the others share what is left above what they do not lend', () => {
    const { levels, seats, period } = four()
    const half = levels.slice(1).map(({ nominal, lowest }) => (nominal + lowest) / 2)
    const exempt = seats - sum(half)
    const many = seats + 100
    period({ exempt, high: many, middle: many, low: many })
    expect(period({})).toEqual([exempt, ...half])
    // Only one level has idle seats, and the exempt requests take those that it lends.
    const [, high, middle, low] = levels as [
      PriorityLevel,
      PriorityLevel,
      PriorityLevel,
      PriorityLevel,
    ]
    const idle = seats - high.nominal - middle.lowest - low.nominal
    period({ exempt: idle, middle: 1 })
    expect(period({})).toEqual([idle, high.nominal, middle.lowest, low.nominal])
  })

  it('follows a rise of the demand at once and a fall slowly, and never exceeds the seats by more than rounding', () => {
    const { levels, seats, period } = four()
    period({ high: 400, middle: 0, low: 0 })
    const risen = period({})
    expect(risen[1]).toBeGreaterThanOrEqual(400)
    expect(sum(risen)).toBeLessThanOrEqual(seats + levels.length)
    const first = period({ high: 0 })[1] as number
    const later = period({})[1] as number
    const smoothed = levels[1]!.demand.smoothed
    expect([first, later].every((limit) => limit >= levels[1]!.lowest)).toBe(true)
    expect(smoothed).toBeGreaterThan(380)
    for (let minute = 0; minute < 5 * 6; minute += 1) period({})
    // Half of it is left after five minutes.
    expect(levels[1]!.demand.smoothed / smoothed).toBeCloseTo(0.5, 1)
  })

  it('whatever the demands, each limit is within its bounds and the sum is that of the seats', () => {
    const demands = fc.array(fc.tuple(fc.nat(600), fc.nat(600), fc.nat(60)), { maxLength: 6 })
    fc.assert(
      fc.property(demands, (periods) => {
        const { levels, seats, period } = four()
        for (const [high, middle, low] of periods) {
          const limits = period({ high, middle, low })
          expect(Math.abs(sum(limits) - seats)).toBeLessThanOrEqual(levels.length)
          for (const { lowest, highest, current } of levels) {
            expect(current).toBeGreaterThanOrEqual(lowest)
            expect(current).toBeLessThanOrEqual(highest)
          }
        }
      }),
      { numRuns: 200 },
    )
  })
})

describe('the demand', () => {
  it('is averaged over time', () => {
    const integrator = new SeatIntegrator(0)
    integrator.set(3, 1000)
    integrator.set(5, 3000)
    const { average, deviation, ...more } = integrator.reset(4000)
    expect(more).toEqual({ seconds: 4, min: 0, max: 5 })
    expect(average).toBeCloseTo((0 + 3 + 3 + 5) / 4)
    expect(deviation).toBeCloseTo(Math.sqrt((0 + 9 + 9 + 25) / 4 - (11 / 4) ** 2))
    expect(integrator.reset(4000)).toMatchObject({ seconds: 0, average: NaN, min: 5, max: 5 })
  })
})

describe('how long rejected clients should wait', () => {
  it('doubles while many are rejected and shrinks by a second at a time', () => {
    const dropped = new DroppedRequests()
    const startMs = Date.parse('2025-01-01T00:00:00Z')
    const steps: readonly [atSecond: number, count: number, retryAfter: number][] = [
      [0, 5, 1],
      [1, 11, 2],
      [2, 1, 2],
      [3, 11, 4],
      [4, 1, 4],
      [7, 1, 8],
      [11, 1, 8],
      [15, 1, 7],
      [17, 1, 6],
      [21, 14, 5],
      [22, 1, 10],
    ]
    const seen = steps.map(([second, count]) => {
      for (let one = 0; one < count; one += 1) dropped.add(startMs + second * 1000)
      return dropped.retryAfter
    })
    expect(seen).toEqual(steps.map(([, , retryAfter]) => retryAfter))
  })

  it('is half a minute at most', () => {
    const dropped = new DroppedRequests()
    for (let second = 0; second < 200; second += 1) {
      for (let one = 0; one < 1000; one += 1) dropped.add(second * 1000)
    }
    expect(dropped.retryAfter).toBe(32)
  })
})

describe('the queues of a flow', () => {
  it('are different ones, and the same for the same flow', () => {
    const hash = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
    fc.assert(
      fc.property(
        hash,
        fc.integer({ min: 1, max: 128 }),
        fc.integer({ min: 1, max: 8 }),
        (of, deck, size) => {
          const hand = dealHand(of, deck, size)
          expect(new Set(hand).size).toBe(Math.min(deck, size))
          expect(hand.every((card) => card >= 0 && card < deck)).toBe(true)
          expect(dealHand(of, deck, size)).toEqual(hand)
        },
      ),
    )
    expect(flowHash('a', 'b')).toBe(flowHash('a', 'b'))
    expect(flowHash('a', 'b')).not.toBe(flowHash('ab', ''))
  })

  it('are spread evenly over all queues', () => {
    const counts = Array.from({ length: 32 }, () => 0)
    for (let user = 0; user < 4000; user += 1) {
      for (const card of dealHand(flowHash('schema', `user ${user}`), 32, 8)) {
        counts[card] = (counts[card] as number) + 1
      }
    }
    // A thousand each, within six standard deviations.
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(180)
  })

  it('of hands as upstream deals them', () => {
    // 5 of 7, then 2 of the 6 others, then 3 of 5: counted among the cards that are left.
    const hash = 5n + 7n * (2n + 6n * 3n)
    expect(dealHand(hash, 7, 3)).toEqual([5, 2, 4])
  })
})
