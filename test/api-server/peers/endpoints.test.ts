/** The endpoints of the API server's Service are the servers that are alive. */
import { describe, expect, test } from 'vitest'
import { ServerLeases } from '../../../components/api-server/controllers/server-leases.ts'
import { createMemoryStore } from '../../../components/store/memory-store.ts'
import type { Store } from '../../../components/store/store.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { laggingStore } from '../../support/lagging-store.ts'

interface Subset {
  readonly addresses: readonly { readonly ip: string }[]
  readonly ports: readonly { readonly port: number }[]
}

interface Slice {
  readonly endpoints: readonly { readonly addresses: readonly string[] }[]
  readonly ports: readonly { readonly port: number }[]
}

/** `IP:PORT` of every endpoint, as Endpoints and as EndpointSlices say. */
async function endpointsAt(server: TestApiServer) {
  const { subsets } = await server.ok('GET', '/api/v1/namespaces/default/endpoints/kubernetes')
  const slices = await server.ok(
    'GET',
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dkubernetes',
  )
  return {
    endpoints: (subsets as Subset[]).flatMap(({ addresses, ports }) =>
      addresses.flatMap(({ ip }) => ports.map(({ port }) => `${ip}:${port}`)),
    ),
    slices: (slices.items as Slice[]).flatMap(({ endpoints, ports }) =>
      endpoints.flatMap(({ addresses }) =>
        addresses.flatMap((ip) => ports.map(({ port }) => `${ip}:${port}`)),
      ),
    ),
  }
}

const placesOf = (servers: readonly TestApiServer[]): string[] =>
  servers
    .map(({ port }) => port)
    .toSorted((a, b) => a - b)
    .map((port) => `127.0.0.1:${port}`)

describe.each([
  ['lease', []],
  ['master-count', ['--endpoint-reconciler-type=master-count', '--apiserver-count=3']],
] as const)('by %s', (_, flags) => {
  test('servers that share an address are there with their ports, and one that ends is gone at once', async () => {
    const store = createMemoryStore()
    const start = () => startApiServer({ openStore: () => laggingStore(store), flags })
    await using a = await start()
    await using b = await start()
    const c = await start()
    const all = placesOf([a, b, c])
    const shown = await endpointsAt(a)
    expect(shown.endpoints.toSorted()).toEqual(all)
    expect(shown.slices.toSorted()).toEqual(all)
    await c[Symbol.asyncDispose]()
    const rest = placesOf([a, b])
    const left = await endpointsAt(b)
    expect(left.endpoints.toSorted()).toEqual(rest)
    expect(left.slices.toSorted()).toEqual(rest)
    expect([...a.faults, ...b.faults]).toEqual([])
  })
})

test('a server that joins while another one writes the endpoints stays in them', async () => {
  const store = createMemoryStore()
  const isRead = Promise.withResolvers<void>()
  const hasJoined = Promise.withResolvers<void>()
  const lagging = laggingStore(store)
  const slowStore: Store = {
    ...lagging,
    range: async (range) => {
      const answer = await lagging.range(range)
      if (range.prefix?.includes('masterleases/') === true) {
        isRead.resolve()
        await hasJoined.promise
      }
      return answer
    },
  }
  const starting = startApiServer({ openStore: () => slowStore })
  await isRead.promise
  await using b = await startApiServer({ openStore: () => laggingStore(store) })
  hasJoined.resolve()
  await using a = await starting
  const shown = await endpointsAt(a)
  expect(shown.endpoints.toSorted()).toEqual(placesOf([a, b]))
  expect(shown.slices.toSorted()).toEqual(placesOf([a, b]))
})

test('with none, nobody writes endpoints', async () => {
  const flags = ['--endpoint-reconciler-type=none']
  await using server = await startApiServer({ flags })
  const reply = await server.request('GET', '/api/v1/namespaces/default/endpoints/kubernetes')
  expect(reply.status).toBe(404)
  expect(
    (await server.request('GET', '/api/v1/namespaces/default/services/kubernetes')).status,
  ).toBe(200)
})

test('a server whose lease has not changed for 15 seconds is gone, and is back when it renews', async () => {
  const store = createMemoryStore()
  const clock = new FakeClock()
  const leasesOf = (port: number) =>
    new ServerLeases({ store, clock, own: { address: '10.0.0.1', port } })
  const [a, b] = [leasesOf(1), leasesOf(2)]
  const portsOf = async (leases: ServerLeases) => (await leases.live()).map(({ port }) => port)
  await a.renew()
  await b.renew()
  expect(await portsOf(a)).toEqual([1, 2])
  await clock.step(14_000)
  await a.renew()
  expect(await portsOf(a)).toEqual([1, 2])
  await clock.step(1000)
  expect(await portsOf(a)).toEqual([1])
  await b.renew()
  expect(await portsOf(a)).toEqual([1, 2])
  await b.release()
  expect(await portsOf(a)).toEqual([1])
  await store.close()
})
