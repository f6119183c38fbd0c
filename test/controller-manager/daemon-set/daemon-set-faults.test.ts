import { afterEach, describe, expect, it } from 'vitest'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { startDaemon } from '../../support/daemon-story.ts'
import type { DaemonStory } from '../../support/daemon-story.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import { daemonSetController } from '../../../components/controller-manager/daemon-set/daemon-set.ts'
import type { Pod } from '../../../components/api/generated/types.ts'
import { daemonSet } from '../../support/workloads.ts'

let story: DaemonStory
afterEach(() => story.harness.stop())

describe('daemonset-controller', () => {
  it('writes nothing when nothing changes', async () => {
    story = await startDaemon(daemonSet('log', { minReadySeconds: 5 }))
    await story.stabilize()
    await story.harness.step(10_000)
    const before = story.cluster.writes.length
    await story.harness.step(3_600_000)
    await story.user(({ metadata }) => {
      metadata.labels = { touched: 'true' }
    })
    expect(story.cluster.writes.slice(before)).toEqual([])
  })

  it.each(['TooManyRequests', 'InternalError'] as const)(
    'settles after an API server that answered %s for two minutes, with nothing made twice',
    async (reason) => {
      story = await startDaemon(daemonSet('log'), {
        before: ({ cluster }) => {
          let calls = 0
          cluster.react('*', '*', ({ verb }) => {
            calls += 1
            const isWrite = !['watch', 'list', 'get'].includes(verb)
            if (isWrite && cluster.clock.now() < startMs + 120_000 && calls % 3 !== 0)
              throw new StatusError(reason, 'try again later')
          })
          const startMs = cluster.clock.now()
        },
      })
      await story.harness.step(300_000)
      await story.stabilize()
      expect(story.shown()).toEqual(['n1 log:1 ready', 'n2 log:1 ready', 'n3 log:1 ready'])
      expect(story.revisions()).toHaveLength(1)
      await story.image(2)
      await story.stabilize()
      expect(story.shown().every((line) => line.endsWith('log:2 ready'))).toBe(true)
    },
  )

  it('never makes a pod twice while its informer lags behind', async () => {
    story = await startDaemon(daemonSet('log'), {
      before: ({ cluster }) => {
        cluster.react('watch', 'pods', () => {
          throw new StatusError('ServiceUnavailable', 'not now')
        })
      },
    })
    expect(story.pods()).toHaveLength(3)
    for (let round = 1; round <= 5; round += 1) {
      story.cluster.change(story.harness.resources.daemonSets, 'default/log', ({ metadata }) => {
        metadata.labels = { round: String(round) }
      })
      await story.harness.step(10)
    }
    expect(story.pods()).toHaveLength(3)
  })

  it('leaves what is left to the garbage collector when the set is deleted', async () => {
    story = await startDaemon(daemonSet('log'))
    const { daemonSets, pods } = story.harness.resources
    story.cluster.change(daemonSets, 'default/log', ({ metadata }) => {
      metadata.finalizers = ['foregroundDeletion']
    })
    story.cluster.remove(daemonSets, 'default/log')
    await story.harness.step(10)
    story.cluster.remove(pods, `default/${story.pods()[0]?.metadata.name}`)
    await story.harness.step(60_000)
    expect(story.pods()).toHaveLength(2)
  })

  it('fights with no other set over pods that both select', async () => {
    story = await startDaemon(daemonSet('log'), {
      before: ({ cluster, resources }) => {
        const other = daemonSet('log')
        cluster.seed(resources.daemonSets, {
          ...other,
          metadata: { ...other.metadata, name: 'twin' },
        })
      },
    })
    await story.stabilize()
    expect(story.pods()).toHaveLength(6)
    const before = story.cluster.writes.length
    await story.harness.step(600_000)
    expect(story.cluster.writes.slice(before)).toEqual([])
  })

  it('goes on where another process stopped in the middle of a rollout', async () => {
    story = await startDaemon(daemonSet('log'))
    await story.stabilize()
    await story.image(2)
    await story.harness.stop()
    const { cluster } = story
    const again = createReconcilerHarness({ cluster })
    await again.start(daemonSetController)
    await again.step(1000)
    expect(cluster.all<Pod>(again.resources.pods)).toHaveLength(3)
    story = { ...story, harness: again }
    for (let round = 0; round < 5; round += 1) {
      await story.ready()
      await again.step(1000)
    }
    expect(story.shown()).toEqual(['n1 log:2 ready', 'n2 log:2 ready', 'n3 log:2 ready'])
  })

  it('collects no failed pods on a node that rejects them while it surges', async () => {
    story = await startDaemon(
      daemonSet('log', {
        updateStrategy: {
          type: 'RollingUpdate',
          rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
        },
      }),
      { nodes: 1 },
    )
    let made = 0
    story.cluster.react('create', 'pods', () => void (made += 1))
    for (let round = 0; round < 60; round += 1) {
      for (const pod of story.pods()) {
        story.cluster.change(
          story.harness.resources.pods,
          `default/${pod.metadata.name}`,
          (object) => {
            object['status'] = { phase: 'Failed' }
          },
        )
      }
      await story.harness.step(1000)
    }
    expect(story.pods().length).toBeLessThanOrEqual(2)
    expect(made).toBeLessThanOrEqual(8)
  })
})
