/** Parts of an embedded cluster that are killed and paused as processes would be. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EmbeddedCluster } from '../../embedded/embedded-cluster.ts'
import { readBaseImage } from '../../embedded/base-image.ts'
import { createClient } from '../../components/client/client.ts'
import type { Client } from '../../components/client/client.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { dialects } from '../../components/api/dialect.ts'
import { createIdentities } from '../../library/identities.ts'

const resources = resourcesOf(dialects.kubernetes)
let cluster: EmbeddedCluster
let client: Client

async function readiness(name: string): Promise<string | undefined> {
  const node = await client.resource(resources.nodes).get({ name })
  const { conditions } = node['status'] as { conditions: { type: string; status: string }[] }
  return conditions.find(({ type }) => type === 'Ready')?.status
}

beforeAll(async () => {
  cluster = await EmbeddedCluster.start(
    {
      nodes: ['node-1', 'node-2'].map((name) => ({ name, flags: {} })),
      components: ['controller-manager', 'scheduler'],
      extraFlags: {},
      port: 0,
      seed: 1,
      startAtMs: undefined,
      initialState: undefined,
    },
    readBaseImage,
  )
  client = createClient({
    server: cluster.server,
    ca: cluster.authority.certificatePem,
    credentials: createIdentities(cluster.authority).credentialsOf('admin') ?? {},
    dialect: dialects.kubernetes,
  })
})
afterAll(async () => {
  client.close()
  await cluster.close()
})

describe('a part of an embedded cluster', () => {
  it('that is a paused node gets no turn: its lease is not renewed, and it goes on where it was', async () => {
    cluster.part('node-2').pause()
    await cluster.clock.advance(60_000)
    expect(await readiness('node-2')).toBe('Unknown')
    expect(await readiness('node-1')).toBe('True')
    cluster.part('node-2').resume()
    await cluster.clock.advance(20_000)
    expect(await readiness('node-2')).toBe('True')
  })

  it('that is killed starts again at once, and its node does not notice', async () => {
    const { runs } = cluster.part('node-1')
    cluster.part('node-1').kill()
    await cluster.clock.advance(60_000)
    expect(cluster.part('node-1').runs).toBe(runs + 1)
    expect(await readiness('node-1')).toBe('True')
  })

  it('that is killed while it starts has started when its next run is ready', async () => {
    const part = cluster.part('node-1')
    const { runs } = part
    await part.stop()
    const started = part.start()
    part.kill()
    await cluster.clock.advance(1000)
    await started
    expect(part.runs).toBe(runs + 2)
    expect(await readiness('node-1')).toBe('True')
  })

  it('that is the API server loses its connections and none of its objects when it is killed', async () => {
    const name = 'kept'
    const namespace = 'default'
    await client.resource(resources.configMaps).create({ metadata: { name, namespace } })
    const ended = (async () => {
      for await (const _ of client
        .resource(resources.configMaps)
        .watch({ namespace }, new AbortController().signal))
        continue
    })().catch((error: unknown) => String(error))
    await client.resource(resources.configMaps).get({ name, namespace })
    cluster.part('api-server').kill()
    await cluster.clock.settled()
    expect(await ended).toMatch(/cut short|lost/)
    await cluster.part('api-server').start()
    expect(
      (await client.resource(resources.configMaps).get({ name, namespace })).metadata.name,
    ).toBe(name)
    await cluster.clock.advance(60_000)
    expect(await readiness('node-1')).toBe('True')
  })

  it('that is a paused API server answers when it goes on', async () => {
    cluster.part('api-server').pause()
    let hasAnswered = false
    const answer = client
      .resource(resources.nodes)
      .list()
      .finally(() => (hasAnswered = true))
    await cluster.clock.advance(5000)
    expect(hasAnswered).toBe(false)
    cluster.part('api-server').resume()
    expect((await answer).items).toHaveLength(2)
  })

  it('has its own clock when it is told so', async () => {
    const lease = async () => {
      const found = await client
        .resource(resources.leases)
        .get({ namespace: 'kube-node-lease', name: 'node-1' })
      return Date.parse((found['spec'] as { renewTime: string }).renewTime)
    }
    cluster.part('node-1').skew(3_600_000)
    await cluster.clock.advance(20_000)
    expect((await lease()) - cluster.clock.now()).toBeGreaterThan(3_500_000)
    cluster.part('node-1').skew(0)
  })
})
