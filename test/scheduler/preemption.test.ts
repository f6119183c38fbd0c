import { expect, test } from 'vitest'
import { podInfoOf } from '../../components/scheduler/pod-info.ts'
import type { PodWishes } from './build.ts'
import { cluster, node, pod } from './build.ts'

function evictionFor(where: ReturnType<typeof cluster>, wishes: PodWishes) {
  return where.postFilter(podInfoOf(pod(wishes)))
}

test('as few and as unimportant pods as possible are chosen', async () => {
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
  const result = await evictionFor(where, { cpu: '2', priority: 100 })
  expect(result.ok && result.eviction.nodeName).toBe('a')
  expect(result.ok && result.eviction.victims.map(({ key }) => key)).toEqual(['default/a1'])
})

test('pods of equal priority are never victims', async () => {
  const where = cluster(node('a'))
  where.snapshot.setPod(pod({ nodeName: 'a', cpu: '4', priority: 7 }))
  expect(await evictionFor(where, { cpu: '2', priority: 7 })).toEqual({
    ok: false,
    message: 'preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
    keepsNomination: false,
  })
})

test('removing pods that would not make enough room is not done', async () => {
  const where = cluster(node('a'))
  where.snapshot.setPod(pod({ nodeName: 'a', cpu: '1' }))
  expect(await evictionFor(where, { cpu: '5', priority: 7 })).toMatchObject({
    message: 'preemption: 0/1 nodes are available: 1 Insufficient cpu.',
  })
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
