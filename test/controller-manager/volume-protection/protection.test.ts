import { afterEach, describe, expect, it } from 'vitest'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
} from '../../../components/api/generated/types.ts'
import { claimProtection } from '../../../components/controller-manager/volume-protection/claim-protection.ts'
import { volumeProtection } from '../../../components/controller-manager/volume-protection/volume-protection.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'
import { claim, podWithClaim, volume } from '../../support/volumes.ts'

let harness: ReconcilerHarness
afterEach(() => harness.stop())

const ofClaims = 'kubernetes.io/pvc-protection'
const ofVolumes = 'kubernetes.io/pv-protection'

/** A protected claim, deleted while those pods are there. */
async function deletedWith(pods: readonly Pod[]): Promise<void> {
  harness = createReconcilerHarness()
  const { cluster, resources } = harness
  cluster.seed(resources.persistentVolumeClaims, claim('c', { finalizers: [ofClaims] }))
  for (const pod of pods) cluster.seed(resources.pods, pod)
  cluster.remove(resources.persistentVolumeClaims, 'default/c')
  await harness.start(claimProtection)
}

function claimNow(): PersistentVolumeClaim | undefined {
  return harness.cluster.peek(harness.resources.persistentVolumeClaims, 'default/c')
}

function ephemeralPod(name: string): Pod {
  const pod = podWithClaim(name, 'unused', 'n1')
  const volumes = [{ name: 'c', ephemeral: { volumeClaimTemplate: { spec: {} } } }]
  return {
    ...pod,
    metadata: { ...pod.metadata, uid: `${name}-uid` },
    spec: { containers: [], ...pod.spec, volumes },
  }
}

describe('a deleted claim', () => {
  const finished: Pod = { ...podWithClaim('p', 'c', 'n1'), status: { phase: 'Succeeded' } }
  it.each<[string, readonly Pod[], boolean]>([
    ['goes when no pod names it', [podWithClaim('p', 'other', 'n1')], false],
    ['goes when the pods that name it have no node', [podWithClaim('p', 'c')], false],
    ['stays while a pod on a node names it', [podWithClaim('p', 'c', 'n1')], true],
    ['stays while a finished pod names it', [finished], true],
  ])('%s', async (_, pods, stays) => {
    await deletedWith(pods)
    expect(claimNow() !== undefined).toBe(stays)
  })

  it('goes with the last pod that uses it', async () => {
    await deletedWith([podWithClaim('p', 'c', 'n1'), podWithClaim('q', 'c', 'n2')])
    const { cluster, resources } = harness
    cluster.remove(resources.pods, 'default/p')
    await harness.step()
    expect(claimNow()).toBeDefined()
    cluster.remove(resources.pods, 'default/q')
    await harness.step()
    expect(claimNow()).toBeUndefined()
  })

  it('stays for a pod that the cache does not show yet, and goes when the server shows it no more', async () => {
    harness = createReconcilerHarness()
    const { cluster, resources } = harness
    cluster.seed(resources.persistentVolumeClaims, claim('c', { finalizers: [ofClaims] }))
    await harness.start(claimProtection)
    // Only the server has the pod.
    let items = [podWithClaim('p', 'c', 'n1')]
    cluster.react('list', 'pods', () => ({ metadata: {}, items }))
    cluster.remove(resources.persistentVolumeClaims, 'default/c')
    await harness.step()
    expect(claimNow()).toBeDefined()
    // The list was an old one: no event of the pod is to come.
    items = []
    await harness.step(10_000)
    expect(claimNow()).toBeUndefined()
  })
})

describe('the claim of an ephemeral volume', () => {
  it('stays for the pod that owns it', async () => {
    harness = createReconcilerHarness()
    const { cluster, resources } = harness
    const own = claim('p-c', { finalizers: [ofClaims] })
    own.metadata.ownerReferences = [
      { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'p-uid', controller: true },
    ]
    cluster.seed(resources.persistentVolumeClaims, own)
    cluster.seed(resources.pods, ephemeralPod('p'))
    cluster.remove(resources.persistentVolumeClaims, 'default/p-c')
    await harness.start(claimProtection)
    expect(cluster.peek(resources.persistentVolumeClaims, 'default/p-c')).toBeDefined()
    // Deleted by force: its agent no longer looks at it.
    cluster.change(resources.pods, 'default/p', ({ metadata }) => {
      metadata.deletionTimestamp = '2025-01-01T00:00:00Z'
      metadata.deletionGracePeriodSeconds = 0
      metadata.finalizers = ['example.com/hold']
    })
    await harness.step()
    expect(cluster.peek(resources.persistentVolumeClaims, 'default/p-c')).toBeUndefined()
  })
})

describe('protection', () => {
  it('is put on claims and volumes that lack it, and then nothing more is written', async () => {
    harness = createReconcilerHarness()
    const { cluster, resources } = harness
    cluster.seed(resources.persistentVolumeClaims, claim('c', { finalizers: ['example.com/own'] }))
    cluster.seed(resources.persistentVolumes, volume('v'))
    await harness.start(claimProtection, volumeProtection)
    expect(claimNow()?.metadata.finalizers).toEqual(['example.com/own', ofClaims])
    const found = cluster.peek<PersistentVolume>(resources.persistentVolumes, 'v')
    expect(found?.metadata.finalizers).toEqual([ofVolumes])
    await harness.step(600_000)
    expect(cluster.writes).toEqual([
      'update persistentvolumeclaims default/c',
      'update persistentvolumes v',
    ])
  })

  it.each([
    ['Bound', true],
    ['Available', false],
    ['Released', false],
    ['Failed', false],
  ])('of a deleted volume that is %s: it stays: %s', async (phase, stays) => {
    harness = createReconcilerHarness()
    const { cluster, resources } = harness
    cluster.seed(resources.persistentVolumes, volume('v', { phase, finalizers: [ofVolumes] }))
    cluster.remove(resources.persistentVolumes, 'v')
    await harness.start(volumeProtection)
    expect(cluster.peek(resources.persistentVolumes, 'v') !== undefined).toBe(stays)
  })
})
