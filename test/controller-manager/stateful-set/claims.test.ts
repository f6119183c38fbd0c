import { afterEach, describe, expect, it } from 'vitest'
import type {
  PersistentVolumeClaim,
  StatefulSetSpec,
} from '../../../components/api/generated/types.ts'
import { startStateful } from '../../support/stateful-story.ts'
import type { StatefulStory } from '../../support/stateful-story.ts'
import { statefulSet } from '../../support/workloads.ts'

let story: StatefulStory
afterEach(() => story.harness.stop())

function withClaims(spec: Partial<StatefulSetSpec> = {}) {
  const template: PersistentVolumeClaim = {
    metadata: { name: 'data', labels: { tier: 'db' } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }
  return statefulSet('web', { replicas: 2, volumeClaimTemplates: [template], ...spec })
}

/** `data-web-0 <- StatefulSet web`, by name. */
function owners(): string[] {
  return story.claims().map(({ metadata }) => {
    const names = (metadata.ownerReferences ?? []).map(({ kind, name }) => `${kind} ${name}`)
    return `${metadata.name} <- ${names.join(', ')}`
  })
}

async function started(...from: Parameters<typeof startStateful>): Promise<void> {
  story = await startStateful(...from)
}

describe('claims from templates', () => {
  it('are created before their pod, which mounts them, and outlive it', async () => {
    await started(withClaims())
    expect(story.cluster.writes.slice(0, 3)).toEqual([
      expect.stringMatching(/^create controllerrevisions /),
      'create persistentvolumeclaims default/data-web-0',
      'create pods default/web-0',
    ])
    expect(story.claims()[0]).toMatchObject({
      metadata: { name: 'data-web-0', namespace: 'default', labels: { tier: 'db', app: 'web' } },
      spec: { accessModes: ['ReadWriteOnce'] },
    })
    expect(story.pods()[0]?.spec?.volumes).toEqual([
      { name: 'data', persistentVolumeClaim: { claimName: 'data-web-0' } },
    ])
    expect(story.harness.events.slice(0, 2)).toEqual([
      'Normal SuccessfulCreate StatefulSet default/web: create Claim data-web-0 Pod web-0 in StatefulSet web success',
      'Normal SuccessfulCreate StatefulSet default/web: create Pod web-0 in StatefulSet web successful',
    ])
    await story.stabilize()
    await story.user(({ spec }) => {
      if (spec) spec.replicas = 1
    })
    expect(owners()).toEqual(['data-web-0 <- ', 'data-web-1 <- '])
  })

  it('take the place of a volume of the same name', async () => {
    const set = withClaims({ replicas: 1 })
    const { template } = set.spec as StatefulSetSpec
    template.spec = {
      containers: [],
      ...template.spec,
      volumes: [
        { name: 'data', emptyDir: {} },
        { name: 'tmp', emptyDir: {} },
      ],
    }
    await started(set)
    expect(story.pods()[0]?.spec?.volumes?.map(({ name, emptyDir }) => [name, emptyDir])).toEqual([
      ['data', undefined],
      ['tmp', {}],
    ])
  })

  it('that a pending pod lost are created again', async () => {
    await started(withClaims({ replicas: 1 }))
    story.cluster.remove(story.harness.resources.persistentVolumeClaims, 'default/data-web-0')
    await story.harness.step(1000)
    expect(story.claims()).toHaveLength(1)
  })

  it('that are being deleted hold their pod back, and say so', async () => {
    await started(withClaims({ replicas: 1 }), {
      before: ({ cluster, resources }) => {
        cluster.seed(resources.persistentVolumeClaims, {
          metadata: { name: 'data-web-0', namespace: 'default', finalizers: ['hold'] },
        })
        cluster.remove(resources.persistentVolumeClaims, 'default/data-web-0')
      },
    })
    expect(story.pods()).toEqual([])
    expect(story.harness.events[0]).toBe(
      'Warning FailedCreate StatefulSet default/web: create Pod web-0 in StatefulSet web failed error: pvc data-web-0 is being deleted',
    )
    story.cluster.change(
      story.harness.resources.persistentVolumeClaims,
      'default/data-web-0',
      ({ metadata }) => {
        metadata.finalizers = []
      },
    )
    await story.harness.step(1000)
    expect(story.pods()).toHaveLength(1)
  })
})

describe('the retention policy', () => {
  it.each([
    {
      whenDeleted: 'Retain',
      whenScaled: 'Retain',
      full: ['data-web-0 <- ', 'data-web-1 <- '],
      scaled: ['data-web-0 <- ', 'data-web-1 <- '],
    },
    {
      whenDeleted: 'Delete',
      whenScaled: 'Retain',
      full: ['data-web-0 <- StatefulSet web', 'data-web-1 <- StatefulSet web'],
      scaled: ['data-web-0 <- StatefulSet web', 'data-web-1 <- StatefulSet web'],
    },
    {
      whenDeleted: 'Retain',
      whenScaled: 'Delete',
      full: ['data-web-0 <- ', 'data-web-1 <- '],
      scaled: ['data-web-0 <- ', 'data-web-1 <- Pod web-1'],
    },
    {
      whenDeleted: 'Delete',
      whenScaled: 'Delete',
      full: ['data-web-0 <- StatefulSet web', 'data-web-1 <- StatefulSet web'],
      scaled: ['data-web-0 <- StatefulSet web', 'data-web-1 <- Pod web-1'],
    },
  ])('whenDeleted $whenDeleted, whenScaled $whenScaled decides who owns claims', async (given) => {
    const { full, scaled, ...persistentVolumeClaimRetentionPolicy } = given
    await started(withClaims({ persistentVolumeClaimRetentionPolicy }))
    await story.stabilize()
    expect(owners()).toEqual(full)
    await story.user(({ spec }) => {
      if (spec) spec.replicas = 1
    })
    expect(owners()).toEqual(scaled)
    const before = story.cluster.writes.length
    await story.harness.step(60_000)
    expect(story.cluster.writes.slice(before)).toEqual([])
  })

  it('changes the owners when it changes', async () => {
    await started(withClaims())
    await story.stabilize()
    const change = (whenDeleted: string): Promise<void> =>
      story.user(({ spec }) => {
        if (spec) spec.persistentVolumeClaimRetentionPolicy = { whenDeleted, whenScaled: 'Retain' }
      })
    await change('Delete')
    expect(owners()).toEqual(['data-web-0 <- StatefulSet web', 'data-web-1 <- StatefulSet web'])
    await change('Retain')
    expect(owners()).toEqual(['data-web-0 <- ', 'data-web-1 <- '])
  })

  it('keeps a pod from coming back with the data of the one that was scaled away', async () => {
    const policy = { whenDeleted: 'Retain', whenScaled: 'Delete' }
    await started(withClaims({ persistentVolumeClaimRetentionPolicy: policy }))
    await story.stabilize()
    const scale = (replicas: number): Promise<void> =>
      story.user(({ spec }) => {
        if (spec) spec.replicas = replicas
      })
    await scale(1)
    await scale(2)
    expect(story.pods().map(({ metadata }) => metadata.name)).toEqual(['web-0'])
    // As the garbage collector does once the owner is gone.
    const { persistentVolumeClaims } = story.harness.resources
    const before = story.cluster.peek(persistentVolumeClaims, 'default/data-web-1')?.metadata.uid
    story.cluster.remove(persistentVolumeClaims, 'default/data-web-1')
    await story.harness.step(1000)
    expect(story.pods().map(({ metadata }) => metadata.name)).toEqual(['web-0', 'web-1'])
    const after = story.cluster.peek(persistentVolumeClaims, 'default/data-web-1')?.metadata.uid
    expect(after).not.toBe(before)
  })

  it('leaves claims alone that another controller manages', async () => {
    const policy = { whenDeleted: 'Delete', whenScaled: 'Delete' }
    const other = { apiVersion: 'v1', kind: 'Other', name: 'x', uid: 'u', controller: true }
    await started(withClaims({ replicas: 1, persistentVolumeClaimRetentionPolicy: policy }), {
      before: ({ cluster, resources }) => {
        cluster.seed(resources.persistentVolumeClaims, {
          metadata: { name: 'data-web-0', namespace: 'default', ownerReferences: [other] },
        })
      },
    })
    await story.stabilize()
    expect(owners()).toEqual(['data-web-0 <- Other x'])
  })
})
