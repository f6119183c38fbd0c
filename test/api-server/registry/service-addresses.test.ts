/** Addresses of Services from ServiceCIDRs, with their IPAddress objects (the gate MultiCIDRServiceAllocator). */
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startApiServer, type Reply, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const networking = '/apis/networking.k8s.io/v1beta1'
const flags = [
  '--feature-gates=MultiCIDRServiceAllocator=true',
  '--runtime-config=networking.k8s.io/v1beta1=true',
  '--service-cluster-ip-range=10.96.0.0/28',
]

let server: TestApiServer
let namespace: string
beforeEach(async () => {
  server = await startApiServer({ flags })
  namespace = await server.namespace('shop')
})
afterEach(() => server[Symbol.asyncDispose]())

function service(name: string, spec: object = {}) {
  return {
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/services`,
    body: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { ports: [{ port: 80 }], ...spec },
    },
  }
}

function create(name: string, spec: object = {}, query = ''): Promise<Reply> {
  const { method, path, body } = service(name, spec)
  return server.request(method, path + query, { body })
}

async function addressOf(name: string, spec: object = {}): Promise<string> {
  const { method, path, body } = service(name, spec)
  return (await server.ok(method, path, { body }))['spec'].clusterIP as string
}

async function addresses(): Promise<string[]> {
  const { items } = await server.ok('GET', `${networking}/ipaddresses`)
  return (items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)
}

function addRange(name: string, ...cidrs: string[]): Promise<unknown> {
  const body = {
    apiVersion: 'networking.k8s.io/v1beta1',
    kind: 'ServiceCIDR',
    metadata: { name },
    spec: { cidrs },
  }
  return server.ok('POST', `${networking}/servicecidrs`, { body })
}

async function events(): Promise<string[]> {
  const { items } = await server.ok('GET', '/api/v1/events')
  return (items as { reason: string; message: string }[]).map(
    ({ reason, message }) => `${reason}: ${message}`,
  )
}

describe('the default range', () => {
  it('is that of the flag, and ready', async () => {
    await eventually(async () => {
      const found = await server.ok('GET', `${networking}/servicecidrs/kubernetes`)
      expect(found['spec'].cidrs).toEqual(['10.96.0.0/28'])
      expect(found['status'].conditions).toMatchObject([
        {
          type: 'Ready',
          status: 'True',
          message: 'Kubernetes default Service CIDR is ready',
        },
      ])
    })
  })

  it('holds the address of the server’s own Service', async () => {
    expect(await addresses()).toEqual(['10.96.0.1'])
  })

  it('lets the address of a Service be labelled', async () => {
    const labelled = await server.ok('PATCH', `${networking}/ipaddresses/10.96.0.1`, {
      body: { metadata: { labels: { kept: 'yes' } } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    expect(labelled['metadata'].labels.kept).toBe('yes')
    expect(labelled['spec'].parentRef).not.toHaveProperty('group')
  })

  it('comes back when it is deleted', async () => {
    await server.ok('DELETE', `${networking}/servicecidrs/kubernetes`)
    await eventually(async () => {
      const { status } = await server.request('GET', `${networking}/servicecidrs/kubernetes`)
      expect(status).toBe(200)
    })
  })
})

describe('a Service', () => {
  it('gets an address with an IPAddress that names it, until it is gone', async () => {
    const address = await addressOf('web')
    const found = await server.ok('GET', `${networking}/ipaddresses/${address}`)
    expect(found.metadata.labels).toEqual({
      'ipaddress.kubernetes.io/ip-family': 'IPv4',
      'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
    })
    expect(found['spec']).toEqual({
      parentRef: { resource: 'services', namespace: 'shop', name: 'web' },
    })
    await server.ok('DELETE', `/api/v1/namespaces/${namespace}/services/web`)
    expect(await addresses()).toEqual(['10.96.0.1'])
    expect(await addressOf('again', { clusterIP: address })).toBe(address)
  })

  it('that needs no address any more gives it back', async () => {
    await addressOf('web')
    const body = { spec: { type: 'ExternalName', externalName: 'example.com' } }
    await server.ok('PATCH', `/api/v1/namespaces/${namespace}/services/web`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body,
    })
    expect(await addresses()).toEqual(['10.96.0.1'])
  })

  it('that is not written leaves no IPAddress: it exists, or is a dry run', async () => {
    await addressOf('web', { clusterIP: '10.96.0.5' })
    expect((await create('web')).status).toBe(409)
    expect((await create('dry', {}, '?dryRun=All')).status).toBe(201)
    expect(await addresses()).toEqual(['10.96.0.1', '10.96.0.5'])
  })

  it('without one has no IPAddress', async () => {
    await addressOf('headless', { clusterIP: 'None' })
    expect(await addresses()).toEqual(['10.96.0.1'])
  })

  it.each([
    ['that another Service has', '10.96.0.1', 'provided IP is already allocated'],
    ['of no range', '10.97.0.1', 'the provided network does not match the current range'],
    ['of the network itself', '10.96.0.0', 'the provided network does not match the current range'],
    ['for all', '10.96.0.15', 'the provided network does not match the current range'],
  ])('is refused an address %s', async (_, clusterIP, why) => {
    const { status, body } = await create('web', { clusterIP })
    expect(status).toBe(422)
    expect(body['message']).toContain(`failed to allocate IP ${clusterIP}: ${why}`)
    expect(await addresses()).toEqual(['10.96.0.1'])
  })

  it('is refused an address that an IPAddress of another owner has', async () => {
    const parentRef = { group: 'gateway.example.com', resource: 'gateways', name: 'edge' }
    const body = {
      apiVersion: 'networking.k8s.io/v1beta1',
      kind: 'IPAddress',
      metadata: { name: '10.96.0.7' },
      spec: { parentRef },
    }
    await server.ok('POST', `${networking}/ipaddresses`, { body })
    expect((await create('web', { clusterIP: '10.96.0.7' })).status).toBe(422)
  })
})

describe('ranges', () => {
  /** The 13 addresses that the server's own Service leaves. */
  async function fill(): Promise<void> {
    await Promise.all(Array.from({ length: 13 }, (_, i) => addressOf(`full-${i}`)))
  }

  it('are filled without giving an address twice, and a further one takes over', async () => {
    await fill()
    expect(new Set(await addresses()).size).toBe(14)
    const refused = await create('late')
    expect(refused.status).toBe(500)
    expect(refused.body['message']).toContain('failed to allocate a serviceIP: range is full')
    await addRange('more', '10.200.0.0/16')
    expect(await addressOf('late')).toMatch(/^10\.200\./)
  })

  it('lose no address to Services that are refused', async () => {
    for (let i = 0; i < 14; i += 1) {
      const { status } = await create(`bad-${i}`, { sessionAffinity: 'Sometimes' })
      expect(status).toBe(422)
    }
    await fill()
  })

  it('that are not ready or being deleted give no addresses', async () => {
    await addRange('more', '10.200.0.0/16')
    const at = `${networking}/servicecidrs/more`
    const found = await server.ok('GET', at)
    const conditions = [
      {
        type: 'Ready',
        status: 'False',
        reason: 'Terminating',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ]
    await server.ok('PUT', `${at}/status`, { body: { ...found, status: { conditions } } })
    expect((await create('web', { clusterIP: '10.200.0.9' })).status).toBe(422)
    await addRange('held', '10.201.0.0/16')
    await server.ok('PATCH', `${networking}/servicecidrs/held`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { metadata: { finalizers: ['example.com/hold'] } },
    })
    await server.ok('DELETE', `${networking}/servicecidrs/held`)
    expect((await create('web', { clusterIP: '10.201.0.9' })).status).toBe(422)
  })
})

describe('the repair loop', () => {
  it('makes the IPAddress of a Service anew, and says so', async () => {
    const address = await addressOf('web')
    await server.ok('DELETE', `${networking}/ipaddresses/${address}`)
    await server.ok('PATCH', `/api/v1/namespaces/${namespace}/services/web`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { metadata: { labels: { a: 'b' } } },
    })
    await eventually(async () => {
      expect(await addresses()).toContain(address)
      expect(await events()).toContain(
        `ClusterIPNotAllocated: Cluster IP [IPv4]: ${address} is not allocated; repairing`,
      )
    })
  })
})

it.each([
  ['does not exist', 'lost', 'IPAddressNotAllocated', 'appears to have leaked: cleaning up'],
  ['has another', 'web', 'IPAddressWrongReference', 'has a wrong reference; cleaning up'],
])('an IPAddress goes a minute later when its Service %s', async (_, name, reason, what) => {
  const clock = new FakeClock(new Date().toISOString())
  const own = await startApiServer({ clock, flags })
  onTestFinished(() => own[Symbol.asyncDispose]())
  await own.namespace('shop')
  const { path, body: web } = service('web', { clusterIP: '10.96.0.5' })
  await own.ok('POST', path, { body: web })
  const body = {
    apiVersion: 'networking.k8s.io/v1beta1',
    kind: 'IPAddress',
    metadata: {
      name: '10.96.0.9',
      labels: {
        'ipaddress.kubernetes.io/ip-family': 'IPv4',
        'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
      },
    },
    spec: { parentRef: { resource: 'services', namespace: 'shop', name } },
  }
  await own.ok('POST', `${networking}/ipaddresses`, { body })
  const isThere = async (): Promise<boolean> =>
    (await own.request('GET', `${networking}/ipaddresses/10.96.0.9`)).status === 200
  await clock.step(59_000)
  expect(await isThere()).toBe(true)
  await eventually(async () => {
    await clock.step(1000)
    expect(await isThere()).toBe(false)
    const { items } = await own.ok('GET', '/api/v1/events')
    expect(items).toContainEqual(
      expect.objectContaining({
        reason,
        message: `IPAddress: 10.96.0.9 for Service shop/${name} ${what}`,
      }),
    )
  })
  expect((await own.request('GET', `${networking}/ipaddresses/10.96.0.5`)).status).toBe(200)
})

it('a range of IPv6 gives every address to those who name it', async () => {
  const range = '--service-cluster-ip-range=fd00::/64'
  const six = await startApiServer({ flags: [...flags.slice(0, 2), range] })
  onTestFinished(() => six[Symbol.asyncDispose]())
  await six.namespace('shop')
  const clusterIP = 'fd00::ffff:ffff:ffff:fffe'
  const { path, body } = service('last', { clusterIP })
  expect((await six.ok('POST', path, { body }))['spec'].clusterIPs).toEqual([clusterIP])
  const own = await six.ok('GET', '/api/v1/namespaces/default/services/kubernetes')
  expect(own['spec'].clusterIP).toBe('fd00::1')
})

it('Services from before the gate get their IPAddresses at the start', async () => {
  const plain = await startApiServer({ store: 'sqlite', flags: flags.slice(1) })
  try {
    await plain.namespace('shop')
    const { path, body } = service('web', { clusterIP: '10.96.0.5' })
    await plain.ok('POST', path, { body })
    await plain.restart({ flags })
    await eventually(async () => {
      const { items } = await plain.ok('GET', `${networking}/ipaddresses`)
      expect((items as { metadata: object }[]).map(({ metadata }) => metadata)).toMatchObject([
        { name: '10.96.0.1' },
        { name: '10.96.0.5' },
      ])
    })
  } finally {
    await plain[Symbol.asyncDispose]()
  }
})

it('the gate without its API keeps the server from starting', async () => {
  await expect(startApiServer({ flags: flags.slice(0, 1) })).rejects.toThrow(
    'the feature gate MultiCIDRServiceAllocator needs the API networking.k8s.io/v1beta1: add --runtime-config=networking.k8s.io/v1beta1=true',
  )
})
