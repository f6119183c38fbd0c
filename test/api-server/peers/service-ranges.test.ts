/** Servers on one store never give two Services the same address or node port, however little they have seen of each other. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createMemoryStore } from '../../../components/store/memory-store.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { laggingStore } from '../../support/lagging-store.ts'

const first = 30_000
const portCount = 16
/** Of 32 addresses: without the network's own, the broadcast address, and the API server's. */
const addressCount = 29

interface ServiceSpec {
  readonly clusterIP: string
  readonly ports: readonly { readonly nodePort: number }[]
}

describe.each([
  { by: 'ranges', gates: 'MultiCIDRServiceAllocator=false', runtime: '' },
  {
    by: 'IPAddresses',
    gates: 'MultiCIDRServiceAllocator=true',
    runtime: '--runtime-config=networking.k8s.io/v1beta1=true',
  },
])('with addresses kept by $by', ({ gates, runtime }) => {
  const store = createMemoryStore()
  const servers: TestApiServer[] = []
  beforeAll(async () => {
    const flags = [
      `--feature-gates=APIServerIdentity=false,${gates}`,
      `--service-node-port-range=${first}-${first + portCount - 1}`,
      '--service-cluster-ip-range=10.96.0.0/27',
      ...(runtime === '' ? [] : [runtime]),
    ]
    const start = () => startApiServer({ openStore: () => laggingStore(store), flags })
    servers.push(...(await Promise.all([start(), start(), start()])))
  })
  afterAll(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]()
    await store.close()
  })

  const services = (name = ''): string => `/api/v1/namespaces/default/services${name && `/${name}`}`
  const serverOf = (at: number): TestApiServer => servers[at % servers.length] as TestApiServer
  const create = async (at: number, name: string, spec: object) =>
    await serverOf(at).request('POST', services(), {
      body: { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } },
    })
  const removeAll = async (prefix: string): Promise<void> => {
    const { items } = await serverOf(0).ok('GET', services())
    const names = (items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)
    await Promise.all(
      names
        .filter((name) => name.startsWith(prefix))
        .map((name, at) => serverOf(at).ok('DELETE', services(name))),
    )
  }

  test('all node ports are given out, each once, and all come back', async () => {
    for (const round of [1, 2]) {
      const replies = await Promise.all(
        Array.from({ length: portCount }, (_, at) =>
          create(at, `port-${round}-${at}`, { type: 'NodePort' }),
        ),
      )
      expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 201))
      const ports = replies.map(({ body }) => (body.spec as ServiceSpec).ports[0]?.nodePort)
      expect(new Set(ports).size).toBe(portCount)
      const full = await create(round, 'port-none', { type: 'NodePort' })
      expect([full.status, full.body.message]).toEqual([
        500,
        expect.stringContaining('range is full'),
      ])
      await removeAll('port-')
    }
  })

  test('all addresses are given out, each once, and all come back', async () => {
    for (const round of [1, 2]) {
      const replies = await Promise.all(
        Array.from({ length: addressCount }, (_, at) => create(at, `ip-${round}-${at}`, {})),
      )
      expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 201))
      const addresses = replies.map(({ body }) => (body.spec as ServiceSpec).clusterIP)
      expect(new Set(addresses).size).toBe(addressCount)
      expect((await create(round, 'ip-none', {})).status).toBe(500)
      await removeAll('ip-')
    }
  })

  test('of two Services that ask for the same port or address one gets it', async () => {
    const port = { type: 'NodePort', ports: [{ port: 80, nodePort: first + 3 }] }
    const ports = await Promise.all([0, 1, 2].map((at) => create(at, `asked-port-${at}`, port)))
    expect(ports.map(({ status }) => status).toSorted()).toEqual([201, 422, 422])
    expect(ports.find(({ status }) => status === 422)?.body.message).toContain(
      `spec.ports[0].nodePort: Invalid value: ${first + 3}: provided port is already allocated`,
    )
    // One of them may have been given that address.
    await removeAll('asked-')
    const address = { clusterIP: '10.96.0.20' }
    const addresses = await Promise.all(
      [0, 1, 2].map((at) => create(at, `asked-ip-${at}`, address)),
    )
    expect(addresses.map(({ status }) => status).toSorted()).toEqual([201, 422, 422])
    await removeAll('asked-')
  })

  test('a port that a Service no longer has is free for the other servers at once', async () => {
    const port = { type: 'NodePort', ports: [{ port: 80, nodePort: first + 5 }] }
    const made = await create(0, 'had', port)
    expect(made.status).toBe(201)
    const plain = { ...made.body, spec: { ...made.body.spec, type: 'ClusterIP' } }
    delete plain.spec.ports[0].nodePort
    await serverOf(1).ok('PUT', services('had'), { body: plain })
    expect((await create(2, 'has', port)).status).toBe(201)
    await Promise.all([removeAll('had'), removeAll('has')])
  })

  test('a Service that is not written leaves nothing behind', async () => {
    const spec = { type: 'NodePort', ports: [{ port: 80, nodePort: first + 7 }] }
    const dry = await serverOf(0).request('POST', `${services()}?dryRun=All`, {
      body: { metadata: { name: 'tried' }, spec },
    })
    expect(dry.status).toBe(201)
    expect((await create(1, 'kubernetes', spec)).status).toBe(409)
    expect((await create(2, 'left', spec)).status).toBe(201)
    await removeAll('left')
  })

  test('no server has logged a fault but that the ranges were full', () => {
    const faults = servers.flatMap((server) => server.faults)
    expect(faults.filter((line) => !line.includes('range is full'))).toEqual([])
  })
})
