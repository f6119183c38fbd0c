import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { test as base, expect } from 'kube-skiff/vitest'
import { startOperator } from './operator.ts'
import type { Website } from './operator.ts'

/** The operator runs in each test's own namespace, with the rights of the test's own user. */
const test = base
  .override({ clusterOptions: { manifests: [join(import.meta.dirname, 'config')] } })
  .extend('operator', { auto: true }, async ({ client, namespace }, { onCleanup }) => {
    const config = new KubeConfig()
    config.loadFromString(client.kubeconfig())
    const operator = await startOperator(config, namespace)
    onCleanup(() => operator.stop())
    return operator
  })

const website = (spec: Partial<Website['spec']> = {}) => ({
  apiVersion: 'example.com/v1',
  kind: 'Website',
  metadata: { name: 'blog' },
  spec: { image: 'nginx:1.29', ...spec },
})

test('a website gets a deployment, whose pods run', async ({ cluster, namespace, client }) => {
  await client.create(website({ replicas: 2 }))
  await cluster.expect({
    kind: 'Deployment',
    name: 'blog',
    namespace,
    where: ['spec.replicas == 2', 'status.readyReplicas == 2'],
    within: '10s',
  })
  await cluster.expect({
    kind: 'Website',
    name: 'blog',
    namespace,
    where: 'status.readyReplicas == 2',
  })
})

test('a new image is rolled out', async ({ cluster, namespace, client }) => {
  await client.apply(website())
  await cluster.expect({ kind: 'Pod', namespace, where: 'status.phase == Running' })
  await client.apply(website({ image: 'nginx:1.30' }))
  await cluster.expect({
    kind: 'Pod',
    namespace,
    where: ['spec.containers[0].image == nginx:1.30', 'status.phase == Running'],
  })
})

test('a deployment that someone else changes is put right', async ({
  cluster,
  namespace,
  client,
}) => {
  await client.apply(website())
  const deployment = { kind: 'Deployment', name: 'blog', namespace }
  await cluster.expect({ ...deployment, where: 'spec.replicas == 1' })
  await client.patch(deployment, { spec: { replicas: 7 } }, { type: 'merge' })
  await cluster.expect({ ...deployment, where: 'spec.replicas == 1', stays: '200ms' })
})

test('a lost pod is replaced', async ({ cluster, namespace, client }) => {
  await client.apply(website())
  const [pod] = await cluster.expect({ kind: 'Pod', namespace, where: 'status.phase == Running' })
  const name = pod?.metadata?.name ?? ''
  await client.delete({ kind: 'Pod', name })
  await cluster.expect({ kind: 'Pod', name, namespace, absent: true })
  await cluster.expect({ kind: 'Pod', namespace, where: 'status.phase == Running', count: 1 })
})

test('a website goes with its deployment, and with its entry among the hosts', async ({
  cluster,
  namespace,
  client,
}) => {
  const hosts = { kind: 'ConfigMap', name: 'hosts', namespace }
  await client.apply(website())
  await cluster.expect({ ...hosts, where: 'data.blog == blog.example.com' })
  await client.delete({ kind: 'Website', name: 'blog' })
  for (const kind of ['Website', 'Deployment', 'Pod'])
    await cluster.expect({ kind, namespace, absent: true })
  await cluster.expect({ ...hosts, where: 'data.blog absent' })
})

test('a website without an image is rejected', async ({ client }) => {
  await expect(client.create(website({ image: '' }))).rejects.toThrow(/spec\.image/)
})

test('while the webhook forbids an image, the website keeps the old one', async ({
  cluster,
  namespace,
  client,
}) => {
  await client.apply(website())
  await cluster.expect({ kind: 'Pod', namespace, where: 'status.phase == Running' })
  await using _ = await cluster.webhook(
    {
      name: 'images.example.com',
      kind: 'validating',
      rules: [
        {
          apiGroups: ['apps'],
          apiVersions: ['v1'],
          resources: ['deployments'],
          operations: ['CREATE', 'UPDATE'],
        },
      ],
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    },
    ({ object }) => ({
      allowed: object?.['spec'].template.spec.containers[0].image !== 'nginx:latest',
      message: 'name a version',
    }),
  )
  await client.apply(website({ image: 'nginx:latest' }))
  await cluster.expect({
    kind: 'Deployment',
    name: 'blog',
    namespace,
    where: 'spec.template.spec.containers[0].image == nginx:1.29',
    stays: '300ms',
  })
})
