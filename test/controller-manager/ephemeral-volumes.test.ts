import { afterEach, describe, expect, it } from 'vitest'
import type { PersistentVolumeClaim, Pod } from '../../components/api/generated/types.ts'
import { ephemeralVolumes } from '../../components/controller-manager/ephemeral-volumes.ts'
import { StatusError } from '../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../support/reconciler-harness.ts'
import { claim } from '../support/volumes.ts'

let harness: ReconcilerHarness
afterEach(() => harness.stop())

const spec = {
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: '1Gi' } },
  storageClassName: 'standard',
}

function pod(name = 'p'): Pod {
  const volumeClaimTemplate = {
    metadata: { labels: { app: 'web' }, annotations: { note: 'x' } },
    spec,
  }
  return {
    metadata: { name, namespace: 'default', uid: `${name}-uid` },
    spec: {
      containers: [],
      volumes: [
        { name: 'scratch', ephemeral: { volumeClaimTemplate } },
        { name: 'other', emptyDir: {} },
      ],
    },
  }
}

function claims(): PersistentVolumeClaim[] {
  return harness.cluster.all(harness.resources.persistentVolumeClaims)
}

async function started(...pods: Pod[]): Promise<void> {
  for (const one of pods) harness.cluster.seed(harness.resources.pods, one)
  await harness.start(ephemeralVolumes)
}

describe('ephemeral-volume-controller', () => {
  it('makes the claim of a pod’s ephemeral volume, owned by the pod', async () => {
    harness = createReconcilerHarness()
    await started(pod())
    expect(claims()).toHaveLength(1)
    expect(claims()[0]).toMatchObject({
      metadata: {
        name: 'p-scratch',
        labels: { app: 'web' },
        annotations: { note: 'x' },
        ownerReferences: [
          {
            apiVersion: 'v1',
            kind: 'Pod',
            name: 'p',
            uid: 'p-uid',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec,
    })
    await harness.step(600_000)
    expect(harness.cluster.writes).toHaveLength(1)
  })

  it('makes it again when it is deleted while the pod lives', async () => {
    harness = createReconcilerHarness()
    await started(pod())
    harness.cluster.remove(harness.resources.persistentVolumeClaims, 'default/p-scratch')
    await harness.step()
    expect(claims()).toHaveLength(1)
  })

  it('makes none for a pod that is being deleted', async () => {
    harness = createReconcilerHarness()
    const ending = pod()
    ending.metadata.deletionTimestamp = '2025-01-01T00:00:00Z'
    await started(ending)
    expect(claims()).toEqual([])
  })

  it('leaves a claim of that name alone that is not the pod’s, and says so', async () => {
    harness = createReconcilerHarness()
    harness.cluster.seed(harness.resources.persistentVolumeClaims, claim('p-scratch'))
    await started(pod())
    expect(harness.events[0]).toBe(
      'Warning FailedBinding Pod default/p: ephemeral volume scratch: PVC default/p-scratch was not created for pod default/p (pod is not owner)',
    )
    expect(harness.cluster.writes).toEqual([])
  })

  it('tries again what the server refuses', async () => {
    harness = createReconcilerHarness()
    const allow = harness.cluster.react('create', 'persistentvolumeclaims', () => {
      throw new StatusError('Forbidden', 'exceeded quota')
    })
    await started(pod())
    expect(harness.events[0]).toBe(
      'Warning FailedBinding Pod default/p: ephemeral volume scratch: create PVC p-scratch: exceeded quota',
    )
    allow()
    await harness.step(60_000)
    expect(claims()).toHaveLength(1)
  })
})

describe('the metrics of ephemeral-volume-controller', () => {
  it('count the claims that it asked for, and those that it did not get', async () => {
    harness = createReconcilerHarness()
    harness.cluster.react('create', 'persistentvolumeclaims', ({ key }) => {
      if (key === 'default/q-scratch') throw new StatusError('Forbidden', 'no')
    })
    await started(pod('p'), pod('q'))
    expect(harness.shown('ephemeral_volume_controller_create_total')).toEqual(['2'])
    expect(harness.shown('ephemeral_volume_controller_create_failures_total')).toEqual(['1'])
  })
})
