/** An embedded cluster one of whose components fails after its start. */
import { afterEach, expect, test } from 'vitest'
import { ComponentError, startCluster } from '../../library/index.ts'
import type { Cluster, KubernetesObject, StartClusterOptions } from '../../library/index.ts'

const clusters: Cluster[] = []
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.stop()
})

async function start(options: StartClusterOptions): Promise<Cluster> {
  const cluster = await startCluster(options)
  clusters.push(cluster)
  return cluster
}

const web: KubernetesObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web' },
  spec: { containers: [{ name: 'web', image: 'nginx' }] },
}
const running = { kind: 'Pod', name: 'web', where: 'status.phase == Running' }

/** A scheduler that may not run beside another ends when another has its lease. */
async function takeLease(cluster: Cluster): Promise<void> {
  const lease = { kind: 'Lease', namespace: 'kube-system', name: 'kube-scheduler' }
  await cluster.expect({ ...lease, where: 'spec.holderIdentity exists' })
  const spec = { holderIdentity: 'another', leaseDurationSeconds: 3600 }
  await cluster.admin.patch(lease, { spec }, { type: 'merge' })
}

test('a component that fails ends expectations at once, and every call that needs it says so', async () => {
  const cluster = await start({ flags: { scheduler: { 'leader-elect': 'true' } } })
  const waiting = cluster.expect({ ...running, within: '10h' })
  const outcome = waiting.catch((error: unknown) => error)
  await takeLease(cluster)
  const lost = 'the scheduler failed: leadership of kube-scheduler was lost'
  await expect(cluster.clock.advance('30s')).rejects.toThrow(lost)
  expect(await outcome).toBeInstanceOf(ComponentError)
  await expect(cluster.expect(running)).rejects.toThrow(lost)
  await expect(cluster.snapshot()).rejects.toThrow(lost)
  await expect(cluster.fork()).rejects.toThrow('cluster.reset()')
  // What needs no other component goes on.
  await cluster.admin.create(web)
  expect(await cluster.story()).toMatch(new RegExp(`^${lost}`))
  expect((await cluster.logs('scheduler')).at(-1)).toContain('was lost')

  await cluster.reset()
  await cluster.admin.create(web)
  // The scheduler of before holds the lease until it ends.
  await cluster.clock.advance('30s')
  await cluster.expect(running)
})
