import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { TopologySpreadConstraint } from '../../../components/api/generated/types.ts'
import { podInfoOf } from '../../../components/scheduler/pod-info.ts'
import type { PodWishes } from '../build.ts'
import { cluster, node, pod } from '../build.ts'

const zone = 'topology.kubernetes.io/zone'

function spreading(more: Partial<TopologySpreadConstraint> = {}): PodWishes {
  return {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: zone,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'web' } },
        ...more,
      },
    ],
  }
}

function web(wishes: PodWishes = {}) {
  const made = pod(wishes)
  made.metadata.labels = { app: 'web' }
  return made
}

const inZone = (name: string, value: string) => node(name, { labels: { [zone]: value } })

describe('a hard constraint', () => {
  test('never lets one domain have more than its share', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 3 }),
        (homes, maxSkew) => {
          const where = cluster(...homes.map((value, index) => inZone(`n${index}`, value)))
          const counts = new Map<string, number>(homes.map((value) => [value, 0]))
          for (let index = 0; index < 10; index++) {
            const info = podInfoOf(web({ ...spreading({ maxSkew }), cpu: '1' }))
            const decision = where.findNode(info)
            if (!decision.ok) break
            where.snapshot.assume(info, decision.node.name)
            const home = decision.node.labels[zone] ?? ''
            counts.set(home, (counts.get(home) ?? 0) + 1)
            expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(
              maxSkew,
            )
          }
        },
      ),
    )
  })

  test('rejects a full domain and nodes without the label, in upstream words', () => {
    const where = cluster(inZone('a', 'a'), inZone('b', 'b'), node('bare'))
    where.snapshot.setPod(web({ nodeName: 'a' }))
    const small = where.findNode(podInfoOf(web(spreading())))
    expect(small.ok && small.node.name).toBe('b')
    where.snapshot.setPod(web({ nodeName: 'a' }))
    where.snapshot.setPod(web({ nodeName: 'b', cpu: '4' }))
    const stuck = where.findNode(podInfoOf(web({ ...spreading(), cpu: '1' })))
    expect(stuck.ok ? {} : Object.fromEntries(stuck.diagnosis.reasons)).toEqual({
      'Insufficient cpu': 1,
      "node(s) didn't match pod topology spread constraints": 1,
      "node(s) didn't match pod topology spread constraints (missing required label)": 1,
    })
  })

  test('by a label whose name every object inherits needs that label', () => {
    const topologyKey = 'constructor'
    const where = cluster(node('bare'), node('marked', { labels: { [topologyKey]: 'x' } }))
    const found = where.findNode(podInfoOf(web(spreading({ topologyKey }))))
    expect(found.ok && found.node.name).toBe('marked')
    expect(where.findNode(podInfoOf(pod({ nodeSelector: { toString: 'x' } }))).ok).toBe(false)
  })

  test('with too few domains holds every domain to the skew alone', () => {
    const where = cluster(inZone('a', 'a'))
    const wish = () => podInfoOf(web(spreading({ minDomains: 2 })))
    const first = wish()
    expect(where.findNode(first).ok).toBe(true)
    where.snapshot.assume(first, 'a')
    expect(where.findNode(wish()).ok).toBe(false)
  })
})

test('a soft constraint prefers the emptier domain but does not insist', () => {
  const where = cluster(inZone('a1', 'a'), inZone('a2', 'a'), inZone('b1', 'b'))
  where.snapshot.setPod(web({ nodeName: 'a1' }))
  const soft = spreading({ whenUnsatisfiable: 'ScheduleAnyway' })
  const chosen = where.findNode(podInfoOf(web(soft)))
  expect(chosen.ok && chosen.node.name).toBe('b1')
  const forced = where.findNode(podInfoOf(web({ ...soft, nodeSelector: { [zone]: 'a' } })))
  expect(forced.ok).toBe(true)
})
