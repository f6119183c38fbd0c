/** Metadata that every object has: rows RES-024 to RES-032. */
import { describe, expect, it } from 'vitest'
import { startApiServer } from '../../support/api-server.ts'
import { allow } from '../../support/grants.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { sharedServer } from '../../support/shared-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }

describe('metadata', () => {
  const server = sharedServer()
  const configMaps = async (): Promise<string> =>
    `/api/v1/namespaces/${await server().namespace()}/configmaps`

  it('[RES-024] generateName makes unique random names', async () => {
    const at = await configMaps()
    const names = new Set<string>()
    for (let count = 0; count < 20; count += 1) {
      const made = await server().ok('POST', at, { body: { metadata: { generateName: 'a-' } } })
      expect(made.metadata.name).toMatch(/^a-[a-z0-9]{5}$/)
      expect(made.metadata.generateName).toBe('a-')
      names.add(made.metadata.name)
    }
    expect(names.size).toBe(20)
    const long = 'x'.repeat(100)
    const cut = await server().ok('POST', at, { body: { metadata: { generateName: long } } })
    expect(cut.metadata.name.length).toBe(63)
    const both = await server().ok('POST', at, {
      body: { metadata: { name: 'mine', generateName: 'a-' } },
    })
    expect(both.metadata.name).toBe('mine')
  })

  it('[RES-025] namespace is carried by namespaced kinds only', async () => {
    const ns = await server().namespace()
    const at = `/api/v1/namespaces/${ns}/configmaps`
    const made = await server().ok('POST', at, { body: { metadata: { name: 'x' } } })
    expect(made.metadata.namespace).toBe(ns)
    const node = await server().ok('POST', '/api/v1/nodes', { body: { metadata: { name: 'n' } } })
    expect(node.metadata.namespace).toBeUndefined()
    const other = await server().request('POST', at, {
      body: { metadata: { name: 'y', namespace: 'default' } },
    })
    expect(other.status).toBe(400)
    expect(other.body.message).toBe(
      'the namespace of the provided object does not match the namespace sent on the request',
    )
    const scoped = await server().ok('POST', '/api/v1/nodes', {
      body: { metadata: { name: 'm', namespace: ns } },
    })
    expect(scoped.metadata.namespace).toBeUndefined()
    const wrong = await server().request('POST', at, {
      body: { metadata: { name: 'z', namespace: 5 } },
    })
    expect(wrong.status).toBe(400)
  })

  it('[RES-026] uids are set by the server and distinct', async () => {
    const at = await configMaps()
    const uids = new Set<string>()
    for (let round = 0; round < 20; round += 1) {
      const made = await server().ok('POST', at, {
        body: { metadata: { name: 'again', uid: 'mine' } },
      })
      expect(made.metadata.uid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
      uids.add(made.metadata.uid)
      await server().ok('DELETE', `${at}/again`)
    }
    expect(uids.size).toBe(20)
  })

  it('generateName of an object that has its name is the client’s to change', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    await server().ok('POST', at, { body: { metadata: { name: 'x' } } })
    for (const generateName of ['x-', 'y-', undefined]) {
      const put = await server().ok('PUT', `${at}/x`, {
        body: { metadata: { name: 'x', generateName } },
      })
      expect(put.metadata.generateName).toBe(generateName)
    }
  })

  it('an owner given twice is kept once, with a warning; one given in two ways is two', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u1' }
    const ownerReferences = [owner, { ...owner, uid: 'u2' }, owner]
    const made = await server().request('POST', at, {
      body: { metadata: { name: 'x', ownerReferences } },
    })
    expect(made.status).toBe(201)
    expect(made.body.metadata.ownerReferences).toEqual(ownerReferences.slice(0, 2))
    expect(made.headers['warning']).toContain('duplicate UID(s) observed: u1')
    const added = await server().request('PATCH', `${at}/x`, {
      headers: { 'content-type': 'application/json-patch+json' },
      body: [
        { op: 'add', path: '/metadata/ownerReferences/-', value: { ...owner, uid: 'u2' } },
        { op: 'add', path: '/metadata/ownerReferences/-', value: { ...owner, controller: true } },
      ],
    })
    expect(added.body.metadata.ownerReferences).toEqual([
      ...ownerReferences.slice(0, 2),
      { ...owner, controller: true },
    ])
    expect(added.headers['warning']).toContain('duplicate UID(s) observed: u2')
  })

  it('an object that was read is not created again as it is', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    const made = await server().ok('POST', at, { body: { metadata: { name: 'x' } } })
    await server().ok('DELETE', `${at}/x`)
    const again = await server().request('POST', at, { body: made })
    expect(again.status).toBe(400)
    expect(again.body.message).toBe('resourceVersion should not be set on objects to be created')
    const applied = await server().request('PATCH', `${at}/x?fieldManager=me`, {
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'x', resourceVersion: made.metadata.resourceVersion },
      },
    })
    expect(applied.status).toBe(400)
    expect((await server().request('GET', `${at}/x`)).status).toBe(404)
    const { resourceVersion: _, ...metadata } = made.metadata
    await server().ok('POST', at, { body: { ...made, metadata } })
  })

  it('[RES-027] resourceVersion is a string that changes with every write and works in requests', async () => {
    const at = await configMaps()
    const seen: string[] = []
    let object = await server().ok('POST', at, {
      body: { metadata: { name: 'x', resourceVersion: '' } },
    })
    for (let round = 0; round < 5; round += 1) {
      expect(typeof object.metadata.resourceVersion).toBe('string')
      seen.push(object.metadata.resourceVersion)
      object = await server().ok('PUT', `${at}/x`, {
        body: { ...object, data: { round: String(round) } },
      })
    }
    expect(new Set(seen).size).toBe(5)
    const version = object.metadata.resourceVersion
    const read = await server().ok('GET', `${at}/x?resourceVersion=${version}`)
    expect(read).toEqual(object)
    const list = await server().ok(
      'GET',
      `${at}?resourceVersion=${seen[0]}&resourceVersionMatch=Exact`,
    )
    expect(list.items[0].metadata.resourceVersion).toBe(seen[0])
    const watch = await server().watch(`${at}?watch=1&resourceVersion=${seen[0]}`)
    const events = await watch.take(5)
    expect(events.map((event) => event.object.metadata.resourceVersion)).toEqual([
      ...seen.slice(1),
      version,
    ])
    watch.close()
  })

  it('[RES-030] finalizers are a list that any authorized actor may reorder', async () => {
    const at = await configMaps()
    const finalizers = ['example.com/a', 'example.com/b', 'example.com/c']
    await server().ok('POST', at, { body: { metadata: { name: 'x', finalizers } } })
    const ns = at.split('/')[4] ?? ''
    const as = await allow(server(), ns, {
      name: 'other',
      rules: [{ resources: ['configmaps'], verbs: ['get', 'update'] }],
    })
    const mine = await server().ok('GET', `${at}/x`, { as })
    const order = ['example.com/c', 'example.com/a', 'example.com/b']
    mine.metadata.finalizers = order
    const answer = await server().request('PUT', `${at}/x`, { as, body: mine })
    expect(answer.status).toBe(200)
    expect((await server().ok('GET', `${at}/x`)).metadata.finalizers).toEqual(order)
    const wrong = await server().request('POST', at, {
      body: { metadata: { name: 'y', finalizers: 'example.com/a' } },
    })
    expect(wrong.status).toBe(400)
  })

  it('[RES-032] labels and annotations are maps of string to string', async () => {
    const at = await configMaps()
    const metadata = {
      name: 'x',
      labels: { 'example.com/a': 'b', empty: '' },
      annotations: { note: 'any text: {"a": [1]} \u00e9 \u{1f600}', toString: 'x' },
    }
    const made = await server().ok('POST', at, { body: { metadata } })
    const read = await server().ok('GET', `${at}/x`)
    expect(read.metadata).toMatchObject(metadata)
    expect(made).toEqual(read)
    for (const map of ['labels', 'annotations']) {
      for (const value of [1, true, { a: 'b' }, ['a']]) {
        const answer = await server().request('POST', at, {
          body: { metadata: { name: 'y', [map]: { a: value } } },
        })
        expect(answer.status, `${map} ${JSON.stringify(value)}`).toBe(400)
        expect(answer.body.reason).toBe('BadRequest')
      }
      const list = await server().request('PATCH', `${at}/x`, {
        headers: merge,
        body: { metadata: { [map]: ['a'] } },
      })
      expect([list.status, list.body.reason]).toEqual([422, 'Invalid'])
    }
    expect((await server().request('GET', `${at}/y`)).status).toBe(404)
  })
})

describe('times', () => {
  it("[RES-028] creationTimestamp is the server's time, whatever the client sends", async () => {
    const clock = new FakeClock(Math.floor(Date.now() / 1000) * 1000 + 7_000)
    await using server = await startApiServer({ clock })
    const at = `/api/v1/namespaces/${await server.namespace()}/configmaps`
    const metadata = { name: 'x', creationTimestamp: '2001-01-01T00:00:00Z' }
    const made = await server.ok('POST', at, { body: { metadata } })
    const now = `${new Date(clock.now()).toISOString().slice(0, 19)}Z`
    expect(made.metadata.creationTimestamp).toBe(now)
    const put = await server.ok('PUT', `${at}/x`, { body: { metadata, data: { a: '1' } } })
    expect(put.metadata.creationTimestamp).toBe(now)
    expect((await server.ok('GET', `${at}/x`)).metadata.creationTimestamp).toBe(now)
  })

  it('[RES-029] deletionTimestamp is set by the first delete and by nothing else', async () => {
    const clock = new FakeClock(Math.floor(Date.now() / 1000) * 1000)
    await using server = await startApiServer({ clock })
    const at = `/api/v1/namespaces/${await server.namespace()}/configmaps`
    const deletionTimestamp = '2001-01-01T00:00:00Z'
    const metadata = {
      name: 'x',
      finalizers: ['example.com/a'],
      deletionTimestamp,
      deletionGracePeriodSeconds: 5,
    }
    const made = await server.ok('POST', at, { body: { metadata } })
    expect(made.metadata.deletionTimestamp).toBeUndefined()
    const put = await server.ok('PUT', `${at}/x`, { body: { metadata, data: { a: '1' } } })
    expect(put.metadata.deletionTimestamp).toBeUndefined()
    const patched = await server.ok('PATCH', `${at}/x`, {
      headers: merge,
      body: { metadata: { deletionTimestamp } },
    })
    expect(patched.metadata.deletionTimestamp).toBeUndefined()
    expect((await server.ok('GET', `${at}/x`)).metadata.deletionTimestamp).toBeUndefined()
    await server.ok('DELETE', `${at}/x`)
    const first = `${new Date(clock.now()).toISOString().slice(0, 19)}Z`
    expect((await server.ok('GET', `${at}/x`)).metadata.deletionTimestamp).toBe(first)
    await clock.step(5000)
    await server.ok('DELETE', `${at}/x`)
    const again = await server.ok('PATCH', `${at}/x`, {
      headers: merge,
      body: { metadata: { deletionTimestamp: null } },
    })
    expect(again.metadata.deletionTimestamp).toBe(first)
  })
})
