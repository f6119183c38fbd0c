import { afterEach, describe, expect, it } from 'vitest'
import type { Deployment } from '../../../components/api/generated/types.ts'
import { startRollout } from '../../support/rollout-story.ts'
import type { RolloutStory } from '../../support/rollout-story.ts'
import { expectTranscript } from '../../support/transcript.ts'
import { deployment, template } from '../../support/workloads.ts'

let story: RolloutStory
afterEach(() => story.harness.stop())

const image =
  (name: string) =>
  ({ spec }: Deployment): void => {
    if (spec) spec.template = template('web', name)
  }
const replicas =
  (count: number) =>
  ({ spec }: Deployment): void => {
    if (spec) spec.replicas = count
  }

function progressing(): { status: string; reason?: string; message?: string } | undefined {
  return story.deployment().status?.conditions?.find(({ type }) => type === 'Progressing')
}

describe('deployment-controller', () => {
  it('rolls a new template out step by step, as the transcript tells', async () => {
    story = await startRollout(deployment('web'))
    await story.stabilize()
    await story.user('template web:2', image('web:2'))
    await story.stabilize({ limit: 1 })
    expectTranscript('deployment-rolling-update', story.lines)
    expect(story.harness.complaints).toEqual([])
  })

  it('recreate ends all old pods before the first new one', async () => {
    story = await startRollout(deployment('web', { strategy: { type: 'Recreate' } }))
    await story.stabilize()
    await story.user('template web:2', image('web:2'))
    await story.stabilize()
    expectTranscript('deployment-recreate', story.lines)
  })

  it('a broken template stops half-way, times out, and is rolled back by its predecessor’s template', async () => {
    story = await startRollout(deployment('web', { replicas: 4, progressDeadlineSeconds: 60 }))
    await story.stabilize()
    await story.user('template web:broken', image('web:broken'))
    await story.stabilize({ broken: ['web:broken'] })
    await story.wait(61_000)
    expect(progressing()).toMatchObject({ status: 'False', reason: 'ProgressDeadlineExceeded' })
    await story.user('template web:1 again', image('web:1'))
    await story.stabilize()
    expectTranscript('deployment-stuck-and-undone', story.lines)
    const [first] = story.replicaSets()
    expect(first?.metadata.annotations?.['deployment.kubernetes.io/revision-history']).toBe('1')
  })

  it('scaling amid a rollout is shared out in proportion', async () => {
    story = await startRollout(
      deployment('web', {
        replicas: 10,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } },
      }),
    )
    await story.stabilize()
    await story.user('template web:broken', image('web:broken'))
    await story.user('scaled to 15', replicas(15))
    await story.user('scaled to 5', replicas(5))
    expectTranscript('deployment-proportional-scaling', story.lines)
  })

  it('a paused Deployment is scaled but rolls nothing out until it is resumed', async () => {
    story = await startRollout(deployment('web'))
    await story.stabilize()
    await story.user('paused, template web:2, scaled to 4', (object) => {
      if (object.spec) object.spec.paused = true
      image('web:2')(object)
      replicas(4)(object)
    })
    await story.stabilize()
    expect(story.replicaSets()).toHaveLength(1)
    expect(progressing()?.reason).toBe('DeploymentPaused')
    await story.user('resumed', ({ spec }) => {
      if (spec) delete spec.paused
    })
    await story.stabilize()
    expectTranscript('deployment-paused', story.lines)
  })

  it('keeps as many old ReplicaSets as the history limit says, the newest ones', async () => {
    story = await startRollout(deployment('web', { revisionHistoryLimit: 2 }))
    await story.stabilize()
    for (const version of [2, 3, 4, 5]) {
      await story.user(`template web:${version}`, image(`web:${version}`))
      await story.stabilize()
    }
    const revisions = story
      .replicaSets()
      .map(({ metadata }) => metadata.annotations?.['deployment.kubernetes.io/revision'])
    expect(new Set(revisions)).toEqual(new Set(['3', '4', '5']))
    expect(story.deployment().metadata.annotations).toEqual({
      'deployment.kubernetes.io/revision': '5',
    })
  })

  it('counts revisions as 64-bit integers, and skips what is none', async () => {
    const key = 'deployment.kubernetes.io/revision'
    story = await startRollout(deployment('web', { revisionHistoryLimit: 2 }))
    await story.stabilize()
    const { cluster, resources } = story.harness
    const [first] = story.replicaSets()
    const revise = (revision: string) =>
      cluster.change(resources.replicaSets, `default/${first?.metadata.name}`, ({ metadata }) => {
        metadata.annotations = { ...metadata.annotations, [key]: revision }
      })
    const next = async (version: number) => {
      await story.user(`template web:${version}`, image(`web:${version}`))
      await story.stabilize()
      const { annotations } = story.deployment().metadata
      return annotations?.[key]
    }
    revise('9007199254740993000')
    expect(await next(2)).toBe('9007199254740993001')
    expect(await next(3)).toBe('9007199254740993002')
    expect(await next(4)).toBe('9007199254740993003')
    const kept = story.replicaSets().map(({ metadata }) => metadata.annotations?.[key])
    expect(new Set(kept)).toEqual(
      new Set(['9007199254740993001', '9007199254740993002', '9007199254740993003']),
    )
    await story.user('template web:2', image('web:2'))
    await story.stabilize()
    const undone = story
      .replicaSets()
      .find(({ spec }) => spec?.template?.spec?.containers[0]?.image === 'web:2')
    expect(undone?.metadata.annotations).toMatchObject({
      [key]: '9007199254740993004',
      [`${key}-history`]: '9007199254740993001',
    })
  })

  it('leaves a revision alone that is no integer', async () => {
    const key = 'deployment.kubernetes.io/revision'
    story = await startRollout(deployment('web'))
    await story.stabilize()
    const { cluster, resources } = story.harness
    const [first] = story.replicaSets()
    cluster.change(resources.replicaSets, `default/${first?.metadata.name}`, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, [key]: '9223372036854775808' }
    })
    await story.user('template web:2', image('web:2'))
    await story.stabilize()
    expect(story.deployment().metadata.annotations?.[key]).toBe('1')
    await story.user('template web:1', image('web:1'))
    await story.stabilize()
    const undone = story
      .replicaSets()
      .find(({ metadata }) => metadata.name === first?.metadata.name)
    expect(undone?.metadata.annotations?.[key]).toBe('9223372036854775808')
  })

  it('says what has come of the rollout, with upstream’s words', async () => {
    story = await startRollout(deployment('web', { replicas: 1 }))
    const [set] = story.replicaSets()
    const name = set?.metadata.name
    expect(progressing()).toMatchObject({ status: 'True', reason: 'ReplicaSetUpdated' })
    expect(progressing()?.message).toBe(`ReplicaSet "${name}" is progressing.`)
    await story.ready()
    expect(progressing()).toMatchObject({ status: 'True', reason: 'NewReplicaSetAvailable' })
    expect(progressing()?.message).toBe(`ReplicaSet "${name}" has successfully progressed.`)
    expect(story.deployment().status).toMatchObject({
      observedGeneration: 1,
      replicas: 1,
      updatedReplicas: 1,
      readyReplicas: 1,
      availableReplicas: 1,
    })
    expect(story.deployment().status?.unavailableReplicas).toBeUndefined()
  })

  it('when the name of its ReplicaSet is taken it counts a collision and takes another', async () => {
    story = await startRollout(deployment('web'))
    const [set] = story.replicaSets()
    const { cluster, resources } = story.harness
    const taken = set?.metadata.name ?? ''
    await story.harness.stop()
    const wanted = deployment('web')
    const { createReconcilerHarness } = await import('../../support/reconciler-harness.ts')
    const { deploymentController } =
      await import('../../../components/controller-manager/deployment/deployment.ts')
    const harness = createReconcilerHarness()
    harness.cluster.seed(harness.resources.replicaSets, {
      metadata: { name: taken, namespace: 'default', labels: { app: 'other' } },
    })
    harness.cluster.seed(harness.resources.deployments, wanted)
    await harness.start(deploymentController)
    await harness.step(1000)
    const sets = harness.cluster.all(harness.resources.replicaSets)
    expect(sets).toHaveLength(2)
    expect(
      harness.cluster.peek<Deployment>(harness.resources.deployments, 'default/web')?.status,
    ).toMatchObject({ collisionCount: 1 })
    await harness.stop()
    expect(cluster.all(resources.replicaSets)).toHaveLength(1)
  })

  it('adopts a ReplicaSet that matches, and takes it for its newest one', async () => {
    story = await startRollout(deployment('web'))
    await story.stabilize()
    const { cluster, resources } = story.harness
    const [set] = story.replicaSets()
    cluster.change(resources.replicaSets, `default/${set?.metadata.name}`, (object) => {
      object.metadata.ownerReferences = []
    })
    await story.wait(1000)
    expect(story.replicaSets()).toHaveLength(1)
    expect(story.replicaSets()[0]?.metadata.ownerReferences?.[0]).toMatchObject({
      kind: 'Deployment',
      uid: story.deployment().metadata.uid,
    })
    expect(story.pods()).toHaveLength(3)
  })
})
