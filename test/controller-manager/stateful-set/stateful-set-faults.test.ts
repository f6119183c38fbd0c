import { afterEach, describe, expect, it } from 'vitest'
import { statefulSetController } from '../../../components/controller-manager/stateful-set/stateful-set.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import { startStateful } from '../../support/stateful-story.ts'
import type { StatefulStory } from '../../support/stateful-story.ts'
import { statefulSet } from '../../support/workloads.ts'

let story: StatefulStory
afterEach(() => story.harness.stop())

const names = (): string[] => story.pods().map(({ metadata }) => metadata.name ?? '')

describe('statefulset-controller', () => {
  it('writes nothing when nothing changes', async () => {
    story = await startStateful(
      statefulSet('web', { volumeClaimTemplates: [{ metadata: { name: 'data' } }] }),
    )
    await story.stabilize()
    const before = story.cluster.writes.length
    await story.harness.step(3_600_000)
    await story.user(({ metadata }) => {
      metadata.labels = { touched: 'true' }
    })
    expect(story.cluster.writes.slice(before)).toEqual([])
  })

  it.each(['TooManyRequests', 'InternalError'] as const)(
    'settles after an API server that answered %s for two minutes',
    async (reason) => {
      story = await startStateful(
        statefulSet('web', { volumeClaimTemplates: [{ metadata: { name: 'data' } }] }),
        {
          before: ({ cluster }) => {
            const endMs = cluster.clock.now() + 120_000
            let calls = 0
            cluster.react('*', '*', ({ verb }) => {
              calls += 1
              const isWrite = !['watch', 'list', 'get'].includes(verb)
              if (isWrite && cluster.clock.now() < endMs && calls % 3 !== 0)
                throw new StatusError(reason, 'try again later')
            })
          },
        },
      )
      for (let round = 0; round < 10; round += 1) {
        await story.ready()
        await story.harness.step(120_000)
      }
      expect(names()).toEqual(['web-0', 'web-1', 'web-2'])
      expect(story.revisions()).toHaveLength(1)
      expect(story.claims()).toHaveLength(3)
    },
  )

  it('says of a pod that the server refuses why it is not there', async () => {
    story = await startStateful(statefulSet('web'), {
      before: ({ cluster }) => {
        cluster.react('create', 'pods', () => {
          throw new StatusError('Forbidden', 'pods "web-0" is forbidden: exceeded quota')
        })
      },
    })
    expect(story.harness.events[0]).toBe(
      'Warning FailedCreate StatefulSet default/web: create Pod web-0 in StatefulSet web failed error: pods "web-0" is forbidden: exceeded quota',
    )
    expect(story.set().status).toMatchObject({ replicas: 0, observedGeneration: 1 })
  })

  it('tries no pod again in a namespace that ends, and does not complain', async () => {
    story = await startStateful(statefulSet('web'), {
      before: ({ cluster }) => {
        cluster.react('create', 'pods', () => {
          throw new StatusError('Forbidden', 'namespace default is being terminated', {
            details: { causes: [{ reason: 'NamespaceTerminating', message: '', field: '' }] },
          })
        })
      },
    })
    const attempts = story.cluster.writes.length
    await story.harness.step(600_000)
    expect(story.cluster.writes).toHaveLength(attempts)
    expect(story.harness.complaints).toEqual([])
    expect(story.harness.events).toEqual([])
  })

  it('makes nothing twice while its informers lag behind', async () => {
    story = await startStateful(statefulSet('web', { podManagementPolicy: 'Parallel' }), {
      before: ({ cluster }) => {
        for (const resource of ['pods', 'controllerrevisions', 'persistentvolumeclaims']) {
          cluster.react('watch', resource, () => {
            throw new StatusError('ServiceUnavailable', 'not now')
          })
        }
      },
    })
    for (let round = 1; round <= 5; round += 1) {
      story.cluster.change(story.harness.resources.statefulSets, 'default/web', ({ metadata }) => {
        metadata.labels = { round: String(round) }
      })
      await story.harness.step(10)
    }
    const creates = story.cluster.writes.filter((write) => write.startsWith('create pods'))
    expect(creates).toHaveLength(new Set(creates).size)
    expect(story.revisions()).toHaveLength(1)
  })

  it('leaves what is left to the garbage collector when the set is deleted', async () => {
    story = await startStateful(statefulSet('web'))
    await story.stabilize()
    const { statefulSets } = story.harness.resources
    story.cluster.change(statefulSets, 'default/web', ({ metadata }) => {
      metadata.finalizers = ['foregroundDeletion']
    })
    story.cluster.remove(statefulSets, 'default/web')
    await story.harness.step(10)
    await story.remove('web-0')
    expect(names()).toEqual(['web-1', 'web-2'])
    expect(story.set().status).toMatchObject({ replicas: 2 })
  })

  it('takes no pod of another set, whatever both select', async () => {
    story = await startStateful(statefulSet('web', { replicas: 2 }), {
      before: ({ cluster, resources }) => {
        const twin = statefulSet('web', { replicas: 2 })
        cluster.seed(resources.statefulSets, {
          ...twin,
          metadata: { ...twin.metadata, name: 'db' },
        })
      },
    })
    await story.stabilize()
    expect(names().toSorted()).toEqual(['db-0', 'db-1', 'web-0', 'web-1'])
    const before = story.cluster.writes.length
    await story.harness.step(600_000)
    expect(story.cluster.writes.slice(before)).toEqual([])
  })

  it('waits for the name when a pod of somebody else has it', async () => {
    story = await startStateful(statefulSet('web', { replicas: 2 }), {
      before: ({ cluster, resources }) => {
        cluster.seed(resources.pods, {
          metadata: { name: 'web-0', namespace: 'default', labels: { app: 'other' } },
          spec: { containers: [] },
        })
      },
    })
    await story.harness.step(600_000)
    expect(names()).toEqual(['web-0'])
    await story.remove('web-0')
    await story.harness.step(1_000_000)
    await story.stabilize()
    expect(names()).toEqual(['web-0', 'web-1'])
  })

  it('lets go of a pod that no longer matches, and waits for its name', async () => {
    story = await startStateful(statefulSet('web', { replicas: 1 }))
    await story.stabilize()
    story.cluster.change(story.harness.resources.pods, 'default/web-0', ({ metadata }) => {
      metadata.labels = { app: 'debug' }
    })
    await story.harness.step(1000)
    expect(story.pods()[0]?.metadata.ownerReferences).toEqual([])
    expect(names()).toEqual(['web-0'])
  })

  it('puts right a label of the identity that somebody changed', async () => {
    story = await startStateful(statefulSet('web', { replicas: 1 }))
    await story.stabilize()
    story.cluster.change(story.harness.resources.pods, 'default/web-0', ({ metadata }) => {
      metadata.labels = { ...metadata.labels, 'statefulset.kubernetes.io/pod-name': 'mine' }
    })
    await story.harness.step(1000)
    expect(story.pods()[0]?.metadata.labels).toMatchObject({
      'statefulset.kubernetes.io/pod-name': 'web-0',
    })
    expect(story.harness.events.at(-1)).toBe(
      'Normal SuccessfulUpdate StatefulSet default/web: update Pod web-0 in StatefulSet web successful',
    )
  })

  it('goes on where another process stopped in the middle of a rollout', async () => {
    story = await startStateful(statefulSet('web'))
    await story.stabilize()
    await story.image(2)
    await story.harness.stop()
    const again = createReconcilerHarness({ cluster: story.cluster })
    await again.start(statefulSetController)
    await again.step(1000)
    story = { ...story, harness: again }
    expect(story.shown()).toEqual(['web-0 web:1 ready', 'web-1 web:1 ready', 'web-2 web:2 waits'])
    for (let round = 0; round < 4; round += 1) {
      await story.ready()
      await again.step(1000)
    }
    expect(story.shown()).toEqual(['web-0 web:2 ready', 'web-1 web:2 ready', 'web-2 web:2 ready'])
  })
})
