/** What components say of why they write, from one apply to the endpoints of its pods, as the request journal has it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issue } from '../../certs/pki.ts'
import { loadAuthority } from '../../certs/authority.ts'
import { adminSubject, clientProfile } from '../../certs/profiles.ts'
import { dialects } from '../../components/api/dialect.ts'
import type { RequestRecord, RequestRecords } from '../../components/api/request-record.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { createClient, type Client } from '../../components/client/client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { EmbeddedCluster } from '../../embedded/embedded-cluster.ts'
import { eventually } from '../support/eventually.ts'
import { deployment } from '../support/workloads.ts'

const resources = resourcesOf(dialects.kubernetes)
const namespace = 'default'

let cluster: EmbeddedCluster
let client: Client

beforeAll(async () => {
  cluster = await EmbeddedCluster.start({
    nodes: [{ name: 'node-1', flags: {} }],
    components: ['controller-manager', 'scheduler'],
    extraFlags: {},
    port: 0,
    seed: 1,
    startAtMs: undefined,
    initialState: undefined,
  })
  const { certificatePem: cert, privateKeyPem: key } = issue(loadAuthority(cluster.authority), {
    profile: clientProfile(adminSubject),
    nowMs: Date.now(),
  })
  client = createClient({
    server: cluster.server,
    ca: cluster.authority.certificatePem,
    credentials: { cert, key },
    dialect: dialects.kubernetes,
  })
})
afterAll(async () => {
  client.close()
  await cluster.close()
})

async function writes(query: string): Promise<readonly RequestRecord[]> {
  const path = `/explain/requests?writes=true&limit=10000&namespace=${namespace}&${query}`
  const { items } = (await client.rest.json({ method: 'GET', path })) as RequestRecords
  return items.filter(({ status }) => status < 300)
}

const hasCause = (record: RequestRecord, what: string, key: string): boolean =>
  record.cause?.kind === 'watch' && record.cause.what === what && record.cause.key === key

async function oneWrite(
  query: string,
  isWanted: (record: RequestRecord) => boolean,
): Promise<RequestRecord> {
  return await eventually(async () => {
    const found = (await writes(query)).filter(isWanted)
    if (found[0] === undefined) {
      const there = (await writes(query)).map(({ verb, name, cause }) => ({ verb, name, cause }))
      throw new Error(`no such write; there are ${JSON.stringify(there)}`)
    }
    return found[0]
  })
}

const ofPatch = (to: KubeObject) => ({ ...to, apiVersion: 'apps/v1', kind: 'Deployment' })

describe('the causes of writes', () => {
  it('lead from an apply over ReplicaSet, pods, bindings and statuses to the endpoints', async () => {
    await client.resource(resources.services).create({
      metadata: { name: 'web', namespace },
      spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
    } as KubeObject)
    const wanted = ofPatch(deployment('web', { replicas: 1 }) as KubeObject)
    const how = { type: 'apply', fieldManager: 'test' } as const
    await client.resource(resources.deployments).patch({ namespace, name: 'web' }, wanted, how)

    const applied = await oneWrite('resource=deployments.apps&user=kubernetes-admin', () => true)
    expect(applied).toMatchObject({ isApply: true, name: 'web' })
    expect(applied).not.toHaveProperty('cause')

    const set = await oneWrite('resource=replicasets.apps', ({ verb }) => verb === 'create')
    expect(set.cause).toEqual({
      kind: 'watch',
      what: 'deployments.apps',
      key: 'default/web',
      revision: applied.revision,
    })

    const pod = await oneWrite('resource=pods', ({ verb, subresource }) => {
      return verb === 'create' && subresource === ''
    })
    expect(pod.cause).toEqual({
      kind: 'watch',
      what: 'replicasets.apps',
      key: `default/${set.name}`,
      revision: set.revision,
    })

    const podKey = `default/${pod.name}`
    const binding = await oneWrite('resource=pods/binding', () => true)
    expect(binding.name).toBe(pod.name)
    expect(binding.cause).toEqual({
      kind: 'watch',
      what: 'pods',
      key: podKey,
      revision: pod.revision,
    })

    const status = await oneWrite('resource=pods/status', ({ userAgent }) => {
      return userAgent.startsWith('kubelet')
    })
    expect(status.cause).toEqual({
      kind: 'watch',
      what: 'pods',
      key: podKey,
      revision: binding.revision,
    })

    const slice = await oneWrite('resource=endpointslices.discovery.k8s.io', (record) => {
      return record.verb !== 'create' && hasCause(record, 'pods', podKey)
    })
    expect(Number(slice.cause?.revision)).toBeGreaterThanOrEqual(Number(binding.revision))
  })

  it('of renewed leases are times, and of a namespace that is emptied its deletion', async () => {
    const name = 'gone'
    const spaces = client.resource(resources.namespaces)
    await spaces.create({ metadata: { name } })
    const maps = client.resource(resources.configMaps)
    await maps.create({ metadata: { name: 'web', namespace: name } })
    await spaces.delete({ name })
    const emptied = await eventually(async () => {
      const path = `/explain/requests?writes=true&resource=configmaps&namespace=${name}`
      const { items } = (await client.rest.json({ method: 'GET', path })) as RequestRecords
      const found = items.find(({ verb }) => verb === 'deletecollection')
      if (found === undefined) throw new Error('not emptied yet')
      return found
    }, 10_000)
    expect(emptied.cause).toMatchObject({ kind: 'watch', what: 'namespaces', key: name })
    const path = '/explain/requests?user=system:node:node-1&resource=leases'
    const { items } = (await client.rest.json({ method: 'GET', path })) as RequestRecords
    expect(items.at(-1)?.cause).toEqual({ kind: 'timer', what: 'heartbeat' })
  })
})
