import assert from 'node:assert/strict'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { configure, test } from 'kube-skiff/node-test'
import type { Fixtures } from 'kube-skiff/node-test'
import { startOperator } from '../typescript-vitest/operator.ts'

configure({ cluster: { manifests: [join(import.meta.dirname, '../typescript-vitest/config')] } })

const website = {
  apiVersion: 'example.com/v1',
  kind: 'Website',
  metadata: { name: 'blog' },
  spec: { image: 'nginx:1.29', replicas: 2 },
}

/** Runs the body while the operator runs in the test's own namespace, with the rights of the test's own user. */
const withOperator =
  (body: (fixtures: Fixtures) => Promise<void>) => async (fixtures: Fixtures) => {
    const config = new KubeConfig()
    config.loadFromString(fixtures.client.kubeconfig())
    const operator = await startOperator(config, fixtures.namespace)
    try {
      await body(fixtures)
    } finally {
      await operator.stop()
    }
  }

test(
  'a website gets a deployment, whose pods run',
  withOperator(async ({ cluster, namespace, client }) => {
    await client.create(website)
    await cluster.expect({
      kind: 'Website',
      name: 'blog',
      namespace,
      where: 'status.readyReplicas == 2',
      within: '10s',
    })
    const pods = await client.list({ kind: 'Pod' })
    assert.equal(pods.length, 2)
  }),
)

test(
  'a lost pod is replaced',
  withOperator(async ({ cluster, namespace, client }) => {
    await client.create(website)
    const [pod] = await cluster.expect({
      kind: 'Pod',
      namespace,
      where: 'status.phase == Running',
      count: 2,
    })
    const name = pod?.metadata?.name ?? ''
    await client.delete({ kind: 'Pod', name })
    await cluster.expect({ kind: 'Pod', name, namespace, absent: true })
    await cluster.expect({ kind: 'Pod', namespace, where: 'status.phase == Running', count: 2 })
  }),
)

test(
  'a website goes with its deployment, and with its entry among the hosts',
  withOperator(async ({ cluster, namespace, client }) => {
    const hosts = { kind: 'ConfigMap', name: 'hosts', namespace }
    await client.create(website)
    await cluster.expect({ ...hosts, where: 'data.blog == blog.example.com' })
    await client.delete({ kind: 'Website', name: 'blog' })
    for (const kind of ['Website', 'Deployment', 'Pod'])
      await cluster.expect({ kind, namespace, absent: true })
    await cluster.expect({ ...hosts, where: 'data.blog absent' })
  }),
)

test(
  'pods of a node that is gone come up on another',
  { timeout: 60_000 },
  async ({ ownCluster }) => {
    const cluster = await ownCluster({ nodes: 2 })
    const config = new KubeConfig()
    config.loadFromString(cluster.kubeconfig())
    const operator = await startOperator(config, 'default')
    try {
      await cluster.apply(website)
      const running = { kind: 'Pod', where: 'status.phase == Running', count: 2 }
      const [pod] = await cluster.expect(running)
      const lost = String(pod?.['spec'].nodeName)
      await cluster.node(lost).stop()
      // The node is unreachable after 40 s, and its pods are evicted 5 min later.
      await cluster.clock.advance('7m')
      await cluster.expect({
        kind: 'Pod',
        fieldSelector: `spec.nodeName!=${lost}`,
        where: 'status.phase == Running',
        count: 2,
      })
    } finally {
      await operator.stop()
    }
  },
)
