import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { issue } from '../../certs/pki.ts'
import { loadAuthority } from '../../certs/authority.ts'
import { adminSubject, clientProfile } from '../../certs/profiles.ts'
import type { ExtraFlags } from '../../cluster/plan/cluster-config.ts'
import { dialects } from '../../components/api/dialect.ts'
import type { Deployment } from '../../components/api/generated/types.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { createClient } from '../../components/client/client.ts'
import type { Client } from '../../components/client/client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { createHost } from '../../embedded/host.ts'
import type { HostedCluster } from '../../embedded/host-protocol.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { deployment } from '../support/workloads.ts'

const resources = resourcesOf(dialects.kubernetes)
const host = createHost()
const ends: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

async function start(extraFlags: ExtraFlags = {}): Promise<HostedCluster> {
  const hosted = await host.start({
    nodes: [
      { name: 'node-1', flags: {} },
      { name: 'node-2', flags: {} },
    ],
    components: ['controller-manager', 'scheduler'],
    extraFlags,
    port: 0,
    seed: 1,
    startAtMs: undefined,
    initialState: undefined,
  })
  return kept(hosted)
}

function kept(hosted: HostedCluster): HostedCluster {
  ends.push(() => host.close({ cluster: hosted.cluster }))
  return hosted
}

function clientOf({ server, authority }: HostedCluster): Client {
  const { certificatePem: cert, privateKeyPem: key } = issue(loadAuthority(authority), {
    profile: clientProfile(adminSubject),
    nowMs: Date.now(),
  })
  const ca = authority.certificatePem
  const client = createClient({
    server,
    ca,
    credentials: { cert, key },
    dialect: dialects.kubernetes,
  })
  ends.push(() => client.close())
  return client
}

/** What a test would see of a Deployment: the names of its pods, and their resourceVersions. */
async function namesOf(hosted: HostedCluster): Promise<string[]> {
  const client = clientOf(hosted)
  await client.resource(resources.deployments).create(deployment('web') as KubeObject)
  await expect
    .poll(async () => {
      const web = client.resource<Deployment & KubeObject>(resources.deployments)
      return (await web.get({ namespace: 'default', name: 'web' })).status?.availableReplicas
    })
    .toBe(3)
  const { items } = await client.resource(resources.pods).list()
  return items.map(({ metadata }) => metadata.name ?? '')
}

describe('the host of embedded clusters', () => {
  it('resets a cluster to the same revision each time, on its port', async () => {
    const hosted = await start()
    const revisions: unknown[] = []
    for (let times = 0; times < 3; times += 1) {
      const again = await host.restore({ cluster: hosted.cluster, image: undefined })
      expect(again.server).toBe(hosted.server)
      const { items, metadata } = await clientOf(again).resource(resources.configMaps).list()
      revisions.push([metadata.resourceVersion, items.map((one) => one.metadata.resourceVersion)])
      await clientOf(again)
        .resource(resources.configMaps)
        .create({ metadata: { name: 'x', namespace: 'default' } })
    }
    expect(revisions[1]).toEqual(revisions[0])
    expect(revisions[2]).toEqual(revisions[0])
  })

  it('gives the same names to what controllers make after a reset', async () => {
    const hosted = await start()
    const seen: string[][] = []
    for (let times = 0; times < 3; times += 1) {
      seen.push(await namesOf(await host.restore({ cluster: hosted.cluster, image: undefined })))
    }
    expect(seen[1]).toEqual(seen[0])
    expect(seen[2]).toEqual(seen[0])
  })

  it('goes back to a snapshot, and refuses one that was disposed of', async () => {
    const { cluster, ...hosted } = await start()
    const configMaps = clientOf({ cluster, ...hosted }).resource(resources.configMaps)
    await configMaps.create({ metadata: { name: 'before', namespace: 'default' } })
    const { image, resourceVersion } = await host.snapshot({ cluster })
    await configMaps.create({ metadata: { name: 'after', namespace: 'default' } })
    const back = await host.restore({ cluster, image })
    const { items } = await clientOf(back)
      .resource(resources.configMaps)
      .list({ namespace: 'default' })
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['before', 'kube-root-ca.crt'])
    expect(Number(resourceVersion)).toBeGreaterThan(0)
    await host.drop({ image })
    await expect(host.restore({ cluster, image })).rejects.toThrow('the snapshot has been disposed')
  })

  it('says why a cluster cannot start again, which is gone then', async () => {
    const policy = join(temporaryFolder('policy'), 'policy.yaml')
    await writeFile(policy, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: None }]\n')
    const { cluster } = await start({
      'api-server': { 'audit-policy-file': policy, 'audit-log-path': '/dev/null' },
    })
    await rm(policy)
    const restoring = host.restore({ cluster, image: undefined })
    await expect(restoring).rejects.toThrow(
      /^the cluster has been stopped, since it cannot start again: .*policy\.yaml/,
    )
    await expect(host.snapshot({ cluster })).rejects.toThrow('the cluster has been stopped')
    await host.close({ cluster })
  })

  it('advances the clock of one cluster alone', async () => {
    const one = await start()
    const fork = kept(await host.fork({ cluster: one.cluster }))
    const ask = { call: 'advance', by: { ms: 3_600_000 } } as const
    const { aheadMs } = await host.time({ cluster: fork.cluster, ask })
    expect(Math.round(aheadMs / 60_000)).toBe(60)
    const created = async (hosted: HostedCluster): Promise<number> => {
      const metadata = { name: 'now', namespace: 'default' }
      const made = await clientOf(hosted).resource(resources.configMaps).create({ metadata })
      return Date.parse(made.metadata.creationTimestamp ?? '')
    }
    const hours = ((await created(fork)) - (await created(one))) / 3_600_000
    expect(Math.round(hours)).toBe(1)
  })

  it('says of a stopped cluster that it was stopped', async () => {
    const { cluster } = await start()
    await host.close({ cluster })
    await host.close({ cluster })
    await expect(host.snapshot({ cluster })).rejects.toThrow('the cluster has been stopped')
  })
})
