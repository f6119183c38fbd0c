/** The lease by which an API server tells that it runs. */
import { hostname } from 'node:os'
import { afterEach, describe, expect, it } from 'vitest'
import { serverIdentity } from '../../../components/api-server/controllers/identity-lease.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
const own = `${leases}/${serverIdentity(hostname())}`

let server: TestApiServer

async function startAt(clock: FakeClock, ...flags: string[]): Promise<void> {
  server = await startApiServer({ store: 'sqlite', clock, flags, without: ['feature-gates'] })
}

function clockNow(): FakeClock {
  return new FakeClock(new Date().toISOString())
}

/** A lease of another server, renewed so long ago. */
async function addOther(name: string, spec: object): Promise<void> {
  const labels = { 'apiserver.kubernetes.io/identity': 'kube-apiserver' }
  const body = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, labels },
    spec,
  }
  await server.ok('POST', leases, { body })
}

describe('the identity lease', () => {
  afterEach(() => server[Symbol.asyncDispose]())

  it('is there once the server is ready', async () => {
    const clock = clockNow()
    await startAt(clock)
    const { metadata, ...lease } = await server.ok('GET', own)
    expect(metadata.labels).toEqual({
      'apiserver.kubernetes.io/identity': 'kube-apiserver',
      'kubernetes.io/hostname': hostname(),
    })
    expect(lease['spec']).toEqual({
      holderIdentity: expect.stringMatching(
        new RegExp(`^${serverIdentity(hostname())}_[0-9a-f-]{36}$`),
      ) as unknown,
      leaseDurationSeconds: 3600,
      renewTime: expect.any(String) as unknown,
    })
  })

  it('is renewed every ten seconds, and written no more often', async () => {
    const clock = clockNow()
    await startAt(clock)
    const { metadata, spec } = await server.ok('GET', own)
    await clock.step(9900)
    expect((await server.ok('GET', own)).metadata.resourceVersion).toBe(metadata.resourceVersion)
    await clock.step(600)
    await eventually(async () => {
      const renewed = await server.ok('GET', own)
      expect(Date.parse(renewed['spec'].renewTime as string)).toBeGreaterThan(
        Date.parse(spec.renewTime as string) + 9000,
      )
    })
  })

  it('comes back when it is deleted', async () => {
    const clock = clockNow()
    await startAt(clock)
    await server.ok('DELETE', own)
    await clock.step(10_500)
    await eventually(async () => expect((await server.request('GET', own)).status).toBe(200))
  })

  it('keeps its holder over a restart', async () => {
    const clock = clockNow()
    await startAt(clock)
    const { spec } = await server.ok('GET', own)
    await clock.step(1000)
    await server.restart({ clock })
    const again = await server.ok('GET', own)
    expect(again['spec'].holderIdentity).toBe(spec.holderIdentity)
    expect(again['spec'].renewTime).not.toBe(spec.renewTime)
  })

  it('is not made without the gate', async () => {
    await startAt(clockNow(), '--feature-gates=APIServerIdentity=false')
    expect((await server.request('GET', own)).status).toBe(404)
    const { text } = await server.request('GET', '/readyz?verbose')
    expect(text).not.toContain('identity-lease')
  })
})

describe('leases of other servers', () => {
  afterEach(() => server[Symbol.asyncDispose]())

  it('go when they have expired, or lack their times, and others stay', async () => {
    const clock = clockNow()
    await startAt(clock)
    const renewTime = new Date(clock.now()).toISOString().replace('Z', '000Z')
    await addOther('apiserver-live', { renewTime, leaseDurationSeconds: 7200 })
    await addOther('apiserver-old', { renewTime, leaseDurationSeconds: 3000 })
    await addOther('apiserver-odd', { renewTime })
    const body = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'apiserver-look-alike' },
      spec: { renewTime, leaseDurationSeconds: 1 },
    }
    await server.ok('POST', leases, { body })
    await clock.step(3_600_000)
    await eventually(async () => {
      const { items } = await server.ok('GET', leases)
      const names = (items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)
      expect(names.toSorted()).toEqual(
        [serverIdentity(hostname()), 'apiserver-live', 'apiserver-look-alike'].toSorted(),
      )
    })
  })
})

it('an identity is a hash of the host and the component, as upstream’s', () => {
  expect(serverIdentity('kind-control-plane')).toMatch(/^apiserver-[a-z2-7]{26}$/)
  expect(serverIdentity('a')).not.toBe(serverIdentity('b'))
  // Servers on one host; the usual address and port make upstream's name.
  const at = (address: string, port: number): string => serverIdentity('a', { address, port })
  expect(at('192.0.2.1', 6443)).toBe(serverIdentity('a'))
  const places = [
    at('127.0.0.1', 6443),
    at('127.0.0.2', 6443),
    at('127.0.0.2', 7000),
    at('::1', 7000),
  ]
  expect(new Set(places).size).toBe(4)
})
