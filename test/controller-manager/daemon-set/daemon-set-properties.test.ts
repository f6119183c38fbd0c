import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Pod } from '../../../components/api/generated/types.ts'
import { isReady } from '../../../components/controller-manager/pod-state.ts'
import { targetNode } from '../../../components/controller-manager/daemon-set/daemon-pods.ts'
import { startDaemon } from '../../support/daemon-story.ts'
import { daemonSet, runPods } from '../../support/workloads.ts'

type Act =
  | { readonly kind: 'template'; readonly version: number }
  | { readonly kind: 'ready'; readonly limit: number }
  | { readonly kind: 'lose' }
  | { readonly kind: 'taint'; readonly node: number; readonly isOn: boolean }
  | { readonly kind: 'fail' }
  | { readonly kind: 'wait' }

const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('template' as const), version: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ kind: fc.constant('ready' as const), limit: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ kind: fc.constant('lose' as const) }),
    fc.record({ kind: fc.constant('fail' as const) }),
    fc.record({
      kind: fc.constant('taint' as const),
      node: fc.integer({ min: 1, max: 3 }),
      isOn: fc.boolean(),
    }),
    fc.record({ kind: fc.constant('wait' as const) }),
  ),
  { minLength: 4, maxLength: 15 },
)

describe('a DaemonSet', () => {
  it('never has more pods on a node than one and its surge, and ends with one available on each', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ surges: fc.boolean(), acts }),
        async ({ surges, acts: script }) => {
          const rollingUpdate = surges
            ? { maxSurge: 1, maxUnavailable: 0 }
            : { maxSurge: 0, maxUnavailable: 1 }
          const updateStrategy = { type: 'RollingUpdate', rollingUpdate }
          const story = await startDaemon(daemonSet('log', { updateStrategy }))
          const { cluster, harness } = story
          const broken: string[] = []
          cluster.react('create', 'pods', ({ object }) => {
            const node = targetNode(object as Pod)
            const there = story.pods().filter((pod) => targetNode(pod) === node)
            if (there.length > (surges ? 1 : 0)) broken.push(`pod ${there.length + 1} on ${node}`)
            return undefined
          })
          const changeFirst = (phase: string | undefined): void => {
            const [pod] = story.pods()
            if (pod === undefined) return
            const key = `default/${pod.metadata.name}`
            if (phase === undefined) cluster.remove(harness.resources.pods, key)
            else
              cluster.change(harness.resources.pods, key, (object) => {
                object['status'] = { phase }
              })
          }
          for (const act of script) {
            if (act.kind === 'template') await story.image(act.version)
            else if (act.kind === 'ready') {
              runPods(cluster, { limit: act.limit })
              await harness.step(10)
            } else if (act.kind === 'taint')
              await story.taint(
                `n${act.node}`,
                ...(act.isOn ? [{ key: 'x', effect: 'NoExecute' }] : []),
              )
            else if (act.kind === 'wait') await harness.step(500)
            else {
              changeFirst(act.kind === 'fail' ? 'Failed' : undefined)
              await harness.step(10)
            }
          }
          for (const node of ['n1', 'n2', 'n3']) await story.taint(node)
          await harness.step(1_000_000)
          await story.stabilize()
          await harness.stop()
          expect(broken).toEqual([])
          const image = story.set().spec?.template.spec?.containers[0]?.image
          expect(story.shown()).toEqual(['n1', 'n2', 'n3'].map((node) => `${node} ${image} ready`))
          expect(story.pods().every(isReady)).toBe(true)
        },
      ),
      { numRuns: 25 },
    )
  })
})
