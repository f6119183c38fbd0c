import { expect, test } from 'vitest'
import { countedProfile } from '../../components/scheduler/counted-profile.ts'
import { NodeFinder } from '../../components/scheduler/find-node.ts'
import { podInfoOf } from '../../components/scheduler/pod-info.ts'
import { createProfile, defaultProfile } from '../../components/scheduler/profile.ts'
import { Snapshot } from '../../components/scheduler/snapshot.ts'
import type { PodWishes } from './build.ts'
import { handleFor, node, pod } from './build.ts'

/** How often each plugin is asked while these pods look for a node among two that are free and one that is closed. */
function countsFor(...wishes: PodWishes[]) {
  const snapshot = new Snapshot()
  for (const name of ['a', 'b']) snapshot.setNode(node(name))
  snapshot.setNode(node('closed', { taints: [{ key: 'k', effect: 'NoSchedule' }] }))
  const plain = createProfile(defaultProfile('default-scheduler'), handleFor(snapshot))
  const counts = new Map<string, number>()
  const profile = countedProfile(plain, (plugin, point) => {
    const key = `${plugin} ${point}`
    counts.set(key, 0)
    return { inc: (by = 1) => void counts.set(key, (counts.get(key) ?? 0) + by) }
  })
  const finder = new NodeFinder(snapshot)
  const decisions = wishes.map((one) => finder.find(profile, podInfoOf(pod(one))))
  return {
    decisions,
    of: (plugin: string) =>
      Object.fromEntries(
        [...counts]
          .filter(([key]) => key.startsWith(`${plugin} `))
          .map(([key, count]) => [key.slice(plugin.length + 1), count]),
      ),
  }
}

test('a counted profile decides like the plain one, and counts each node that a plugin is asked about', () => {
  const { decisions, of } = countsFor({ cpu: '1' }, { cpu: '1' })
  expect(decisions).toMatchObject([
    { ok: true, node: { name: 'a' } },
    { ok: true, node: { name: 'a' } },
  ])
  expect(of('TaintToleration')).toMatchObject({ PreFilter: 2, Filter: 6 })
  // No other plugin is asked about the node that a taint closes.
  expect(of('NodeResourcesFit')).toEqual({ PreFilter: 2, Filter: 4, PreScore: 2, Score: 4 })
})

test('a plugin that has nothing to say about a pod is not counted, and shown all the same', () => {
  expect(countsFor({}).of('NodePorts')).toEqual({ PreFilter: 0, Filter: 0 })
  expect(countsFor({}, { hostPort: 80 }).of('NodePorts')).toEqual({ PreFilter: 1, Filter: 2 })
})

test('a node that is the only one left is not scored', () => {
  const { of } = countsFor({ nodeSelector: { none: 'such' } }, { nodeName: 'a' })
  expect(of('NodeResourcesFit')).toMatchObject({ PreScore: 0, Score: 0 })
})
