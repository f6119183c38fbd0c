/** Counts by group and rules of placed pods: kept pod by pod, they are what a plain recount says. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { matchesLabels } from '../../components/machinery/selectors/label-selector.ts'
import { PodCounts } from '../../components/scheduler/pod-counts.ts'
import type { PodGroup } from '../../components/scheduler/pod-counts.ts'
import { podInfoOf } from '../../components/scheduler/pod-info.ts'
import { Snapshot, withPods } from '../../components/scheduler/snapshot.ts'
import { node, pod } from './build.ts'

function groupOf(app: string): PodGroup {
  const selector = [{ key: 'app', operator: '=' as const, values: [app] }]
  return {
    key: app,
    selector,
    isByNamespaceLabels: false,
    includes: (info) => matchesLabels(selector, info.pod.metadata.labels),
  }
}

const names = ['n0', 'n1', 'n2']
const step = fc.record({
  key: fc.integer({ min: 0, max: 6 }),
  app: fc.constantFrom('web', 'db'),
  on: fc.constantFrom(...names),
  isRemoval: fc.boolean(),
  avoids: fc.boolean(),
})

test('whatever comes and goes, and on a node as it would be', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const snapshot = new Snapshot()
      for (const name of names) snapshot.setNode(node(name))
      const model = new Map<string, { app: string; on: string; avoids: boolean }>()
      // Counted from the start on, so that each step has to be followed.
      snapshot.podsOf(groupOf('web'))
      for (const { key, app, on, isRemoval, avoids } of steps) {
        const name = `p${key}`
        if (isRemoval) {
          snapshot.removePod(`default/${name}`)
          model.delete(name)
          continue
        }
        const labelSelector = { matchLabels: { app: 'db' } }
        const rules = [{ topologyKey: 'zone', labelSelector }]
        const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: rules }
        const made = pod({
          name,
          nodeName: on,
          ...(avoids ? { affinity: { podAntiAffinity } } : {}),
        })
        made.metadata.labels = { app }
        snapshot.setPod(made)
        model.set(name, { app, on, avoids })
      }
      const count = (on: string, wanted: (each: { app: string; avoids: boolean }) => boolean) =>
        [...model.values()].filter((each) => each.on === on && wanted(each)).length
      const trial = withPods(snapshot.node('n0') ?? expect.fail('n0 is there'), {
        added: [
          podInfoOf({
            ...pod({ name: 'extra' }),
            metadata: { name: 'extra', namespace: 'default', labels: { app: 'web' } },
          }),
        ],
      })
      const view = snapshot.withNode(trial)
      for (const each of snapshot.nodes) {
        const isTrial = each.name === 'n0'
        const web = count(each.name, ({ app }) => app === 'web')
        expect(snapshot.podsOf(groupOf('web'))(each)).toBe(web)
        expect(snapshot.podsOf(groupOf('db'))(each)).toBe(
          count(each.name, ({ app }) => app === 'db'),
        )
        expect(view.podsOf(groupOf('web'))(each)).toBe(web + (isTrial ? 1 : 0))
        for (const terms of [snapshot, view]) {
          const [term] = terms.termsOf('requiredAntiAffinity')
          expect(term?.byNode.get(each.name) ?? 0).toBe(count(each.name, ({ avoids }) => avoids))
        }
      }
    }),
  )
})

test('beyond its limit, the counts that were not asked for longest are counted anew', () => {
  const counts = new PodCounts(2)
  let recounts = 0
  const of = (app: string) =>
    counts.of(groupOf(app), () => {
      recounts += 1
      return []
    })
  for (const app of ['a', 'b', 'a', 'c']) of(app)
  expect(recounts).toBe(3)
  of('a')
  expect(recounts).toBe(3)
  of('b')
  expect(recounts).toBe(4)
})
