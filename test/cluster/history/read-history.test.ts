/** The history of an object, read from a real API server. */
import { describe, expect, it } from 'vitest'
import { historyText } from '../../../cluster/history/history-text.ts'
import type { ObjectHistory } from '../../../cluster/history/object-history.ts'
import { oldestRevision } from '../../../cluster/history/oldest-revision.ts'
import { readHistory } from '../../../cluster/history/read-history.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { createClient, type Client } from '../../../components/client/client.ts'
import type { ResourceClient } from '../../../components/client/resource-client.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import {
  admin,
  startApiServer,
  user,
  type Identity,
  type TestApiServer,
} from '../../support/api-server.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { describeDialects } from '../../support/shared-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }

function clientOf(server: TestApiServer, as: Identity = admin): Client & Disposable {
  const shown = server.credential(as)
  const client = createClient({
    server: `https://127.0.0.1:${server.port}`,
    ca: server.pki.authority.certificatePem,
    credentials: { cert: shown?.certificatePem ?? '', key: shown?.privateKeyPem ?? '' },
    dialect: server.dialect,
  })
  return { ...client, [Symbol.dispose]: () => client.close() }
}

async function mapHistory(
  server: TestApiServer,
  namespace: string,
  { name = 'web', as = admin }: { name?: string; as?: Identity } = {},
): Promise<ObjectHistory> {
  using client = clientOf(server, as)
  const { configMaps } = resourcesOf(server.dialect)
  const history = await readHistory(client, configMaps, { namespace, name })
  if (history === undefined) throw new Error(`no history of ${namespace}/${name}`)
  return history
}

describeDialects('the history of an object', (server) => {
  it('has each revision with its time, its user, its cause and the fields that changed', async () => {
    const ns = await server().namespace()
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    const body = { metadata: { name: 'web' }, data: { color: 'red' } }
    const agent = { 'user-agent': 'kubectl/v1.35.0 (linux/amd64)' }
    await server().ok('POST', `${maps}?fieldManager=jane`, { body, headers: agent })
    await server().ok('PATCH', `${maps}/web?fieldManager=joe`, {
      body: { data: { color: 'blue' } },
      headers: { ...merge, ...agent, 'skiff-cause': 'watch pods default/web-1 17' },
    })
    const history = await mapHistory(server(), ns)
    expect(history).toMatchObject({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: ns,
      name: 'web',
    })
    expect(history).not.toHaveProperty('noJournal')
    expect(history.revisions).toMatchObject([
      {
        type: 'created',
        managers: ['jane'],
        author: { user: 'admin', verb: 'create' },
        fields: [],
      },
      {
        type: 'changed',
        managers: ['joe'],
        author: {
          user: 'admin',
          verb: 'patch',
          cause: { kind: 'watch', what: 'pods', key: 'default/web-1', revision: '17' },
        },
        fields: [{ path: 'data.color', before: 'red', after: 'blue' }],
      },
    ])
    expect(Date.parse(history.revisions[0]?.time ?? '')).toBeGreaterThan(Date.now() - 60_000)
    const text = historyText(history, true)
    expect(text).toContain('  by   admin, field manager joe, kubectl/v1.35.0\n')
    expect(text).toContain('  why  it saw pods default/web-1 at revision 17\n')
    expect(text).toContain('  data.color: red -> blue\n')
    expect(historyText(history, false)).not.toContain('data.color')
  })

  it('goes on after a deletion, and tells objects of one name apart', async () => {
    const ns = await server().namespace()
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    const body = { metadata: { name: 'web' }, data: { color: 'red' } }
    await server().ok('POST', maps, { body })
    await server().ok('DELETE', `${maps}?labelSelector=!none`)
    const types = async (): Promise<string[]> =>
      (await mapHistory(server(), ns)).revisions.map(({ type }) => type)
    expect(await types()).toEqual(['created', 'deleted'])
    await server().ok('POST', maps, { body })
    expect(await types()).toEqual(['created', 'deleted', 'created'])
    const { revisions } = await mapHistory(server(), ns)
    expect(revisions[1]?.author?.verb).toBe('deletecollection')
    expect(revisions[2]?.fields).toEqual([])
  })

  it('has field managers in place of users for who may not read the journal', async () => {
    const ns = await server().namespace()
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    const body = { metadata: { name: 'web' }, data: { color: 'red' } }
    await server().ok('POST', `${maps}?fieldManager=jane`, { body })
    const group = server().group('rbac.authorization')
    const at = `/apis/${group}/v1/namespaces/${ns}`
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }]
    await server().ok('POST', `${at}/roles`, { body: { metadata: { name: 'reader' }, rules } })
    const roleRef = { apiGroup: group, kind: 'Role', name: 'reader' }
    const subjects = [{ apiGroup: group, kind: 'User', name: 'jo' }]
    const binding = { metadata: { name: 'reader' }, roleRef, subjects }
    await server().ok('POST', `${at}/rolebindings`, { body: binding })
    const history = await mapHistory(server(), ns, { as: user('jo') })
    expect(history.noJournal).toBe('your user may not get /explain/requests')
    expect(history.revisions).toMatchObject([{ type: 'created', managers: ['jane'] }])
    expect(history.revisions[0]).not.toHaveProperty('author')
    expect(history.revisions[0]?.time).toBeDefined()
    expect(historyText(history, true)).toContain('  by   field manager jane\n')
  })

  it('shows no value of a Secret', async () => {
    const ns = await server().namespace()
    const secrets = `/api/v1/namespaces/${ns}/secrets`
    const data = (text: string) => ({ data: { key: Buffer.from(text).toString('base64') } })
    await server().ok('POST', secrets, { body: { metadata: { name: 'tls' }, ...data('first') } })
    await server().ok('PATCH', `${secrets}/tls`, { body: data('second'), headers: merge })
    using client = clientOf(server())
    const kind = resourcesOf(server().dialect).secrets
    const history = await readHistory(client, kind, { namespace: ns, name: 'tls' })
    expect(history?.revisions[1]?.fields).toEqual([
      { path: 'data.key', before: '(hidden)', after: '(hidden)' },
    ])
    expect(JSON.stringify(history)).not.toContain(data('first').data.key)
    expect(JSON.stringify(history)).not.toContain(data('second').data.key)
  })

  it('is undefined for an object that never was', async () => {
    const ns = await server().namespace()
    using client = clientOf(server())
    const { configMaps } = resourcesOf(server().dialect)
    const at = { namespace: ns, name: 'nothing' }
    expect(await readHistory(client, configMaps, at)).toBeUndefined()
  })
})

describe('a history that has an end', () => {
  it('begins with the oldest state that the server remembers', async () => {
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock })
    const ns = await server.namespace()
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    await server.ok('POST', maps, { body: { metadata: { name: 'web' }, data: { a: '1' } } })
    const patch = async (a: string): Promise<void> => {
      await server.ok('PATCH', `${maps}/web`, { body: { data: { a } }, headers: merge })
    }
    await patch('2')
    await clock.step(400_000)
    await patch('3')
    const { revisions, since } = await mapHistory(server, ns)
    expect(revisions.map(({ type }) => type)).toEqual(['existing', 'changed'])
    expect(Number(since)).toBeGreaterThanOrEqual(Number(revisions[0]?.resourceVersion))
    expect(revisions[1]?.fields).toEqual([{ path: 'data.a', before: '2', after: '3' }])
    expect(revisions[0]).not.toHaveProperty('author')
  })

  it.each([1, 2, 63, 64, 65, 500, 4095, 4096])('is found when it begins at %d', async (oldest) => {
    const newest = 4096
    let asked = 0
    const list: ResourceClient['list'] = ({ resourceVersion } = {}) => {
      asked += 1
      const isKnown = Number(resourceVersion) >= oldest
      if (!isKnown) return Promise.reject(new StatusError('Expired', 'gone', { code: 410 }))
      return Promise.resolve({ metadata: {}, items: [] } as never)
    }
    const objects = { list } as ResourceClient
    expect(await oldestRevision(objects, { fieldSelector: '' }, newest)).toBe(oldest)
    expect(asked).toBeLessThan(25)
  })
})
