/** The changes in a namespace, as the server's history has them. */
import { describe, expect, it } from 'vitest'
import type { ChangesExplanation, NamespaceChange } from '../../../components/api/explanations.ts'
import { startApiServer } from '../../support/api-server.ts'
import { changes } from '../../support/explain.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { describeDialects } from '../../support/shared-server.ts'

/** `created ConfigMap/web by jane`. */
const lines = ({ items }: ChangesExplanation): string[] =>
  items.map(({ type, kind, name, managers }) => `${type} ${kind}/${name} by ${managers.join(', ')}`)

const last = ({ items }: ChangesExplanation): NamespaceChange | undefined => items.at(-1)

describeDialects('the changes in a namespace', (server) => {
  const merge = { 'content-type': 'application/merge-patch+json' }

  it('are all from its creation on, in order, each with its field manager', async () => {
    const ns = await server().namespace()
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    const body = { metadata: { name: 'web' }, data: { color: 'red' } }
    await server().ok('POST', `${maps}?fieldManager=jane`, { body })
    const patch = { body: { data: { color: 'blue' } }, headers: merge }
    await server().ok('PATCH', `${maps}/web?fieldManager=joe`, patch)
    await server().ok('DELETE', `${maps}/web`)
    const found = await changes(server(), ns)
    expect(found.reaches).toBe('creation')
    expect(lines(found).filter((line) => !line.includes('ServiceAccount'))).toEqual([
      expect.stringContaining(`created Namespace/${ns} by `),
      'created ConfigMap/web by jane',
      'changed ConfigMap/web by joe',
      'deleted ConfigMap/web by ',
    ])
    const revisions = found.items.map(({ resourceVersion }) => Number(resourceVersion))
    expect(revisions).toEqual(revisions.toSorted((a, b) => a - b))
    expect(found.items.at(-2)?.fields).toEqual([
      { path: 'data.color', before: 'red', after: 'blue' },
    ])
  })

  it('a second write of one manager within a second has its manager, too', async () => {
    const ns = await server().namespace()
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    const body = { metadata: { name: 'web' }, data: { color: 'red' } }
    await server().ok('POST', `${maps}?fieldManager=jane`, { body })
    for (const color of ['blue', 'green']) {
      const patch = { body: { data: { color } }, headers: merge }
      await server().ok('PATCH', `${maps}/web?fieldManager=jane`, patch)
      expect(lines(await changes(server(), ns)).at(-1)).toBe('changed ConfigMap/web by jane')
    }
  })

  it('are those of the namespace and of cluster-scoped objects, of no other namespace', async () => {
    const [ns, other] = [await server().namespace(), await server().namespace()]
    const body = { metadata: { name: 'mine' } }
    await server().ok('POST', `/api/v1/namespaces/${other}/configmaps`, { body })
    await server().ok('POST', `/api/v1/namespaces/${ns}/configmaps`, { body })
    const node = { metadata: { name: `node-of-${ns}` } }
    await server().ok('POST', '/api/v1/nodes', { body: node })
    const found = lines(await changes(server(), ns)).map((line) => line.replace(/ by .*/, ''))
    expect(found).toEqual([
      `created Namespace/${ns}`,
      'created ServiceAccount/default',
      'created ConfigMap/mine',
      `created Node/node-of-${ns}`,
    ])
  })

  it('name the items of lists by their own names, and hide what a Secret holds', async () => {
    const ns = await server().namespace()
    const pods = `/api/v1/namespaces/${ns}/pods`
    const pod = { metadata: { name: 'web' }, spec: { containers: [{ name: 'a', image: 'one' }] } }
    await server().ok('POST', pods, { body: pod })
    const spec = { containers: [{ name: 'a', image: 'two' }] }
    const strategic = { 'content-type': 'application/strategic-merge-patch+json' }
    await server().ok('PATCH', `${pods}/web`, { body: { spec }, headers: strategic })
    expect(last(await changes(server(), ns))?.fields).toContainEqual({
      path: 'spec.containers[name=a].image',
      before: 'one',
      after: 'two',
    })
    const secrets = `/api/v1/namespaces/${ns}/secrets`
    const data = (text: string) => ({ data: { key: Buffer.from(text).toString('base64') } })
    await server().ok('POST', secrets, { body: { metadata: { name: 'tls' }, ...data('first') } })
    await server().ok('PATCH', `${secrets}/tls`, { body: data('second'), headers: merge })
    const found = await changes(server(), ns)
    expect(last(found)?.fields).toEqual([
      { path: 'data.key', before: '(hidden)', after: '(hidden)' },
    ])
    expect(JSON.stringify(found)).not.toContain(data('first').data.key)
  })

  it('have what Events say, and leave out signs of life', async () => {
    const ns = await server().namespace()
    const leases = `/apis/${server().group('coordination')}/v1/namespaces/${ns}/leases`
    const renewed = (second: number) => ({
      spec: { renewTime: `2025-01-01T00:00:0${second}.000000Z` },
    })
    await server().ok('POST', leases, { body: { metadata: { name: 'l' }, ...renewed(1) } })
    const before = await changes(server(), ns)
    await server().ok('PATCH', `${leases}/l`, { body: renewed(2), headers: merge })
    expect(lines(await changes(server(), ns))).toEqual(lines(before))
    const event = {
      metadata: { name: 'web.1' },
      involvedObject: { kind: 'Pod', namespace: ns, name: 'web' },
      type: 'Warning',
      reason: 'BackOff',
      message: 'Back-off restarting',
      count: 3,
    }
    await server().ok('POST', `/api/v1/namespaces/${ns}/events`, { body: event })
    expect(last(await changes(server(), ns))?.event).toEqual({
      type: 'Warning',
      reason: 'BackOff',
      message: 'Back-off restarting',
      regarding: 'Pod/web',
      count: 3,
    })
  })

  it('leave out what the server writes for itself, such as default roles', async () => {
    const found = await changes(server(), server().dialect.systemNamespace, 1000)
    const own = found.items.filter(({ namespace }) => namespace === undefined)
    expect(own.filter(({ kind }) => /^(?:ClusterRole|FlowSchema|APIService)/.test(kind))).toEqual(
      [],
    )
    expect(found.reaches).toBe('creation')
  })

  it('are the newest ones when there are more than the limit', async () => {
    const ns = await server().namespace()
    for (const name of ['a', 'b', 'c']) {
      const body = { metadata: { name } }
      await server().ok('POST', `/api/v1/namespaces/${ns}/configmaps`, { body })
    }
    const found = await changes(server(), ns, 2)
    expect(found.reaches).toBe('limit')
    expect(found.items.map(({ name }) => name)).toEqual(['b', 'c'])
  })

  it.each(['namespace=a&limit=0', 'namespace=a&limit=1001', 'namespace=a&limit=x', 'limit=1'])(
    'the query "%s" is refused',
    async (query) => {
      expect((await server().request('GET', `/explain/changes?${query}`)).status).toBe(400)
    },
  )
})

describe('a history that is over', () => {
  it('leaves the objects that there are, with who wrote them', async () => {
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock })
    const ns = await server.namespace('old')
    const maps = `/api/v1/namespaces/${ns}/configmaps?fieldManager=jane`
    const body = (name: string) => ({ body: { metadata: { name }, data: { color: 'red' } } })
    await server.ok('POST', maps, body('first'))
    await clock.step(6 * 60 * 1000)
    await server.ok('POST', maps, body('second'))
    const found = await changes(server, ns)
    expect(found.reaches).toBe('history')
    expect(lines(found).filter((line) => !line.includes('ServiceAccount'))).toEqual([
      'existing ConfigMap/first by jane',
      'created ConfigMap/second by jane',
    ])
  })
})
