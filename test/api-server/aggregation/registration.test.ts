import { describe, expect, it } from 'vitest'
import { labelKey } from '../../../components/api/dialect.ts'
import type { TestApiServer } from '../../support/api-server.ts'
import { startApiServer } from '../../support/api-server.ts'
import { define } from '../../support/custom-definitions.ts'
import { eventually } from '../../support/eventually.ts'
import { describeDialects } from '../../support/shared-server.ts'

const withinMs = 120_000
const pathOf = (server: TestApiServer): string =>
  `/apis/${server.group('apiregistration')}/v1/apiservices`

// oxlint-disable-next-line typescript/no-explicit-any -- objects are read as a client reads them
type Json = any

const found = (server: TestApiServer, name: string, status: number): Promise<Json> =>
  eventually(async () => {
    const reply = await server.request('GET', `${pathOf(server)}/${name}`)
    expect(reply.status).toBe(status)
    return reply.body
  }, withinMs)

describeDialects('APIServices of what the server serves itself', (server) => {
  const label = () => labelKey(server().dialect, 'kube-aggregator', 'automanaged')

  it('each built-in group version has one, but for their own group', async () => {
    const { items } = await server().ok('GET', pathOf(server()))
    const names = items.map((item: Json) => item.metadata.name as string)
    expect(names).toContain('v1.')
    expect(names).toContain('v1.apps')
    expect(names).not.toContain(`v1.${server().group('apiregistration')}`)
    for (const { metadata, status } of items) {
      expect(metadata.labels).toEqual({ [label()]: 'onstart' })
      expect(status.conditions).toMatchObject([
        {
          type: 'Available',
          status: 'True',
          reason: 'Local',
          message: 'Local APIServices are always available',
        },
      ])
    }
  })

  it('each served version of a definition has one, for as long as a definition serves it', async () => {
    const group = 'kept.example.com'
    await define(server(), { group, kind: 'One' })
    await define(server(), { group, kind: 'Other' })
    const { metadata, spec, status } = await found(server(), `v1.${group}`, 200)
    expect(metadata.labels).toEqual({ [label()]: 'true' })
    expect(spec).toEqual({ group, version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 })
    expect(status.conditions).toMatchObject([{ reason: 'Local', status: 'True' }])
    const definitions = `/apis/${server().group('apiextensions')}/v1/customresourcedefinitions`
    await server().ok('DELETE', `${definitions}/ones.${group}`)
    await eventually(async () => {
      expect((await server().request('GET', `${definitions}/ones.${group}`)).status).toBe(404)
    }, withinMs)
    expect((await found(server(), `v1.${group}`, 200)).metadata.uid).toBe(metadata.uid)
    await server().ok('DELETE', `${definitions}/others.${group}`)
    await found(server(), `v1.${group}`, 404)
  })

  it('that of a definition comes back when it is deleted, and is mended when it is changed', async () => {
    const group = 'mended.example.com'
    await define(server(), { group, kind: 'Mended' })
    const { metadata } = await found(server(), `v1.${group}`, 200)
    await server().ok('DELETE', `${pathOf(server())}/v1.${group}`)
    const again = await eventually(async () => {
      const body = await server().ok('GET', `${pathOf(server())}/v1.${group}`)
      expect(body.metadata.uid).not.toBe(metadata.uid)
      return body
    }, withinMs)
    await server().ok('PUT', `${pathOf(server())}/v1.${group}`, {
      body: { ...again, spec: { ...again.spec, versionPriority: 7 } },
    })
    await eventually(async () => {
      const { spec } = await server().ok('GET', `${pathOf(server())}/v1.${group}`)
      expect(spec.versionPriority).toBe(100)
    }, withinMs)
  })

  it('one without the label is left alone', async () => {
    const group = 'own.example.com'
    const spec = { group, version: 'v1', groupPriorityMinimum: 50, versionPriority: 5 }
    const metadata = { name: `v1.${group}` }
    await server().ok('POST', pathOf(server()), { body: { metadata, spec } })
    await define(server(), { group, kind: 'Owned' })
    await define(server(), { group: 'later.example.com', kind: 'Later' })
    await found(server(), 'v1.later.example.com', 200)
    expect((await found(server(), `v1.${group}`, 200)).spec).toEqual(spec)
  })

  it('that of a built-in group stays deleted, and the group served', async () => {
    await server().ok('DELETE', `${pathOf(server())}/v1.apps`)
    await define(server(), { group: 'after.example.com', kind: 'After' })
    await found(server(), 'v1.after.example.com', 200)
    expect((await server().request('GET', `${pathOf(server())}/v1.apps`)).status).toBe(404)
    await server().ok('GET', '/apis/apps/v1/deployments')
    await server().ok('GET', '/apis/apps/v1')
  })
})

describe('after a restart', () => {
  it('built-in group versions have theirs again, and those no longer served have none', async () => {
    const flags = ['--runtime-config=storage.k8s.io/v1beta1=true']
    await using server = await startApiServer({ store: 'sqlite', flags })
    await found(server, 'v1beta1.storage.k8s.io', 200)
    await server.ok('DELETE', `${pathOf(server)}/v1.apps`)
    const changed = await server.ok('GET', `${pathOf(server)}/v1.batch`)
    await server.ok('PUT', `${pathOf(server)}/v1.batch`, {
      body: { ...changed, spec: { ...changed.spec, versionPriority: 2 } },
    })
    const own = await server.ok('GET', `${pathOf(server)}/v1.policy`)
    await server.ok('PUT', `${pathOf(server)}/v1.policy`, {
      body: {
        ...own,
        metadata: { ...own.metadata, labels: {} },
        spec: { ...own.spec, versionPriority: 2 },
      },
    })
    await server.restart({ flags: [] })
    await found(server, 'v1.apps', 200)
    await found(server, 'v1beta1.storage.k8s.io', 404)
    expect((await found(server, 'v1.batch', 200)).spec.versionPriority).not.toBe(2)
    expect((await found(server, 'v1.policy', 200)).spec.versionPriority).toBe(2)
  })
})
