/** What the server writes itself: as whom, how often, and what it says of where it is. */
import { describe, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { legacyTokenTracking } from '../../../components/api/legacy-tokens.ts'
import { eventually } from '../../support/eventually.ts'
import { startApiServer } from '../../support/api-server.ts'
import type { TestApiServer } from '../../support/api-server.ts'

/** All so far: the log is in order, so what was before a later request is in it with that. */
async function ownWrites(server: TestApiServer) {
  await server.auditOf(await server.request('GET', '/version'))
  return server
    .audit()
    .filter(({ user }) => user.username === 'system:apiserver')
    .filter(({ objectRef }) => objectRef?.['subresource'] !== 'status')
}

describe.each(['kubernetes', 'svc'] as const)('in dialect %s', (dialect) => {
  test('its own writes are audited requests of system:apiserver, and a second start only renews its lease', async () => {
    await using server = await startApiServer({
      dialect,
      store: 'sqlite',
      without: ['feature-gates'],
    })
    // The last one comes from a start hook that others do not wait for.
    const first = await eventually(async () => {
      const writes = await ownWrites(server)
      expect(writes.map(({ objectRef }) => objectRef?.['name'])).toContain(
        legacyTokenTracking(dialects[dialect]).configMap,
      )
      return writes
    })
    expect(first.length).toBeGreaterThan(130)
    expect(
      first.every(({ verb, responseStatus }) => verb === 'create' && responseStatus.code === 201),
    ).toBe(true)
    expect(first.find(({ objectRef }) => objectRef?.['resource'] === 'services')).toMatchObject({
      requestURI: '/api/v1/namespaces/default/services',
      user: { groups: ['system:masters', 'system:authenticated'] },
      objectRef: { namespace: 'default', name: dialect, apiVersion: 'v1' },
    })
    await server.restart({ flags: [`--secure-port=${server.port}`] })
    const again = (await ownWrites(server)).slice(first.length)
    expect(again).toMatchObject([{ verb: 'update', objectRef: { resource: 'leases' } }])
  })

  test('its endpoints are its loopback address; others may not have one', async () => {
    await using server = await startApiServer({ dialect })
    const path = '/api/v1/namespaces/default/endpoints'
    const subsets = [
      {
        addresses: [{ ip: '127.0.0.1' }],
        ports: [{ name: 'https', port: server.port, protocol: 'TCP' }],
      },
    ]
    const own = await server.ok('GET', `${path}/${dialect}`)
    expect(own).toMatchObject({ subsets })
    own.metadata.annotations = { mine: 'yes' }
    await server.ok('PUT', `${path}/${dialect}`, { body: own })
    const slice = `/apis/${server.group('discovery')}/v1/namespaces/default/endpointslices/${dialect}`
    expect(await server.ok('GET', slice)).toMatchObject({
      addressType: 'IPv4',
      endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
      ports: [{ name: 'https', port: server.port, protocol: 'TCP' }],
    })
    const other = await server.request('POST', path, { body: { metadata: { name: 'x' }, subsets } })
    expect(other).toMatchObject({ status: 422, body: { reason: 'Invalid' } })
    await server.namespace('elsewhere')
    const namesake = await server.request('POST', '/api/v1/namespaces/elsewhere/endpoints', {
      body: { metadata: { name: dialect }, subsets },
    })
    expect(namesake.status).toBe(422)
  })
})
