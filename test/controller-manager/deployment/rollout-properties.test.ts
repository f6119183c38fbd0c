import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Pod } from '../../../components/api/generated/types.ts'
import {
  maxSurge,
  maxUnavailable,
} from '../../../components/controller-manager/deployment/replica-math.ts'
import { isReady } from '../../../components/controller-manager/pod-state.ts'
import { startRollout } from '../../support/rollout-story.ts'
import { deployment, runPods, template } from '../../support/workloads.ts'

type Act =
  | { readonly kind: 'template'; readonly version: number }
  | { readonly kind: 'ready'; readonly limit: number }
  | { readonly kind: 'lose' }
  | { readonly kind: 'wait' }

const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('template' as const), version: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ kind: fc.constant('ready' as const), limit: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ kind: fc.constant('lose' as const) }),
    fc.record({ kind: fc.constant('wait' as const) }),
  ),
  { minLength: 5, maxLength: 25 },
)
const share = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom('0%', '25%', '50%', '100%'))

describe('a rolling update', () => {
  it('never has more than replicas + maxSurge pods, and never takes one that is needed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ replicas: fc.integer({ min: 1, max: 6 }), surge: share, missing: share, acts }),
        async ({ replicas, surge, missing, acts: script }) => {
          const wanted = deployment('web', {
            replicas,
            strategy: {
              type: 'RollingUpdate',
              rollingUpdate: { maxSurge: surge, maxUnavailable: missing },
            },
          })
          const most = replicas + maxSurge(wanted)
          const least = replicas - maxUnavailable(wanted)
          const story = await startRollout(wanted)
          const { cluster } = story.harness
          const broken: string[] = []
          cluster.react('create', 'pods', () => {
            const count = story.pods().length + 1
            if (count > most) broken.push(`pod ${count} of at most ${most}`)
            return undefined
          })
          cluster.react('delete', 'pods', ({ key }) => {
            const ready = story.pods().filter(isReady)
            const isTaken = ready.some(({ metadata: { name } }) => key === `default/${name}`)
            const left = ready.length - 1
            if (isTaken && left < least) broken.push(`${left} left of at least ${least}`)
            return undefined
          })
          for (const act of script) {
            if (act.kind === 'template')
              await story.user(`version ${act.version}`, ({ spec }) => {
                if (spec) spec.template = template('web', `web:${act.version}`)
              })
            else if (act.kind === 'ready') {
              runPods(cluster, { limit: act.limit })
              // What became ready this very moment nobody can know of; to lose such a pod is no fault.
              await story.wait(10)
            } else if (act.kind === 'lose') {
              await story.wait(100)
              const [pod] = cluster.all<Pod>(story.harness.resources.pods)
              if (pod) cluster.remove(story.harness.resources.pods, `default/${pod.metadata.name}`)
              await story.wait(100)
            } else await story.wait(50)
          }
          await story.wait(1000)
          await story.stabilize()
          await story.harness.stop()
          expect(broken).toEqual([])
          expect(story.pods().filter(isReady)).toHaveLength(replicas)
          const active = story.replicaSets().filter(({ spec }) => (spec?.replicas ?? 0) > 0)
          expect(active).toHaveLength(1)
          expect(active[0]?.spec?.template?.spec).toEqual(story.deployment().spec?.template.spec)
        },
      ),
      { numRuns: 60 },
    )
  })
})
