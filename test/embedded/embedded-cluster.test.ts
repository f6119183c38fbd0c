import { afterEach, describe, expect, it } from 'vitest'
import { issue } from '../../certs/pki.ts'
import { loadAuthority } from '../../certs/authority.ts'
import { adminSubject, clientProfile } from '../../certs/profiles.ts'
import { dialects } from '../../components/api/dialect.ts'
import type { Deployment, Node, Pod } from '../../components/api/generated/types.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { createClient } from '../../components/client/client.ts'
import type { Client } from '../../components/client/client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { EmbeddedCluster } from '../../embedded/embedded-cluster.ts'
import type { EmbeddedClusterOptions } from '../../embedded/embedded-options.ts'
import { deployment } from '../support/workloads.ts'

const resources = resourcesOf(dialects.kubernetes)
const ends: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

async function start(options: Partial<EmbeddedClusterOptions> = {}): Promise<EmbeddedCluster> {
  return kept(
    await EmbeddedCluster.start({
      nodes: [{ name: 'node-1', flags: {} }],
      components: ['controller-manager', 'scheduler'],
      extraFlags: {},
      port: 0,
      seed: 1,
      startAtMs: undefined,
      initialState: undefined,
      ...options,
    }),
  )
}

function kept(cluster: EmbeddedCluster): EmbeddedCluster {
  ends.push(() => cluster.close())
  return cluster
}

/** Over a real connection, as the administrator. */
function clientOf({ server, authority }: EmbeddedCluster): Client {
  const { certificatePem: cert, privateKeyPem: key } = issue(loadAuthority(authority), {
    profile: clientProfile(adminSubject),
    nowMs: Date.now(),
  })
  const client = createClient({
    server,
    ca: authority.certificatePem,
    credentials: { cert, key },
    dialect: dialects.kubernetes,
  })
  ends.push(() => client.close())
  return client
}

const available = (client: Client, replicas: number) =>
  expect
    .poll(async () => {
      const web = client.resource<Deployment & KubeObject>(resources.deployments)
      const { status } = await web.get({ namespace: 'default', name: 'web' })
      return status?.availableReplicas
    })
    .toBe(replicas)

describe('an embedded cluster', () => {
  it('runs a Deployment on its nodes, for a client over HTTPS', async () => {
    const cluster = await start()
    const client = clientOf(cluster)
    await client.resource(resources.deployments).create(deployment('web') as KubeObject)
    await available(client, 3)
    const { items } = await client.resource<Pod & KubeObject>(resources.pods).list()
    expect(items.map(({ spec }) => spec?.nodeName)).toEqual(['node-1', 'node-1', 'node-1'])
  })

  it('marks a node that is stopped, once time has gone on, and takes it back', async () => {
    const cluster = await start()
    const client = clientOf(cluster)
    const ready = async (): Promise<string | undefined> => {
      const node = await client.resource<Node & KubeObject>(resources.nodes).get({ name: 'node-1' })
      return node.status?.conditions?.find(({ type }) => type === 'Ready')?.status
    }
    await cluster.stopNode('node-1')
    expect(await ready()).toBe('True')
    await cluster.clock.advance(60_000)
    await expect.poll(ready).toBe('Unknown')
    await cluster.startNode('node-1')
    await expect.poll(ready).toBe('True')
  })

  it('goes on in a fork from the same revision, and the original does not notice', async () => {
    const cluster = await start()
    const client = clientOf(cluster)
    await client.resource(resources.deployments).create(deployment('web') as KubeObject)
    await available(client, 3)
    const image = await cluster.image()
    const fork = kept(await EmbeddedCluster.from(image, 0))
    const other = clientOf(fork)
    const pods = await other.resource<Pod & KubeObject>(resources.pods).list()
    expect(pods.items.map(({ status }) => status?.phase)).toEqual(['Running', 'Running', 'Running'])
    await other
      .resource(resources.deployments)
      .patch({ namespace: 'default', name: 'web' }, { spec: { replicas: 5 } }, { type: 'merge' })
    await available(other, 5)
    await available(client, 3)
    expect(fork.port).not.toBe(cluster.port)
  })

  it('gives the same names from the same image', async () => {
    const cluster = await start()
    const image = await cluster.image()
    await cluster.close()
    const namesOf = async (): Promise<string[]> => {
      const again = await EmbeddedCluster.from(image, 0)
      try {
        const client = clientOf(again)
        const configMaps = client.resource(resources.configMaps)
        const metadata = { generateName: 'some-', namespace: 'default' }
        return [
          (await configMaps.create({ metadata })).metadata.name ?? '',
          (await configMaps.create({ metadata })).metadata.name ?? '',
        ]
      } finally {
        await again.close()
      }
    }
    const first = await namesOf()
    expect(new Set(first).size).toBe(2)
    expect(await namesOf()).toEqual(first)
  })

  it('takes the flags of its components, and says which of them is wrong', async () => {
    const cluster = await start({
      nodes: [{ name: 'gpu', flags: { 'node-labels': 'kind=gpu', capacity: 'cpu=3' } }],
      extraFlags: { 'api-server': { 'anonymous-auth': 'false' } },
    })
    const node = await clientOf(cluster)
      .resource<Node & KubeObject>(resources.nodes)
      .get({ name: 'gpu' })
    expect(node.metadata.labels).toMatchObject({ kind: 'gpu' })
    expect(node.status?.capacity?.['cpu']).toBe('3')
    await expect(start({ extraFlags: { scheduler: { 'no-such-flag': 'x' } } })).rejects.toThrow(
      'unknown flag --no-such-flag',
    )
  })

  it('serves without nodes, controllers and scheduler', async () => {
    const cluster = await start({ nodes: [], components: [] })
    const client = clientOf(cluster)
    await client.resource(resources.deployments).create(deployment('web') as KubeObject)
    const { items } = await client.resource(resources.replicaSets).list()
    expect(items).toEqual([])
  })
})
