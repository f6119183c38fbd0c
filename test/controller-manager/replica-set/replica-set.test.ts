import { afterEach, describe, expect, it } from 'vitest'
import type { Pod, ReplicaSet } from '../../../components/api/generated/types.ts'
import {
  replicaSetController,
  replicationController,
} from '../../../components/controller-manager/replica-set/replica-set.ts'
import { ageRatios } from '../../../components/controller-manager/replica-set/replica-set-metrics.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'
import { replicaSet, runPod, runPods, template } from '../../support/workloads.ts'

let harness: ReconcilerHarness
afterEach(() => harness.stop())

async function started(...sets: ReplicaSet[]): Promise<ReconcilerHarness> {
  harness = createReconcilerHarness()
  for (const set of sets) harness.cluster.seed(harness.resources.replicaSets, set)
  await harness.start(replicaSetController)
  return harness
}

function pods(): Pod[] {
  return harness.cluster.all<Pod>(harness.resources.pods)
}

function web(): ReplicaSet {
  return harness.cluster.peek<ReplicaSet>(
    harness.resources.replicaSets,
    'default/web',
  ) as ReplicaSet
}

function scale(replicas: number): void {
  harness.cluster.change(harness.resources.replicaSets, 'default/web', (set) => {
    set['spec'].replicas = replicas
  })
}

describe('replicaset-controller', () => {
  it('makes the pods it lacks, owned by it and named after it, and says so', async () => {
    const { cluster, events } = await started(replicaSet('web', 3))
    expect(pods()).toHaveLength(3)
    const [pod] = pods()
    expect(pod?.metadata.name).toMatch(/^web-/)
    expect(pod?.metadata.labels).toEqual({ app: 'web' })
    expect(pod?.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        name: 'web',
        uid: web().metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ])
    expect(events.filter((event) => event.includes('SuccessfulCreate'))).toHaveLength(3)
    expect(events[0]).toBe(
      `Normal SuccessfulCreate ReplicaSet default/web: Created pod: ${pods()[0]?.metadata.name}`,
    )
    expect(web().status).toEqual({ replicas: 3, fullyLabeledReplicas: 3, observedGeneration: 1 })
    runPods(cluster, { limit: 2 })
    await harness.step()
    expect(web().status).toMatchObject({ replicas: 3, readyReplicas: 2, availableReplicas: 2 })
  })

  it('replaces a deleted pod and a failed one', async () => {
    const { cluster, resources } = await started(replicaSet('web', 2))
    cluster.remove(resources.pods, `default/${pods()[0]?.metadata.name}`)
    await harness.step()
    expect(pods()).toHaveLength(2)
    cluster.change(resources.pods, `default/${pods()[0]?.metadata.name}`, (pod) => {
      pod['status'] = { phase: 'Failed' }
    })
    await harness.step()
    expect(pods()).toHaveLength(3)
    expect(web().status?.replicas).toBe(2)
  })

  it('gives up pods that are not ready before ready ones', async () => {
    const { cluster } = await started(replicaSet('web', 4))
    const [first, second, third] = pods()
    for (const pod of [first, second]) if (pod) runPod(cluster, pod)
    if (third) runPod(cluster, third, false)
    await harness.step()
    scale(2)
    await harness.step()
    expect(pods().map(({ metadata }) => metadata.name)).toEqual(
      [first, second].map((pod) => pod?.metadata.name),
    )
    expect(harness.events.filter((event) => event.includes('SuccessfulDelete'))).toHaveLength(2)
  })

  it('never makes a pod twice while its informer lags behind', async () => {
    harness = createReconcilerHarness()
    const { cluster, resources } = harness
    cluster.seed(resources.replicaSets, replicaSet('web', 3))
    // The list was empty, and no watch shows what came since.
    cluster.react('watch', 'pods', () => {
      throw new StatusError('ServiceUnavailable', 'not now')
    })
    await harness.start(replicaSetController)
    expect(pods()).toHaveLength(3)
    for (let round = 1; round <= 5; round += 1) {
      cluster.change(resources.replicaSets, 'default/web', (set) => {
        set.metadata.annotations = { round: String(round) }
      })
      await harness.step(10)
    }
    expect(pods()).toHaveLength(3)
  })

  it('starts slowly: one refused pod ends the attempt, and the status says why', async () => {
    harness = createReconcilerHarness()
    const { cluster, resources } = harness
    cluster.seed(resources.replicaSets, replicaSet('web', 100))
    const allow = cluster.react('create', 'pods', () => {
      throw new StatusError('Forbidden', 'pods "web-x" is forbidden: exceeded quota')
    })
    await harness.start(replicaSetController)
    const attempts = cluster.calls.filter(({ verb }) => verb === 'create').length
    // The second because the status that was written is news to the controller itself.
    expect(attempts).toBeLessThanOrEqual(2)
    expect(harness.events[0]).toBe(
      'Warning FailedCreate ReplicaSet default/web: Error creating: pods "web-x" is forbidden: exceeded quota',
    )
    expect(web().status?.conditions).toEqual([
      {
        type: 'ReplicaFailure',
        status: 'True',
        reason: 'FailedCreate',
        message: 'pods "web-x" is forbidden: exceeded quota',
        lastTransitionTime: '2025-01-01T00:00:00Z',
      },
    ])
    allow()
    await harness.step(60_000)
    expect(pods()).toHaveLength(100)
    expect(web().status?.conditions).toBeUndefined()
  })

  it('adopts a lone pod that matches and lets go of one that no longer does', async () => {
    const { cluster, resources } = await started(replicaSet('web', 2))
    const [first] = pods()
    cluster.change(resources.pods, `default/${first?.metadata.name}`, (pod) => {
      pod.metadata.labels = { app: 'debug' }
    })
    await harness.step()
    expect(pods()).toHaveLength(3)
    const released = pods().find(({ metadata }) => metadata.name === first?.metadata.name)
    expect(released?.metadata.ownerReferences).toEqual([])
    cluster.change(resources.pods, `default/${first?.metadata.name}`, (pod) => {
      pod.metadata.labels = { app: 'web' }
    })
    await harness.step()
    expect(pods()).toHaveLength(2)
    expect(pods().every(({ metadata }) => metadata.ownerReferences?.length === 1)).toBe(true)
  })

  it('counts a pod as available only after minReadySeconds, without being told', async () => {
    const set = replicaSet('web', 1)
    const { cluster } = await started({ ...set, spec: { ...set.spec!, minReadySeconds: 30 } })
    runPods(cluster)
    await harness.step()
    expect(web().status).toMatchObject({ readyReplicas: 1 })
    expect(web().status?.availableReplicas).toBeUndefined()
    await harness.step(29_000)
    expect(web().status?.availableReplicas).toBeUndefined()
    await harness.step(1000)
    expect(web().status?.availableReplicas).toBe(1)
  })

  it('does nothing more for a ReplicaSet that is being deleted', async () => {
    const { cluster, resources } = await started(replicaSet('web', 1))
    cluster.change(resources.replicaSets, 'default/web', (set) => {
      set.metadata.finalizers = ['foregroundDeletion']
    })
    cluster.remove(resources.replicaSets, 'default/web')
    await harness.step()
    cluster.remove(resources.pods, `default/${pods()[0]?.metadata.name}`)
    await harness.step()
    expect(pods()).toHaveLength(0)
  })
})

describe('replicationcontroller-controller', () => {
  it('keeps pods by a plain selector', async () => {
    harness = createReconcilerHarness()
    const { cluster, resources } = harness
    cluster.seed(resources.replicationControllers, {
      metadata: { name: 'old', namespace: 'default' },
      spec: { replicas: 2, selector: { app: 'old' }, template: template('old') },
    })
    await harness.start(replicationController)
    expect(pods()).toHaveLength(2)
    expect(pods()[0]?.metadata.ownerReferences?.[0]).toMatchObject({
      apiVersion: 'v1',
      kind: 'ReplicationController',
    })
  })
})

describe('the metrics of ReplicaSets', () => {
  it('tell how old the deleted pods were, against the youngest ready one', async () => {
    const { cluster } = await started(replicaSet('web', 1))
    runPods(cluster)
    await harness.step(60_000)
    scale(2)
    await harness.step()
    runPods(cluster)
    await harness.step(20_000)
    scale(1)
    await harness.step()
    const name = 'replicaset_controller_sorting_deletion_age_ratio'
    expect(harness.shown(name)).toEqual(['1, 1'])
    expect(pods()).toHaveLength(1)
  })

  it('consider ready pods alone', () => {
    const pod = (createdAt: string, status: string): Pod => ({
      metadata: { creationTimestamp: createdAt },
      status: { conditions: [{ type: 'Ready', status }] },
    })
    const old = pod('2025-01-01T00:00:00Z', 'True')
    const young = pod('2025-01-01T00:00:35Z', 'True')
    const broken = pod('2025-01-01T00:00:40Z', 'False')
    const nowMs = Date.parse('2025-01-01T00:00:50Z')
    expect(ageRatios([old, young, broken], [old, broken], nowMs)).toEqual([3])
    expect(ageRatios([broken], [broken], nowMs)).toEqual([])
  })
})
