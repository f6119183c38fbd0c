/** Claims that wait for their first consumer, from the pod to the bound volume: scheduler, binder and provisioner on one server. */
import { afterEach, describe, expect, test } from 'vitest'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
} from '../../components/api/generated/types.ts'
import { persistentVolumeBinder } from '../../components/controller-manager/persistent-volumes/binder.ts'
import { simulatedProvisionerController } from '../../components/controller-manager/simulated-storage/simulated-provisioner.ts'
import { StatusError } from '../../components/machinery/objects/status-error.ts'
import { settle } from '../support/fake-clock.ts'
import { createReconcilerHarness } from '../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../support/reconciler-harness.ts'
import { claim, podWithClaim, selectedNode, storageClass, volume } from '../support/volumes.ts'
import { node } from './build.ts'
import { startScheduler } from './running-scheduler.ts'

const zone = 'topology.kubernetes.io/zone'
let harness: ReconcilerHarness
let stop: AbortController
afterEach(async () => {
  stop.abort(new Error('the test is over'))
  await harness.stop()
})

const local = storageClass('local', { volumeBindingMode: 'WaitForFirstConsumer' })

async function started(objects: {
  claims: readonly PersistentVolumeClaim[]
  volumes?: readonly PersistentVolume[]
  provisioner?: string
}): Promise<string[]> {
  harness = createReconcilerHarness()
  const { cluster, resources } = harness
  cluster.seed(resources.nodes, node('n1', { labels: { [zone]: 'a' } }))
  const { provisioner = local.provisioner } = objects
  cluster.seed(resources.storageClasses, { ...local, provisioner })
  for (const one of objects.volumes ?? []) cluster.seed(resources.persistentVolumes, one)
  for (const one of objects.claims) cluster.seed(resources.persistentVolumeClaims, one)
  await harness.start(persistentVolumeBinder, simulatedProvisionerController)
  stop = new AbortController()
  const recorded = await startScheduler(harness, stop.signal)
  await settle(20)
  return recorded
}

function add(...pods: Pod[]): Promise<void> {
  for (const one of pods) harness.cluster.seed(harness.resources.pods, one)
  return harness.step(1)
}

const nodeOf = (name: string): string | undefined =>
  harness.cluster.peek<Pod>(harness.resources.pods, `default/${name}`)?.spec?.nodeName
const claimNow = (name: string) =>
  harness.cluster.peek<PersistentVolumeClaim>(
    harness.resources.persistentVolumeClaims,
    `default/${name}`,
  )

describe('a claim that waits for its first consumer', () => {
  test('gets a volume where its pod goes, and the pod is bound after it', async () => {
    const recorded = await started({ claims: [claim('c', { className: 'local' })] })
    await add(podWithClaim('p', 'c'))
    expect(claimNow('c')?.metadata.annotations?.[selectedNode]).toBe('n1')
    expect(claimNow('c')?.status?.phase).toBe('Bound')
    expect(nodeOf('p')).toBe('n1')
    expect(recorded).toEqual(['p Scheduled: Successfully assigned default/p to n1'])
    const [made] = harness.cluster.all<PersistentVolume>(harness.resources.persistentVolumes)
    expect(made?.spec?.nodeAffinity?.required?.nodeSelectorTerms).toEqual([
      { matchExpressions: [{ key: zone, operator: 'In', values: ['a'] }] },
    ])
  })

  test('takes the volume that there is, and two pods never take one', async () => {
    await started({
      claims: [claim('c', { className: 'local' }), claim('d', { className: 'local' })],
      volumes: [volume('v', { className: 'local' })],
      provisioner: 'kubernetes.io/no-provisioner',
    })
    await add(podWithClaim('p', 'c'), podWithClaim('q', 'd'))
    await harness.step(30_000)
    const phases = ['c', 'd'].map((name) => claimNow(name)?.status?.phase)
    expect(phases.toSorted()).toEqual(['Bound', 'Pending'])
    expect(['p', 'q'].map(nodeOf).filter((name) => name !== undefined)).toEqual(['n1'])
    harness.cluster.seed(harness.resources.persistentVolumes, volume('w', { className: 'local' }))
    await harness.step(30_000)
    expect(['p', 'q'].map(nodeOf)).toEqual(['n1', 'n1'])
  })

  test('keeps its pod unbound for as long as its provisioner fails, then lets it go', async () => {
    const annotations = { 'skiff.dev/provision': 'fail' }
    await started({ claims: [claim('c', { className: 'local', annotations })] })
    await add(podWithClaim('p', 'c'))
    await harness.step(60_000)
    expect(nodeOf('p')).toBeUndefined()
    const { cluster, resources } = harness
    cluster.change(resources.persistentVolumeClaims, 'default/c', ({ metadata }) => {
      delete metadata.annotations?.['skiff.dev/provision']
    })
    await harness.step(1000)
    expect(nodeOf('p')).toBe('n1')
  })

  test('has its pod tried again when the time for binding is up', async () => {
    const recorded = await started({
      claims: [claim('c', { className: 'local' })],
      provisioner: 'example.com/absent',
    })
    await add(podWithClaim('p', 'c'))
    await harness.step(601_000)
    expect(recorded[0]).toBe(
      'p FailedScheduling: running PreBind plugin "VolumeBinding": binding volumes: timed out waiting for the condition',
    )
  })

  test('has no other pod bound beside it, when it has come after a bound one of its name that the cache still shows', async () => {
    const recorded = await started({ claims: [claim('c', { className: 'local' })] })
    await add(podWithClaim('p', 'c'))
    expect(nodeOf('p')).toBe('n1')
    const bound = claimNow('c')
    let isMadeAnew = true
    harness.cluster.react('get', 'persistentvolumeclaims', () =>
      isMadeAnew && bound !== undefined
        ? { ...bound, metadata: { ...bound.metadata, uid: 'another' } }
        : undefined,
    )
    await add(podWithClaim('q', 'c'))
    expect(nodeOf('q')).toBeUndefined()
    expect(recorded.at(-1)).toBe(
      'q FailedScheduling: running PreBind plugin "VolumeBinding": pvc "default/c" was made anew',
    )
    isMadeAnew = false
    await harness.step(60_000)
    expect(nodeOf('q')).toBe('n1')
  })

  test.each(['Conflict', 'TooManyRequests', 'InternalError'] as const)(
    'is bound in the end though the server answers %s to some writes',
    async (reason) => {
      await started({ claims: [claim('c', { className: 'local' })] })
      let left = 6
      harness.cluster.react('update', '*', () => {
        if (left === 0) return undefined
        left -= 1
        throw new StatusError(reason, 'broken')
      })
      await add(podWithClaim('p', 'c'))
      await harness.step(120_000)
      expect(nodeOf('p')).toBe('n1')
      expect(claimNow('c')?.status?.phase).toBe('Bound')
    },
  )
})

test('a pod with a claim that does not wait is scheduled once the claim is bound', async () => {
  const recorded = await started({ claims: [claim('c', { className: 'now' })] })
  await add(podWithClaim('p', 'c'))
  expect(recorded).toEqual([
    'p FailedScheduling: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
  ])
  harness.cluster.seed(harness.resources.storageClasses, storageClass('now'))
  await harness.step(15_000)
  expect(nodeOf('p')).toBe('n1')
})
