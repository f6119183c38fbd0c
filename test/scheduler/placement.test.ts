/** Model tests: whatever comes and goes, no decision breaks a rule that a plain recount can check. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { podInfoOf } from '../../components/scheduler/pod-info.ts'
import { cluster, node, pod } from './build.ts'

const taint = { key: 'dedicated', value: 'db', effect: 'NoSchedule' }
const toleration = { key: 'dedicated', operator: 'Equal', value: 'db', effect: 'NoSchedule' }

const nodeWishes = fc.record({
  cpu: fc.integer({ min: 1, max: 4 }),
  pods: fc.integer({ min: 0, max: 5 }),
  isTainted: fc.boolean(),
  zone: fc.constantFrom('a', 'b'),
})
const podWishes = fc.record({
  milliCpu: fc.integer({ min: 0, max: 1500 }),
  tolerates: fc.boolean(),
  zone: fc.constantFrom(undefined, 'a', 'b'),
  hostPort: fc.constantFrom(undefined, undefined, 80, 81),
  /** Which of the pods placed so far ends before this one comes. */
  ends: fc.option(fc.nat(10), { nil: undefined }),
})

test('allocatable, taints, selectors and host ports hold for every placement', () => {
  fc.assert(
    fc.property(
      fc.array(nodeWishes, { minLength: 1, maxLength: 6 }),
      fc.array(podWishes, { maxLength: 40 }),
      (nodes, pods) => {
        const where = cluster(
          ...nodes.map(({ cpu, pods: count, isTainted, zone }, index) =>
            node(`n${index}`, {
              cpu: String(cpu),
              pods: String(count),
              labels: { zone },
              ...(isTainted ? { taints: [taint] } : {}),
            }),
          ),
        )
        type Placed = (typeof pods)[number] & { key: string; on: number }
        const placed: Placed[] = []
        for (const [index, wish] of pods.entries()) {
          const ended = wish.ends === undefined ? undefined : placed[wish.ends]
          if (ended !== undefined) {
            where.snapshot.removePod(ended.key)
            placed.splice(placed.indexOf(ended), 1)
          }
          const info = podInfoOf(
            pod({
              name: `p${index}`,
              cpu: `${wish.milliCpu}m`,
              ...(wish.tolerates ? { tolerations: [toleration] } : {}),
              ...(wish.zone === undefined ? {} : { nodeSelector: { zone: wish.zone } }),
              ...(wish.hostPort === undefined ? {} : { hostPort: wish.hostPort }),
            }),
          )
          const allowed = nodes.map((each, on) => {
            const there = placed.filter((other) => other.on === on)
            return (
              there.length < each.pods &&
              (wish.milliCpu === 0 ||
                there.reduce((sum, other) => sum + other.milliCpu, wish.milliCpu) <=
                  each.cpu * 1000) &&
              (!each.isTainted || wish.tolerates) &&
              (wish.zone === undefined || wish.zone === each.zone) &&
              (wish.hostPort === undefined ||
                there.every((other) => other.hostPort !== wish.hostPort))
            )
          })
          const decision = where.findNode(info)
          expect(decision.ok).toBe(allowed.includes(true))
          if (!decision.ok) continue
          const on = Number(decision.node.name.slice(1))
          expect(allowed[on]).toBe(true)
          where.snapshot.assume(info, decision.node.name)
          placed.push({ ...wish, key: info.key, on })
        }
      },
    ),
    { numRuns: 300 },
  )
})

test('1,000 decisions over 500 nodes take well under a second', () => {
  const where = cluster(...Array.from({ length: 500 }, (_, index) => node(`n${index}`)))
  const perNode = new Map<string, number>()
  const before = process.cpuUsage()
  for (let index = 0; index < 1000; index++) {
    const info = podInfoOf(pod({ cpu: '100m', memory: '64Mi' }))
    const decision = where.findNode(info)
    if (!decision.ok) throw new Error('every pod fits')
    where.snapshot.assume(info, decision.node.name)
    perNode.set(decision.node.name, (perNode.get(decision.node.name) ?? 0) + 1)
  }
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(700)
  expect(Math.max(...perNode.values())).toBe(2)
})
