import { afterEach, describe, expect, it } from 'vitest'
import type { Pod } from '../../../components/api/generated/types.ts'
import { startStateful } from '../../support/stateful-story.ts'
import type { StatefulStory } from '../../support/stateful-story.ts'
import { runPod, statefulSet } from '../../support/workloads.ts'

let story: StatefulStory
afterEach(() => story.harness.stop())

async function started(...from: Parameters<typeof startStateful>): Promise<StatefulStory> {
  story = await startStateful(...from)
  return story
}

const names = (): string[] => story.pods().map(({ metadata }) => metadata.name ?? '')

describe('ordered management', () => {
  it('creates a pod once the one before it is ready', async () => {
    await started(statefulSet('web'))
    expect(names()).toEqual(['web-0'])
    await story.harness.step(60_000)
    expect(names()).toEqual(['web-0'])
    await story.ready()
    expect(names()).toEqual(['web-0', 'web-1'])
    await story.stabilize()
    expect(names()).toEqual(['web-0', 'web-1', 'web-2'])
    expect(story.harness.complaints).toEqual([])
  })

  it('gives each pod its name, host name and labels', async () => {
    await started(statefulSet('web', { replicas: 1 }))
    const [pod] = story.pods()
    const [revision] = story.revisions()
    expect(pod?.metadata).toMatchObject({
      name: 'web-0',
      generateName: 'web-',
      labels: {
        app: 'web',
        'statefulset.kubernetes.io/pod-name': 'web-0',
        'apps.kubernetes.io/pod-index': '0',
        'controller-revision-hash': revision?.metadata.name,
      },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', controller: true },
      ],
    })
    expect(pod?.spec).toMatchObject({ hostname: 'web-0', subdomain: 'web' })
    expect(story.harness.events).toEqual([
      'Normal SuccessfulCreate StatefulSet default/web: create Pod web-0 in StatefulSet web successful',
    ])
  })

  it('replaces a pod that failed or finished, under the same name', async () => {
    await started(statefulSet('web', { replicas: 2 }))
    await story.stabilize()
    for (const phase of ['Failed', 'Succeeded']) {
      const before = story.pods()[0]?.metadata.uid
      story.cluster.change(story.harness.resources.pods, 'default/web-0', (pod) => {
        pod['status'] = { phase }
      })
      await story.harness.step(1000)
      expect(names()).toEqual(['web-0', 'web-1'])
      expect(story.pods()[0]?.metadata.uid).not.toBe(before)
      await story.stabilize()
    }
    expect(story.harness.events).toContain(
      'Normal SuccessfulDelete StatefulSet default/web: delete Pod web-0 in StatefulSet web successful',
    )
  })

  it('waits for a pod that terminates: its name is free only when it is gone', async () => {
    await started(statefulSet('web', { replicas: 2 }))
    await story.stabilize()
    const { pods } = story.harness.resources
    story.cluster.change(pods, 'default/web-0', ({ metadata }) => {
      metadata.finalizers = ['example.com/hold']
    })
    await story.remove('web-0')
    await story.user(({ spec }) => {
      if (spec) spec.replicas = 3
    })
    expect(story.shown()).toEqual(['web-0 web:1 terminating', 'web-1 web:1 ready'])
    story.cluster.change(pods, 'default/web-0', ({ metadata }) => {
      metadata.finalizers = []
    })
    await story.harness.step(1000)
    expect(story.shown()).toEqual(['web-0 web:1 waits', 'web-1 web:1 ready'])
    await story.stabilize()
    expect(names()).toEqual(['web-0', 'web-1', 'web-2'])
  })

  it('scales down one pod at a time, from the highest ordinal, and only while the rest is ready', async () => {
    await started(statefulSet('web', { replicas: 4 }))
    await story.stabilize()
    const deleted: string[] = []
    story.cluster.react('delete', 'pods', ({ key }) => void deleted.push(key))
    runPod(story.cluster, story.pods()[1] as Pod, false)
    await story.user(({ spec }) => {
      if (spec) spec.replicas = 2
    })
    expect(deleted).toEqual([])
    runPod(story.cluster, story.pods()[1] as Pod)
    await story.harness.step(1000)
    expect(deleted).toEqual(['default/web-3', 'default/web-2'])
  })

  it('scales away a broken pod when nothing before it is broken', async () => {
    await started(statefulSet('web', { replicas: 3 }))
    await story.stabilize()
    runPod(story.cluster, story.pods()[2] as Pod, false)
    await story.user(({ spec }) => {
      if (spec) spec.replicas = 1
    })
    expect(names()).toEqual(['web-0'])
  })

  it('counts a pod only after minReadySeconds, and goes on by itself', async () => {
    await started(statefulSet('web', { replicas: 2, minReadySeconds: 30 }))
    await story.ready()
    await story.harness.step(20_000)
    expect(story.set().status).toMatchObject({ readyReplicas: 1, availableReplicas: 0 })
    expect(names()).toEqual(['web-0'])
    await story.harness.step(10_000)
    expect(names()).toEqual(['web-0', 'web-1'])
    expect(story.set().status).toMatchObject({ availableReplicas: 1 })
  })
})

describe('parallel management', () => {
  const parallel = { podManagementPolicy: 'Parallel' }

  it('creates and deletes all pods at once', async () => {
    await started(statefulSet('web', { ...parallel, replicas: 5 }))
    expect(names()).toEqual(['web-0', 'web-1', 'web-2', 'web-3', 'web-4'])
    await story.user(({ spec }) => {
      if (spec) spec.replicas = 1
    })
    expect(names()).toEqual(['web-0'])
  })

  it('rolls out one pod at a time all the same', async () => {
    await started(statefulSet('web', parallel))
    await story.stabilize()
    await story.image(2)
    expect(story.shown()).toEqual(['web-0 web:1 ready', 'web-1 web:1 ready', 'web-2 web:2 waits'])
    await story.stabilize()
    expect(story.shown()).toEqual(['web-0 web:2 ready', 'web-1 web:2 ready', 'web-2 web:2 ready'])
  })

  it('leaves a broken rollout by itself when the template is put right', async () => {
    await started(statefulSet('web', parallel))
    await story.stabilize()
    await story.image(666)
    await story.image(2)
    await story.stabilize({ broken: ['web:666'] })
    expect(story.shown()).toEqual(['web-0 web:2 ready', 'web-1 web:2 ready', 'web-2 web:2 ready'])
  })
})

describe('a rolling update', () => {
  it('goes from the highest ordinal to the lowest, a pod at a time', async () => {
    await started(statefulSet('web'))
    await story.stabilize()
    const before = story.set().status
    expect(before).toMatchObject({ currentRevision: before?.updateRevision, currentReplicas: 3 })
    await story.image(2)
    expect(story.shown()).toEqual(['web-0 web:1 ready', 'web-1 web:1 ready', 'web-2 web:2 waits'])
    expect(story.set().status).toMatchObject({
      currentRevision: before?.currentRevision,
      currentReplicas: 2,
      updatedReplicas: 1,
    })
    await story.ready()
    expect(story.shown()[1]).toBe('web-1 web:2 waits')
    await story.stabilize()
    expect(story.shown()).toEqual(['web-0 web:2 ready', 'web-1 web:2 ready', 'web-2 web:2 ready'])
    const { status } = story.set()
    expect(status).toEqual({
      observedGeneration: 2,
      replicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      currentReplicas: 3,
      updatedReplicas: 3,
      currentRevision: status?.updateRevision,
      updateRevision: status?.updateRevision,
      collisionCount: 0,
    })
    expect(status?.updateRevision).not.toBe(before?.updateRevision)
  })

  it('stops at the partition; pods below it come back at the old revision', async () => {
    const partitioned = { type: 'RollingUpdate', rollingUpdate: { partition: 2 } }
    await started(statefulSet('web', { replicas: 4, updateStrategy: partitioned }))
    await story.stabilize()
    await story.image(2)
    await story.stabilize()
    const half = [
      'web-0 web:1 ready',
      'web-1 web:1 ready',
      'web-2 web:2 ready',
      'web-3 web:2 ready',
    ]
    expect(story.shown()).toEqual(half)
    await story.remove('web-0')
    await story.remove('web-3')
    await story.stabilize()
    expect(story.shown()).toEqual(half)
    expect(story.set().status?.currentRevision).not.toBe(story.set().status?.updateRevision)
    await story.user(({ spec }) => {
      if (spec) spec.updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 0 } }
    })
    await story.stabilize()
    expect(story.shown().every((line) => line.includes('web:2'))).toBe(true)
    expect(story.set().status?.currentRevision).toBe(story.set().status?.updateRevision)
  })

  it('takes up a template that changes in the middle', async () => {
    await started(statefulSet('web'))
    await story.stabilize()
    await story.image(2)
    await story.image(3)
    await story.stabilize()
    expect(story.shown()).toEqual(['web-0 web:3 ready', 'web-1 web:3 ready', 'web-2 web:3 ready'])
  })

  it('stays at a broken pod until somebody deletes it, as upstream', async () => {
    await started(statefulSet('web'))
    await story.stabilize()
    await story.image(666)
    await story.image(1)
    await story.stabilize({ broken: ['web:666'] })
    expect(story.shown()[2]).toBe('web-2 web:666 waits')
    await story.remove('web-2')
    await story.stabilize({ broken: ['web:666'] })
    expect(story.shown()[2]).toBe('web-2 web:1 ready')
  })

  it('waits for the user with OnDelete', async () => {
    await started(statefulSet('web', { updateStrategy: { type: 'OnDelete' } }))
    await story.stabilize()
    await story.image(2)
    expect(story.shown().every((line) => line.includes('web:1'))).toBe(true)
    await story.remove('web-1')
    await story.stabilize()
    expect(story.shown()).toEqual(['web-0 web:1 ready', 'web-1 web:2 ready', 'web-2 web:1 ready'])
    expect(story.set().status).toMatchObject({ updatedReplicas: 1, currentReplicas: 2 })
  })

  it.each([
    { gate: false, maxUnavailable: 2, replaced: ['web-3'] },
    { gate: true, maxUnavailable: 2, replaced: ['web-3', 'web-2'] },
    { gate: true, maxUnavailable: '50%', replaced: ['web-3', 'web-2'] },
    { gate: true, maxUnavailable: '10%', replaced: ['web-3'] },
    { gate: true, maxUnavailable: undefined, replaced: ['web-3'] },
  ])(
    'replaces $replaced at once with maxUnavailable $maxUnavailable, gate $gate',
    async (given) => {
      const { gate, maxUnavailable, replaced } = given
      const rollingUpdate = { partition: 0, ...(maxUnavailable && { maxUnavailable }) }
      await started(
        statefulSet('web', {
          replicas: 4,
          podManagementPolicy: 'Parallel',
          updateStrategy: { type: 'RollingUpdate', rollingUpdate },
        }),
        { gates: { MaxUnavailableStatefulSet: gate } },
      )
      await story.stabilize()
      const deleted: string[] = []
      story.cluster.react('delete', 'pods', ({ key }) => void deleted.push(key))
      await story.image(2)
      expect(deleted).toEqual(replaced.map((name) => `default/${name}`))
      await story.stabilize()
      expect(story.shown().every((line) => line.endsWith('web:2 ready'))).toBe(true)
    },
  )
})

describe('start ordinals', () => {
  it('number the pods from there, and moving them replaces pods at both ends', async () => {
    await started(statefulSet('web', { ordinals: { start: 5 } }))
    await story.stabilize()
    expect(names()).toEqual(['web-5', 'web-6', 'web-7'])
    await story.user(({ spec }) => {
      if (spec) spec.ordinals = { start: 4 }
    })
    await story.stabilize()
    expect(names()).toEqual(['web-4', 'web-5', 'web-6'])
  })
})

describe('revisions', () => {
  it('are kept up to the limit, and a rollback uses one again under a new number', async () => {
    await started(statefulSet('web', { replicas: 1, revisionHistoryLimit: 2 }))
    await story.stabilize()
    for (const version of [2, 3, 4, 5]) {
      await story.image(version)
      await story.stabilize()
    }
    const numbers = () =>
      story
        .revisions()
        .map(({ revision }) => revision)
        .toSorted((a, b) => a - b)
    expect(numbers()).toEqual([3, 4, 5])
    await story.image(3)
    await story.stabilize()
    expect(numbers()).toEqual([4, 5, 6])
    const newest = story.revisions().find(({ revision }) => revision === 6)
    expect(newest?.metadata.name).toBe(story.set().status?.currentRevision)
    expect(newest?.data).toMatchObject({
      spec: { template: { $patch: 'replace', spec: { containers: [{ image: 'web:3' }] } } },
    })
    expect(story.shown()).toEqual(['web-0 web:3 ready'])
  })

  it('avoid a name that other data have, and count the collision', async () => {
    await started(statefulSet('web', { replicas: 1 }))
    const [taken] = story.revisions()
    await story.harness.stop()
    await started(statefulSet('web', { replicas: 1 }), {
      before: ({ cluster, resources }) => {
        cluster.seed(resources.controllerRevisions, {
          metadata: { name: taken?.metadata.name ?? '', namespace: 'default' },
          data: { other: true },
          revision: 7,
        } as never)
      },
    })
    await story.stabilize()
    expect(story.set().status?.collisionCount).toBe(1)
    expect(story.revisions()).toHaveLength(2)
    expect(names()).toEqual(['web-0'])
  })

  it('of an orphan are adopted, so that a set that is made again knows its history', async () => {
    await started(statefulSet('web', { replicas: 1 }))
    await story.stabilize()
    const { resources } = story.harness
    const [revision] = story.revisions()
    const [pod] = story.pods()
    for (const [resource, key] of [
      [resources.controllerRevisions, `default/${revision?.metadata.name}`],
      [resources.pods, `default/${pod?.metadata.name}`],
    ] as const) {
      story.cluster.change(resource, key, ({ metadata }) => {
        metadata.ownerReferences = []
      })
    }
    await story.harness.step(1000)
    const uid = story.set().metadata.uid
    expect(story.revisions()[0]?.metadata.ownerReferences?.[0]?.uid).toBe(uid)
    expect(story.pods()[0]?.metadata.ownerReferences?.[0]?.uid).toBe(uid)
  })
})
