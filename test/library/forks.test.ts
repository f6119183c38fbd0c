import { KubeConfig, makeInformer, CoreV1Api } from '@kubernetes/client-node'
import type { V1ConfigMap } from '@kubernetes/client-node'
import { expect, it } from 'vitest'
import { startCluster } from '../../library/index.ts'

const objects = 5000
const forks = 100

const map = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { text: 'x'.repeat(200) },
})

it('a hundred forks of 5,000 objects are changed on their own, and an informer on the original misses nothing', async () => {
  await using cluster = await startCluster({ nodes: 0, components: [] })
  for (let at = 0; at < objects; at += 100) {
    const batch = Array.from({ length: 100 }, (_, index) => map(`object-${at + index}`))
    await Promise.all(batch.map((object) => cluster.admin.create(object)))
  }
  const config = new KubeConfig()
  config.loadFromString(cluster.kubeconfig())
  const api = config.makeApiClient(CoreV1Api)
  const path = '/api/v1/namespaces/default/configmaps'
  const informer = makeInformer<V1ConfigMap>(config, path, () =>
    api.listNamespacedConfigMap({ namespace: 'default' }),
  )
  const seen = new Set<string>()
  const lost: string[] = []
  informer.on('add', ({ metadata }) => void seen.add(metadata?.name ?? ''))
  informer.on('delete', ({ metadata }) => void lost.push(metadata?.name ?? ''))
  await informer.start()
  expect(seen.size).toBe(objects)
  const running = []
  for (let at = 0; at < forks; at += 1) {
    const fork = await cluster.fork()
    running.push(fork)
    await fork.admin.delete({ kind: 'ConfigMap', name: `object-${at}` })
    await fork.admin.create(map(`fork-${at}`))
    await cluster.admin.create(map(`original-${at}`))
  }
  for (const [at, fork] of running.entries()) {
    const names = new Set(
      (await fork.admin.list({ kind: 'ConfigMap' })).map((one) => one.metadata?.name),
    )
    // What the original had when the fork was made, one less and one more.
    expect(names.size).toBe(objects + at)
    expect([names.has(`object-${at}`), names.has(`fork-${at}`)]).toEqual([false, true])
    await fork.stop()
  }
  await expect.poll(() => seen.size).toBe(objects + forks)
  expect(lost).toEqual([])
  await informer.stop()
}, 600_000)
