import { describe, expect, test } from 'vitest'
import type { Pod, Volume } from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { FakeCluster } from '../../support/fake-client.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { claim } from '../../support/volumes.ts'
import { pod, runPod } from '../build.ts'

const clock = (): FakeClock => new FakeClock('2025-01-01T00:00:00Z')

async function runWith(volume: Volume, seed: (cluster: FakeCluster) => void = () => {}) {
  const cluster = new FakeCluster(clock())
  seed(cluster)
  const run = await runPod(pod('web', { volumes: [volume] }), {
    cluster,
    clock: cluster.clock as FakeClock,
  })
  return { cluster, run, resources: resourcesOf(cluster.dialect) }
}

const claimed: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'c' } }
const bound = { phase: 'Bound' }
const words =
  'FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: error processing PVC default/c: '

describe('a pod with a claim', () => {
  test('starts at once when the claim is bound', async () => {
    const { run } = await runWith(claimed, (cluster) => {
      const { persistentVolumeClaims } = resourcesOf(cluster.dialect)
      cluster.seed(persistentVolumeClaims, claim('c', { volumeName: 'v', status: bound }))
    })
    expect(run.statuses).toHaveLength(1)
    expect(run.last.phase).toBe('Running')
  })

  test.each([
    [undefined, 'failed to fetch PVC from API server: persistentvolumeclaims "c" not found'],
    [claim('c'), 'PVC is not bound'],
    [claim('c', { status: bound }), 'PVC has empty pvc.Spec.VolumeName'],
  ])('waits, and says why: %#', async (found, why) => {
    const { run } = await runWith(claimed, (cluster) => {
      if (found !== undefined)
        cluster.seed(resourcesOf(cluster.dialect).persistentVolumeClaims, found)
    })
    expect(run.events).toEqual([`${words}${why}`])
    await run.clock.step(200)
    expect(run.last.phase).toBe('Pending')
    expect(run.last.containerStatuses?.[0]?.state?.waiting?.reason).toBe('ContainerCreating')
  })

  test('starts when the claim is bound later, and asks ever more seldom until then', async () => {
    const { run, cluster, resources } = await runWith(claimed)
    await run.clock.step(10_000)
    // At 0, 0.5, 1.5, 3.5 and 7.5 s.
    expect(run.events).toHaveLength(5)
    cluster.seed(resources.persistentVolumeClaims, claim('c', { volumeName: 'v', status: bound }))
    await run.clock.step(6000)
    expect(run.last.phase).toBe('Running')
  })

  test('that is being deleted does not start', async () => {
    const { run } = await runWith(claimed, (cluster) => {
      const { persistentVolumeClaims } = resourcesOf(cluster.dialect)
      const one = claim('c', { volumeName: 'v', status: bound, finalizers: ['a/b'] })
      cluster.seed(persistentVolumeClaims, one)
      cluster.remove(persistentVolumeClaims, 'default/c')
    })
    expect(run.events).toEqual([`${words}PVC is being deleted`])
  })

  test('ends when it is deleted while it waits', async () => {
    const { run } = await runWith(claimed)
    await run.delete(0)
    await run.clock.step(1000)
    expect(run.deletions).toBe(1)
  })
})

describe('a pod with ConfigMaps and Secrets', () => {
  const setUp = 'FailedMount: MountVolume.SetUp failed for volume "v" : '
  test.each<[Volume, string]>([
    [{ name: 'v', configMap: { name: 'x' } }, 'configmap "x" not found'],
    [{ name: 'v', secret: { secretName: 'x' } }, 'secret "x" not found'],
    [{ name: 'v', projected: { sources: [{ secret: { name: 'x' } }] } }, 'secret "x" not found'],
  ])('waits for those that are missing: %#', async (volume, why) => {
    const { run } = await runWith(volume)
    expect(run.events).toEqual([`${setUp}${why}`])
  })

  test('waits for a key that is missing', async () => {
    const { run } = await runWith(
      { name: 'v', configMap: { name: 'x', items: [{ key: 'a', path: 'a' }] } },
      (cluster) => {
        const metadata = { name: 'x', namespace: 'default' }
        cluster.seed(resourcesOf(cluster.dialect).configMaps, { metadata, data: { b: '' } })
      },
    )
    expect(run.events).toEqual([`${setUp}references non-existent config key: a`])
  })

  test.each<Volume>([
    { name: 'v', configMap: { name: 'x', optional: true } },
    { name: 'v', secret: { secretName: 'x', optional: true } },
    { name: 'v', projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } },
    { name: 'v', emptyDir: {} },
  ])('starts without what is optional or everywhere: %#', async (volume) => {
    const { run } = await runWith(volume)
    expect(run.last.phase).toBe('Running')
  })
})

test('a container’s status names what it has mounted', async () => {
  const volumeMounts = [
    { name: 'v', mountPath: '/data' },
    { name: 'v', mountPath: '/ro', readOnly: true },
  ]
  const spec: Partial<NonNullable<Pod['spec']>> = {
    volumes: [{ name: 'v', emptyDir: {} }],
    containers: [{ name: 'main', image: 'app:1', volumeMounts }],
  }
  const run = await runPod(pod('web', spec))
  expect(run.last.containerStatuses?.[0]?.volumeMounts).toEqual([
    { name: 'v', mountPath: '/data' },
    { name: 'v', mountPath: '/ro', readOnly: true, recursiveReadOnly: 'Disabled' },
  ])
})
