import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Pod } from '../../../components/api/generated/types.ts'
import { isReady } from '../../../components/controller-manager/pod-state.ts'
import { startStateful } from '../../support/stateful-story.ts'
import type { StatefulStory } from '../../support/stateful-story.ts'
import { runPod, runPods, statefulSet, template } from '../../support/workloads.ts'

type Act =
  | { readonly kind: 'template'; readonly version: number }
  | { readonly kind: 'scale'; readonly replicas: number }
  | { readonly kind: 'partition'; readonly partition: number }
  | { readonly kind: 'ready'; readonly limit: number }
  | { readonly kind: 'lose' | 'fail' | 'unready' | 'hold' | 'wait'; readonly index: number }

const index = fc.integer({ min: 0, max: 3 })
const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('template' as const), version: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ kind: fc.constant('scale' as const), replicas: fc.integer({ min: 0, max: 4 }) }),
    fc.record({
      kind: fc.constant('partition' as const),
      partition: fc.integer({ min: 0, max: 4 }),
    }),
    fc.record({ kind: fc.constant('ready' as const), limit: fc.integer({ min: 1, max: 4 }) }),
    fc.record({
      kind: fc.constantFrom(
        'lose' as const,
        'fail' as const,
        'unready' as const,
        'hold' as const,
        'wait' as const,
      ),
      index,
    }),
  ),
  { minLength: 5, maxLength: 20 },
)

const imageOf = (pod: Pod | undefined): string => pod?.spec?.containers[0]?.image ?? ''

/** Notes every act of the controller that breaks a promise. */
function watchPromises(story: StatefulStory, isOrdered: boolean): string[] {
  const broken: string[] = []
  const { cluster } = story
  cluster.react('create', 'pods', ({ key, object }) => {
    const ordinal = Number(key.split('-').at(-1))
    const pods = story.pods()
    if (pods.some(({ metadata }) => `default/${metadata.name}` === key))
      broken.push(`${key} a second time`)
    const before = pods.slice(0, ordinal)
    if (isOrdered && (before.length < ordinal || !before.every(isReady)))
      broken.push(`${key} before those in front of it are ready`)
    const { partition = 0 } = story.set().spec?.updateStrategy?.rollingUpdate ?? {}
    const wanted = imageOf({ metadata: {}, spec: story.set().spec?.template.spec } as Pod)
    if (ordinal >= partition && imageOf(object as Pod) !== wanted)
      broken.push(`${key} with ${imageOf(object as Pod)}, wanted ${wanted}`)
    return undefined
  })
  cluster.react('delete', 'pods', ({ key }) => {
    const ordinal = Number(key.split('-').at(-1))
    const pod = story.pods().find(({ metadata }) => `default/${metadata.name}` === key)
    const { replicas = 0, updateStrategy } = story.set().spec ?? {}
    const { partition = 0 } = updateStrategy?.rollingUpdate ?? {}
    const isOver = pod?.status?.phase === 'Failed'
    if (pod !== undefined && ordinal < replicas && ordinal < partition && !isOver)
      broken.push(`${key} deleted below partition ${partition}`)
    return undefined
  })
  return broken
}

describe('a StatefulSet', () => {
  it('keeps identities single, order and partition, and ends as it was asked to be', async () => {
    await fc.assert(
      fc.asyncProperty(fc.record({ isOrdered: fc.boolean(), acts }), async (given) => {
        const { isOrdered, acts: script } = given
        const podManagementPolicy = isOrdered ? 'OrderedReady' : 'Parallel'
        const story = await startStateful(statefulSet('web', { podManagementPolicy }))
        const { cluster, harness } = story
        const { pods, statefulSets } = harness.resources
        const broken = watchPromises(story, isOrdered)
        const edit = (
          change: (spec: NonNullable<ReturnType<StatefulStory['set']>['spec']>) => void,
        ) => {
          cluster.change(statefulSets, 'default/web', (set) => change(set['spec']))
        }
        const touch = (act: Extract<Act, { index: number }>): void => {
          const pod = story.pods()[act.index]
          if (pod === undefined || act.kind === 'wait') return
          const key = `default/${pod.metadata.name}`
          if (act.kind === 'lose') cluster.remove(pods, key)
          else if (act.kind === 'unready') runPod(cluster, pod, false)
          else if (act.kind === 'fail')
            cluster.change(pods, key, (object) => {
              object['status'] = { phase: 'Failed' }
            })
          else
            cluster.change(pods, key, ({ metadata }) => {
              metadata.finalizers = ['hold']
            })
        }
        for (const act of script) {
          if (act.kind === 'template')
            edit((spec) => (spec.template = template('web', `web:${act.version}`)))
          else if (act.kind === 'scale') edit((spec) => (spec.replicas = act.replicas))
          else if (act.kind === 'partition')
            edit((spec) => {
              spec.updateStrategy = {
                type: 'RollingUpdate',
                rollingUpdate: { partition: act.partition },
              }
            })
          else if (act.kind === 'ready') runPods(cluster, { limit: act.limit })
          else touch(act)
          await harness.step(50)
        }
        edit((spec) => {
          spec.updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 0 } }
        })
        for (let round = 0; round < 40; round += 1) {
          for (const pod of story.pods()) {
            if (pod.metadata.finalizers === undefined && isReady(pod)) continue
            cluster.change(pods, `default/${pod.metadata.name}`, ({ metadata }) => {
              metadata.finalizers = []
            })
            const left = story.pods().find(({ metadata }) => metadata.name === pod.metadata.name)
            if (left?.status?.phase !== 'Failed' && left) runPod(cluster, left)
          }
          await harness.step(1000)
        }
        await harness.stop()
        expect(broken).toEqual([])
        const { replicas = 0, template: wanted } = story.set().spec ?? {}
        const image = wanted?.spec?.containers[0]?.image
        expect(story.shown()).toEqual(
          Array.from({ length: replicas }, (_, ordinal) => `web-${ordinal} ${image} ready`),
        )
      }),
      { numRuns: 40 },
    )
  })
})
