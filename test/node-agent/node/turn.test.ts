/** Turns: nodes of one process that do the same work once in a period do it evenly spread over it. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Lease } from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { createGate } from '../../../components/component-base/gate.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { runHeartbeat } from '../../../components/node-agent/node/heartbeat.ts'
import { reportDueIn, reportIntervalMs } from '../../../components/node-agent/node/node-status.ts'
import { turnOf, untilNextTurn, untilTurn } from '../../../components/node-agent/node/turn.ts'
import { FakeCluster } from '../../support/fake-client.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

const periodMs = 10_000
const stop = new AbortController()
afterAll(() => stop.abort(new Error('the test is over')))

const joins = fc.array(fc.integer({ min: 0, max: 60_000 }), { minLength: 2, maxLength: 200 })

test('whenever nodes join, each tenth of a period has a tenth of their turns', () => {
  fc.assert(
    fc.property(joins, fc.integer({ min: 0, max: 1_000_000 }), (joinedAt, startMs) => {
      const tenths = Array.from({ length: 10 }, () => 0)
      for (const [index, afterMs] of joinedAt.entries()) {
        const turn = { share: index / joinedAt.length, startMs }
        const waitMs = untilTurn(turn, periodMs, startMs + afterMs)
        expect(waitMs).toBeGreaterThan(0)
        expect(waitMs).toBeLessThanOrEqual(periodMs)
        // Turns fall on fractions of a millisecond, and sums of fractions a hair beside.
        const place = ((afterMs + waitMs + 1e-6) % periodMs) / (periodMs / 10)
        tenths[Math.floor(place)] = (tenths[Math.floor(place)] ?? 0) + 1
      }
      for (const count of tenths) {
        expect(Math.abs(count - joinedAt.length / 10)).toBeLessThanOrEqual(1)
      }
    }),
  )
})

test('nodes share forty turns evenly, and keep them', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5000 }), fc.nat({ max: periodMs }), (count, lateMs) => {
      const nodes = new Map<number, number>()
      for (let index = 0; index < count; index += 1) {
        const turn = turnOf(index, count, 0)
        nodes.set(turn.share, (nodes.get(turn.share) ?? 0) + 1)
        const startedMs = turn.share * periodMs + lateMs
        const after = lateMs < periodMs / 2 ? 1 : 2
        const nextMs = startedMs + untilNextTurn(turn, periodMs, startedMs)
        expect(nextMs).toBeCloseTo((turn.share + after) * periodMs, 3)
      }
      expect(nodes.size).toBe(Math.min(count, 40))
      const counts = [...nodes.values()]
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
    }),
  )
})

test('a status without news is repeated at the node’s turn, once in five minutes', () => {
  const turn = { share: 0.25, startMs: 0 }
  const due = (lastReportMs: number) =>
    lastReportMs + reportDueIn({ isNews: false, lastReportMs, nowMs: lastReportMs, turn })
  expect(due(1000)).toBe(reportIntervalMs / 4)
  expect(due(reportIntervalMs / 4)).toBe(reportIntervalMs * 1.25)
  expect(due(reportIntervalMs / 4 + 30)).toBe(reportIntervalMs * 1.25)
  expect(reportDueIn({ isNews: true, lastReportMs: 0, nowMs: 1, turn })).toBe(0)
})

test('a hundred nodes that join in a burst renew their leases ten in a second from then on', async () => {
  const clock = new FakeClock()
  const server = new FakeCluster(clock)
  const resources = resourcesOf(server.dialect)
  const startMs = clock.now()
  for (let index = 0; index < 100; index += 1) {
    const turn = turnOf(index, 100, startMs)
    // Bursts of twenty, as the joins of a crowd are.
    if (index % 20 === 0) await clock.step(137)
    const running = runHeartbeat(
      {
        leases: server.client().resource<Lease>(resources.leases),
        namespace: 'kube-node-lease',
        nodeName: `n${index}`,
        owner: () => undefined,
        clock,
        log: silentLog,
        turn,
        gates: { answered: createGate(100), unanswered: createGate(100) },
      },
      stop.signal,
    )
    running.catch(() => {})
  }
  await clock.step(startMs + 2 * periodMs - clock.now())
  for (let second = 0; second < 30; second += 1) {
    const before = server.writes.length
    await clock.step(1000)
    await settle()
    const renewals = server.writes.length - before
    expect(renewals).toBeGreaterThanOrEqual(9)
    expect(renewals).toBeLessThanOrEqual(11)
  }
})
