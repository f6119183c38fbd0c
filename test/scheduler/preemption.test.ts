import { expect, test } from 'vitest'
import { fitMessage } from '../../components/scheduler/fit-error.ts'
import { podInfoOf } from '../../components/scheduler/pod-info.ts'
import { findEviction } from '../../components/scheduler/preemption.ts'
import type { PodWishes } from './build.ts'
import { cluster, node, pod } from './build.ts'

function evictionFor(where: ReturnType<typeof cluster>, wishes: PodWishes) {
  const info = podInfoOf(pod(wishes))
  const decision = where.findNode(info)
  if (decision.ok) throw new Error('it fits')
  const { snapshot, plugins } = where
  const { diagnosis } = decision
  return {
    ...findEviction({ pod: info, snapshot, filters: plugins.filters, diagnosis }),
    diagnosis,
  }
}

test('as few and as unimportant pods as possible are chosen', () => {
  const where = cluster(node('a'), node('b'))
  const running: [string, string, string, number][] = [
    ['a1', 'a', '2', 10],
    ['a2', 'a', '2', 20],
    ['b1', 'b', '1', 5],
    ['b2', 'b', '3', 30],
  ]
  for (const [name, nodeName, cpu, priority] of running) {
    where.snapshot.setPod(pod({ name, nodeName, cpu, priority }))
  }
  const result = evictionFor(where, { cpu: '2', priority: 100 })
  expect(result.ok && result.eviction.node.name).toBe('a')
  expect(result.ok && result.eviction.victims.map(({ key }) => key)).toEqual(['default/a1'])
})

test('pods of equal priority are never victims', () => {
  const where = cluster(node('a'))
  where.snapshot.setPod(pod({ nodeName: 'a', cpu: '4', priority: 7 }))
  const result = evictionFor(where, { cpu: '2', priority: 7 })
  expect(result.ok).toBe(false)
  expect(fitMessage(result.diagnosis, result.ok ? undefined : result.why)).toBe(
    '0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: ' +
      '1 No preemption victims found for incoming pod.',
  )
})

test('removing pods that would not make enough room is not done', () => {
  const where = cluster(node('a'))
  where.snapshot.setPod(pod({ nodeName: 'a', cpu: '1' }))
  const result = evictionFor(where, { cpu: '5', priority: 7 })
  expect(result.ok || [...(result.why as Map<string, number>)]).toEqual([['Insufficient cpu', 1]])
})

test('the room of a nominated pod is kept from pods of lower priority only', () => {
  const where = cluster(node('a'))
  where.snapshot.nominate(podInfoOf(pod({ name: 'vip', cpu: '3', priority: 50 })), 'a')
  expect(where.findNode(podInfoOf(pod({ cpu: '2', priority: 1 }))).ok).toBe(false)
  expect(where.findNode(podInfoOf(pod({ cpu: '2', priority: 99 }))).ok).toBe(true)
  expect(where.findNode(podInfoOf(pod({ name: 'vip', cpu: '3', priority: 50 }))).ok).toBe(true)
  where.snapshot.withdraw('default/vip')
  expect(where.findNode(podInfoOf(pod({ cpu: '2', priority: 1 }))).ok).toBe(true)
})
