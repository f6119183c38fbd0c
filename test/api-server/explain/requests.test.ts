/** The request journal: what was asked of a server, by whom, what became of it, and why. */
import { describe, expect, it } from 'vitest'
import type {
  JournalLine,
  OpenWatches,
  RequestRecord,
  RequestRecords,
} from '../../../components/api/request-record.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import {
  startApiServer,
  user,
  type TestApiServer,
  type TestWatch,
} from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { describeDialects } from '../../support/shared-server.ts'

const path = '/explain/requests'

async function records(server: TestApiServer, query = ''): Promise<readonly RequestRecord[]> {
  return ((await server.ok('GET', `${path}?${query}`)) as RequestRecords).items
}

/** A line of a stream, which the client of watches passes on as it is. */
const nextLine = async (stream: TestWatch): Promise<JournalLine> =>
  (await stream.next()) as unknown as JournalLine

async function nextRecord(stream: TestWatch): Promise<RequestRecord> {
  const line = await nextLine(stream)
  if ('missed' in line) throw new Error(`missed ${line.missed}`)
  return line
}

const merge = { 'content-type': 'application/merge-patch+json' }

describeDialects('the journal of writes', (server) => {
  it('has what the smells of controllers rest on: the version that was sent, the owner, a status that was ignored', async () => {
    const ns = await server().namespace()
    const pods = `/api/v1/namespaces/${ns}/pods`
    const spec = { containers: [{ name: 'web', image: 'web:1' }] }
    const made = (await server().ok('POST', pods, {
      body: { metadata: { name: 'web' }, spec },
    })) as KubeObject
    const metadata = { ...made.metadata, labels: { a: 'b' } }
    await server().ok('PUT', `${pods}/web`, {
      body: { ...made, metadata, status: { phase: 'Failed' } },
    })
    const blind = { ...metadata, labels: { a: 'c' }, resourceVersion: undefined }
    await server().ok('PUT', `${pods}/web`, { body: { ...made, metadata: blind } })
    const found = await records(server(), `namespace=${ns}&resource=pods`)
    expect(
      found.map(({ verb, sentVersion, isOwned, isStatusIgnored }) => ({
        verb,
        sentVersion,
        isOwned,
        isStatusIgnored,
      })),
    ).toEqual([
      { verb: 'create', isOwned: false },
      { verb: 'update', sentVersion: made.metadata.resourceVersion, isStatusIgnored: true },
      { verb: 'update', sentVersion: '' },
    ])
  })

  it('has each write with its user, its decision, its outcome and the resourceVersion that it made', async () => {
    const ns = await server().namespace()
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    const sent = { body: { metadata: { name: 'web' } }, headers: { 'user-agent': 'test/1.0' } }
    const created = await server().request('POST', maps, sent)
    const patch = { body: { data: { a: 'b' } }, headers: merge }
    const patched = await server().request('PATCH', `${maps}/web`, patch)
    await server().ok('PATCH', `${maps}/web`, patch)
    await server().ok('DELETE', `${maps}/web`)
    const found = await records(server(), `namespace=${ns}&resource=configmaps`)
    expect(found.map(({ verb, name, status }) => [verb, name, status])).toEqual([
      ['create', 'web', 201],
      ['patch', 'web', 200],
      ['patch', 'web', 200],
      ['delete', 'web', 200],
    ])
    expect(found[0]).toMatchObject({
      id: created.headers['audit-id'],
      user: 'admin',
      userAgent: 'test/1.0',
      authenticator: 'x509',
      group: '',
      resource: 'configmaps',
      subresource: '',
      namespace: ns,
      path: maps,
      decision: 'allow',
      revision: created.body.metadata.resourceVersion,
    })
    expect(found[1]?.revision).toBe(patched.body.metadata.resourceVersion)
    expect(found[2]).not.toHaveProperty('revision')
    expect(Number(found[3]?.revision)).toBeGreaterThan(Number(found[1]?.revision))
    const positions = found.map(({ seq }) => seq)
    expect(positions).toEqual([...new Set(positions)].toSorted((a, b) => a - b))
  })

  it('has denied, unauthenticated and invalid writes with their messages', async () => {
    const ns = await server().namespace()
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    const body = { metadata: { name: 'web' } }
    await server().request('POST', maps, { body, as: user('jane') })
    await server().request('POST', maps, { body, as: { token: 'wrong' } })
    await server().request('POST', maps, { body: { metadata: { name: 'NO' } } })
    const [denied, unknown, invalid] = await records(
      server(),
      `namespace=${ns}&resource=configmaps`,
    )
    expect(denied).toMatchObject({ user: 'jane', status: 403, decision: 'deny' })
    expect(denied?.message).toContain('cannot create resource "configmaps"')
    expect(unknown).toMatchObject({ user: '', status: 401, message: 'Unauthorized' })
    expect(unknown).not.toHaveProperty('authenticator')
    expect(invalid).toMatchObject({ status: 422, decision: 'allow' })
    expect(invalid?.message).toContain('metadata.name: Invalid value')
    expect(await records(server(), `namespace=${ns}&minStatus=403&resource=configmaps`)).toEqual([
      denied,
      invalid,
    ])
  })

  it('has impersonators, dry runs, applies and the causes that clients name', async () => {
    const ns = await server().namespace()
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    const body = { metadata: { name: 'web' } }
    const jane = { 'impersonate-user': 'jane', 'impersonate-group': 'system:masters' }
    await server().ok('POST', `${maps}?dryRun=All`, { body, headers: jane })
    const apply = {
      body: { apiVersion: 'v1', kind: 'ConfigMap', ...body },
      headers: {
        'content-type': 'application/apply-patch+yaml',
        'skiff-cause': 'watch pods default/web-1 4711',
      },
    }
    await server().ok('PATCH', `${maps}/web?fieldManager=me`, apply)
    const deletion = { kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'] }
    await server().ok('DELETE', `${maps}/web`, { body: deletion })
    const [first, second, third] = await records(server(), `namespace=${ns}&resource=configmaps`)
    expect(first).toMatchObject({ user: 'jane', impersonator: 'admin', dryRun: true })
    expect(first).not.toHaveProperty('revision')
    expect(second).toMatchObject({
      isApply: true,
      cause: { kind: 'watch', what: 'pods', key: 'default/web-1', revision: '4711' },
    })
    expect(third).toMatchObject({ verb: 'delete', dryRun: true, status: 200 })
  })

  it('has the authenticator behind a bearer token', async () => {
    const ns = await server().namespace()
    const group = server().group('rbac.authorization')
    const account = { kind: 'ServiceAccount', namespace: ns, name: 'default' }
    await server().ok('POST', `/apis/${group}/v1/namespaces/${ns}/rolebindings`, {
      body: {
        metadata: { name: 'edit' },
        roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'edit' },
        subjects: [account],
      },
    })
    const at = `/api/v1/namespaces/${ns}`
    const review = await server().ok('POST', `${at}/serviceaccounts/default/token`, { body: {} })
    const as = { token: String(review.status.token) }
    await server().ok('POST', `${at}/configmaps`, { body: { metadata: { name: 'web' } }, as })
    const [found] = await records(server(), `namespace=${ns}&resource=configmaps`)
    expect(found).toMatchObject({
      user: `system:serviceaccount:${ns}:default`,
      authenticator: 'service-account-token',
      decision: 'allow',
    })
    expect(found?.reason).toContain('RoleBinding')
    expect(JSON.stringify(found)).not.toContain(as.token)
  })

  it('has the writes of actions below an object, and of whole collections', async () => {
    const ns = await server().namespace()
    const pods = `/api/v1/namespaces/${ns}/pods`
    const spec = { containers: [{ name: 'a', image: 'one' }] }
    for (const name of ['one', 'two']) {
      await server().ok('POST', pods, { body: { metadata: { name }, spec } })
    }
    const target = { target: { kind: 'Node', name: 'node-1' } }
    await server().ok('POST', `${pods}/one/binding`, { body: target })
    const { metadata } = await server().ok('GET', `${pods}/one`)
    await server().ok('DELETE', `${pods}?labelSelector=!none&gracePeriodSeconds=0`)
    const found = await records(server(), `namespace=${ns}&resource=pods&limit=2`)
    expect(found[0]).toMatchObject({
      verb: 'create',
      subresource: 'binding',
      name: 'one',
      revision: metadata.resourceVersion,
    })
    expect(found[1]).toMatchObject({ verb: 'deletecollection', labelSelector: '!none' })
    expect(found[1]?.revisions).toHaveLength(2)
    expect(found[1]?.revisions?.at(-1)).toBe(found[1]?.revision)
  })

  it('has the writes of the server itself', async () => {
    const found = await records(server(), 'user=system:apiserver&verb=create&resource=namespaces')
    expect(found.map(({ name }) => name)).toContain('default')
    expect(found.every(({ revision }) => revision !== undefined)).toBe(true)
  })

  it('has no reads, reviews and tokens while no client follows it', async () => {
    const ns = await server().namespace()
    await server().ok('GET', `/api/v1/namespaces/${ns}`)
    const review = `/apis/${server().group('authentication')}/v1/selfsubjectreviews`
    await server().ok('POST', review, { body: {} })
    const token = `/api/v1/namespaces/${ns}/serviceaccounts/default/token`
    await server().ok('POST', token, { body: {} })
    const found = await records(server(), 'limit=10000&all=true')
    expect(found.filter(({ verb }) => verb === 'get')).toEqual([])
    expect(found.filter(({ resource }) => resource === 'selfsubjectreviews')).toEqual([])
    expect(found.filter(({ subresource }) => subresource === 'token')).toEqual([])
  })

  it.each([
    ['limit=0', 'limit must be a whole number from 1 to 20000'],
    ['limit=x', 'limit must be a whole number from 1 to 20000'],
    ['since=-1', 'since must be a whole number from 0 to'],
    ['minStatus=20', 'minStatus must be a whole number from 100 to 599'],
    ['follow=maybe', 'follow must be true or false, not "maybe"'],
    ['resource=pods/', 'resource "pods/" is invalid'],
    ['users=jane', 'unknown parameter "users": use limit, since,'],
  ])('the query "%s" gets 400', async (query, message) => {
    const reply = await server().request('GET', `${path}?${query}`)
    expect(reply.status).toBe(400)
    expect(reply.body.message).toContain(message)
  })

  it('is for those who may get its path, and for GET alone', async () => {
    expect((await server().request('GET', path, { as: user('jane') })).status).toBe(403)
    expect((await server().request('POST', path, { body: {} })).status).toBe(405)
    const watches = '/explain/watches'
    expect((await server().request('GET', watches, { as: user('jane') })).status).toBe(403)
  })
})

describeDialects('a client that follows the journal', (server) => {
  it('gets what is kept and then every request, with reads', async () => {
    const ns = await server().namespace()
    const kept = await records(server(), `namespace=${ns}&limit=1`)
    const stream = await server().watch(`${path}?follow=true&limit=1&namespace=${ns}`)
    expect(await nextRecord(stream)).toEqual(kept[0])
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    await server().request('GET', `${maps}/none`)
    await server().ok('GET', `${maps}?labelSelector=a`)
    expect(await nextRecord(stream)).toMatchObject({ verb: 'get', status: 404, name: 'none' })
    expect(await nextRecord(stream)).toMatchObject({ verb: 'list', labelSelector: 'a' })
    const watch = await server().watch(`${maps}?watch=true`)
    expect(await nextRecord(stream)).toMatchObject({ verb: 'watch', status: 200 })
    watch.close()
    stream.close()
  })

  it('resumes after the last record that it has seen', async () => {
    const ns = await server().namespace()
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    for (const name of ['a', 'b']) await server().ok('POST', maps, { body: { metadata: { name } } })
    const [first] = await records(server(), `namespace=${ns}&resource=configmaps`)
    const query = `follow=1&namespace=${ns}&since=${first?.seq}`
    const stream = await server().watch(`${path}?${query}`)
    expect(await nextRecord(stream)).toMatchObject({ name: 'b' })
    await server().ok('POST', maps, { body: { metadata: { name: 'c' } } })
    expect(await nextRecord(stream)).toMatchObject({ name: 'c' })
    stream.close()
  })

  it('gets health checks, metrics and requests of the journal only with all=true', async () => {
    const some = await server().watch(`${path}?follow=true&verb=get&limit=1`)
    const all = await server().watch(`${path}?follow=true&verb=get&limit=1&all=true`)
    const paths = ['/readyz', '/metrics', '/explain/watches', '/version']
    for (const one of paths) await server().request('GET', one)
    const seen = new Set<string>()
    while (!paths.every((one) => seen.has(one))) seen.add((await nextRecord(all)).path)
    for (;;) {
      const { path: one } = await nextRecord(some)
      expect(one).not.toMatch(/readyz|metrics|explain/)
      if (one === '/version') break
    }
    some.close()
    all.close()
  })

  it.each([
    ['writes=true', 'create'],
    ['resource=configmaps&verb=get', 'get'],
    ['name=web&user=admin&verb=get', 'get'],
  ])('gets only what it asks for: %s', async (query, verb) => {
    const ns = await server().namespace()
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    const stream = await server().watch(`${path}?follow=true&namespace=${ns}&limit=1&${query}`)
    await server().ok('GET', maps)
    await server().ok('POST', maps, { body: { metadata: { name: 'web' } } })
    await server().ok('GET', `${maps}/web`)
    for (;;) {
      const record = await nextRecord(stream)
      if (record.resource !== 'configmaps') continue
      expect([record.verb, record.name]).toEqual([verb, 'web'])
      break
    }
    stream.close()
  })
})

describe('following the journal', () => {
  it('ends with the rights of the follower', async () => {
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock })
    const group = server.group('rbac.authorization')
    const role = {
      metadata: { name: 'journal' },
      rules: [{ nonResourceURLs: [path], verbs: ['get'] }],
    }
    await server.ok('POST', `/apis/${group}/v1/clusterroles`, { body: role })
    const bindings = `/apis/${group}/v1/clusterrolebindings`
    const binding = {
      metadata: { name: 'journal' },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'journal' },
      subjects: [{ apiGroup: group, kind: 'User', name: 'jane' }],
    }
    await server.ok('POST', bindings, { body: binding })
    const stream = await server.watch(`${path}?follow=true`, { as: user('jane') })
    await stream.next()
    let hasEnded = false
    void stream.ended.then(() => (hasEnded = true))
    await clock.step(61_000)
    await settle()
    expect(hasEnded).toBe(false)
    await server.ok('DELETE', `${bindings}/journal`)
    await clock.step(31_000)
    await stream.ended
  })

  it('ends when the server ends, and resumes with the next server', async () => {
    await using server = await startApiServer({ store: 'sqlite' })
    const stream = await server.watch(`${path}?follow=true`)
    const { seq } = await nextRecord(stream)
    const ended = server.terminate()
    await stream.ended
    await ended
    await server.restart()
    await server.namespace('later')
    const resumed = await server.watch(`${path}?follow=true&since=${seq}&name=later`)
    const first = await nextRecord(resumed)
    expect(first).toMatchObject({ verb: 'create', name: 'later' })
    expect(first.seq).toBeGreaterThan(seq)
    resumed.close()
  })

  it('takes no seat of priority and fairness or max-in-flight', async () => {
    const flags = ['--enable-priority-and-fairness=false', '--max-requests-inflight=1']
    await using server = await startApiServer({ flags })
    const crew = { apiGroup: server.group('rbac.authorization'), kind: 'User', name: 'jane' }
    await server.ok('POST', `/apis/${crew.apiGroup}/v1/clusterrolebindings`, {
      body: {
        metadata: { name: 'jane' },
        roleRef: { apiGroup: crew.apiGroup, kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [crew],
      },
    })
    const as = user('jane')
    const streams = [1, 2, 3].map(() => server.watch(`${path}?follow=true`, { as }))
    for (const stream of await Promise.all(streams)) await stream.next()
    expect((await server.request('GET', '/api/v1/nodes', { as })).status).toBe(200)
  })
})

describeDialects('the watches that are open', (server) => {
  it('are listed with their clients and what was sent', async () => {
    const ns = await server().namespace()
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    const list = async (): Promise<OpenWatches['items']> => {
      const { items } = (await server().ok('GET', '/explain/watches')) as OpenWatches
      return items.filter(({ namespace }) => namespace === ns)
    }
    expect(await list()).toEqual([])
    const query = 'watch=true&fieldSelector=metadata.name%3Dweb'
    const watch = await server().watch(`${maps}?${query}`, { headers: { 'user-agent': 'eye/2' } })
    await server().ok('POST', maps, { body: { metadata: { name: 'web' } } })
    await server().ok('POST', maps, { body: { metadata: { name: 'other' } } })
    await watch.next()
    const [open, ...others] = await list()
    expect(others).toEqual([])
    expect(open).toMatchObject({
      user: 'admin',
      userAgent: 'eye/2',
      group: '',
      resource: 'configmaps',
      fieldSelector: 'metadata.name=web',
      events: 1,
      waitingBytes: 0,
      behind: 0,
    })
    watch.close()
    await eventually(async () => expect(await list()).toEqual([]))
  })
})
