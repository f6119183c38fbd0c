/** Crowds: hundreds of simulated nodes in a few processes, and what runs on them. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { nodeNames } from '../../cluster/plan/cluster-config.ts'
import type { Deployment, Lease, Node, Pod } from '../../components/api/generated/types.ts'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { createClient } from '../../components/client/client.ts'
import { connectionFrom, readKubeconfig } from '../../components/client/kubeconfig.ts'
import { eventually } from '../support/eventually.ts'
import { processesIn } from './machine.ts'
import { createPlace } from './place.ts'

const { kubernetes: dialect } = dialects
const resources = resourcesOf(dialect)
const namespace = 'default'

function deployment(name: string, replicas: number): Deployment {
  const labels = { app: name }
  const containers = [{ name: 'main', image: 'example.com/app:1' }]
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  } as Deployment
}

test('two hundred nodes in two processes run a thousand pods, and down leaves nothing', async () => {
  const place = createPlace()
  onTestFinished(() => place[Symbol.asyncDispose]())
  const simulated = ['--simulated-nodes', '100']
  const cluster = await place.up('default', ['--nodes', '0', ...simulated, '--wait', '5m'])
  const { client } = cluster
  const added = await place.run(['node', 'add', 'crowd', '--simulated', '100', '--wait', '5m'])
  expect(added.stdout).toMatch(/^100 nodes Ready/)

  // Each has its own range of pod addresses, and its own lease.
  const wanted = [...nodeNames({ name: 'simulated', simulated: 100 })]
  wanted.push(...nodeNames({ name: 'crowd', simulated: 100 }))
  const nodes = await eventually(async () => {
    const { items } = await client.resource<Node>(resources.nodes).list()
    const ranges = new Set(items.map(({ spec }) => spec?.podCIDR))
    expect(ranges.size).toBe(200)
    expect(ranges).not.toContain(undefined)
    return items
  })
  expect(nodes.map(({ metadata }) => metadata.name).toSorted()).toEqual(wanted.toSorted())
  await eventually(async () => {
    const leases = client.resource<Lease>(resources.leases)
    const { items } = await leases.list({ namespace: dialect.nodeLeaseNamespace })
    expect(items.map(({ spec }) => spec?.holderIdentity).toSorted()).toEqual(wanted.toSorted())
  })

  const deployments = client.resource<Deployment>(resources.deployments)
  await deployments.create(deployment('a', 500))
  await deployments.create(deployment('b', 500))
  const pods = client.resource<Pod>(resources.pods)
  await eventually(async () => {
    const { items } = await deployments.list({ namespace })
    expect(items.map(({ status }) => status?.readyReplicas)).toEqual([500, 500])
  }, 300_000)
  const { items } = await pods.list({ namespace })
  expect(new Set(items.map(({ status }) => status?.podIP)).size).toBe(1000)
  expect(new Set(items.map(({ spec }) => spec?.nodeName)).size).toBe(200)

  // A node of a crowd reads with its own identity: its pods, and no others'.
  const folder = join(cluster.paths.nodes, 'crowd', 'nodes', 'crowd-7')
  const connection = await connectionFrom(await readKubeconfig(join(folder, 'kubeconfig')))
  const node = createClient({ ...connection, dialect })
  onTestFinished(() => node.close())
  const podsOn = async (name: string) =>
    await node.resource<Pod>(resources.pods).list({ fieldSelector: `spec.nodeName=${name}` })
  const own = await podsOn('crowd-7')
  expect(own.items.length).toBeGreaterThan(0)
  expect(own.items.every(({ spec }) => spec?.nodeName === 'crowd-7')).toBe(true)
  await expect(podsOn('crowd-8')).rejects.toMatchObject({ code: 403 })
  await expect(node.resource<Pod>(resources.pods).list()).rejects.toMatchObject({ code: 403 })

  await deployments.deleteCollection({ namespace }, { propagationPolicy: 'Background' })
  await eventually(async () => {
    const left = await pods.list({ namespace, limit: 1 })
    expect(left.items).toEqual([])
  }, 300_000)
  const status = await place.run(['status', '-o', 'json'])
  expect(JSON.parse(status.stdout)).toMatchObject({ ready: true })

  cluster.disconnect()
  expect((await place.run(['down'])).code).toBe(0)
  expect(processesIn(place.root)).toEqual([])
  expect(place.leftovers()).toEqual([])
})
