/** PUT and PATCH: rows UPD-001 to UPD-008. */
import { describe, expect, it } from 'vitest'
import { sharedServer } from '../../support/shared-server.ts'
import type { TestApiServer } from '../../support/api-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }
const json = { 'content-type': 'application/json-patch+json' }
const strategic = { 'content-type': 'application/strategic-merge-patch+json' }

describe('updates', () => {
  const server = sharedServer()
  const made = async (name: string, more: object = {}): Promise<{ item: string; object: any }> => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    const body = { metadata: { name }, data: { a: '1', b: '1' }, ...more }
    return { item: `${at}/${name}`, object: await server().ok('POST', at, { body }) }
  }

  it('[UPD-001] PUT takes the full object with its version and returns the new one', async () => {
    const { item, object } = await made('x')
    const answer = await server().request('PUT', item, { body: { ...object, data: { c: '3' } } })
    expect(answer.status).toBe(200)
    expect(answer.body.data).toEqual({ c: '3' })
    expect(answer.body.metadata.resourceVersion).not.toBe(object.metadata.resourceVersion)
    expect(answer.body.metadata.uid).toBe(object.metadata.uid)
    expect((await server().auditOf(answer)).verb).toBe('update')
    expect(await server().ok('GET', item)).toEqual(answer.body)
  })

  it('[UPD-002] PUT creates where the type allows it', async () => {
    const ns = await server().namespace()
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${ns}/leases`
    const lease = { metadata: { name: 'l' }, spec: { holderIdentity: 'one' } }
    const created = await server().request('PUT', `${leases}/l`, { body: lease })
    expect(created.status).toBe(201)
    expect(created.body.metadata.uid).toBeDefined()
    const updated = await server().request('PUT', `${leases}/l`, {
      body: { ...created.body, spec: { holderIdentity: 'two' } },
    })
    expect(updated.status).toBe(200)
    expect(updated.body.spec.holderIdentity).toBe('two')
    const versioned = await server().request('PUT', `${leases}/m`, {
      body: { metadata: { name: 'm', resourceVersion: '5' } },
    })
    expect(versioned.status).toBe(404)
    const configMap = await server().request('PUT', `/api/v1/namespaces/${ns}/configmaps/x`, {
      body: { metadata: { name: 'x' } },
    })
    expect(configMap.status).toBe(404)
    expect((await server().ok('GET', `/api/v1/namespaces/${ns}/configmaps`)).items).toEqual([])
  })

  it('PUTs without a version all succeed, however many overtake each other, and warn once', async () => {
    const { item } = await made('x')
    const words = Array.from({ length: 20 }, (_, n) => `w${n}`)
    const answers = await Promise.all(
      words.map((word) =>
        server().request('PUT', `${item}?fieldValidation=Warn`, {
          body: { metadata: { name: 'x' }, data: { word }, unknown: word },
        }),
      ),
    )
    for (const [n, { status, body, headers }] of answers.entries()) {
      expect(status).toBe(200)
      expect(body.data).toEqual({ word: words[n] })
      expect(headers['warning']).toBe('299 - "unknown field \\"unknown\\""')
    }
    const versions = answers.map(({ body }) => body.metadata.resourceVersion)
    expect(new Set(versions).size).toBe(words.length)
  })

  it('[UPD-003][ERR-012] PUT of a stale version is refused and changes nothing', async () => {
    const { item, object } = await made('x')
    const first = await server().ok('PUT', item, { body: { ...object, data: { by: 'first' } } })
    const second = await server().request('PUT', item, {
      body: { ...object, data: { by: 'second' } },
    })
    expect(second.status).toBe(409)
    expect(second.body).toMatchObject({ kind: 'Status', reason: 'Conflict' })
    expect(await server().ok('GET', item)).toEqual(first)
  })

  it('[UPD-004] PATCH changes what the document says and returns the object', async () => {
    const { item, object } = await made('x', { metadata: { name: 'x', labels: { keep: 'me' } } })
    const answer = await server().request('PATCH', item, {
      headers: merge,
      body: { data: { a: '2' } },
    })
    expect(answer.status).toBe(200)
    expect(answer.body.data).toEqual({ a: '2', b: '1' })
    expect(answer.body.metadata.labels).toEqual({ keep: 'me' })
    expect(answer.body.metadata.uid).toBe(object.metadata.uid)
    expect((await server().auditOf(answer)).verb).toBe('patch')
    expect(await server().ok('GET', item)).toEqual(answer.body)
  })

  it('the type of a patch document is read from its Content-Type', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/pods`
    const containers = [
      { name: 'a', image: 'a' },
      { name: 'b', image: 'b' },
    ]
    await server().ok('POST', at, { body: { metadata: { name: 'p' }, spec: { containers } } })
    const images = (pod: { spec: { containers: { image: string }[] } }): string[] =>
      pod.spec.containers.map(({ image }) => image)
    // The same document means other things: lists are merged by key, or replaced.
    const change = { spec: { containers: [{ name: 'b', image: 'c' }] } }
    expect(
      images(await server().ok('PATCH', `${at}/p`, { headers: strategic, body: change })),
    ).toEqual(['a', 'c'])
    const replaced = await server().request('PATCH', `${at}/p`, { headers: merge, body: change })
    expect(replaced.status).toBe(422)
    const operations = [{ op: 'replace', path: '/spec/containers/0/image', value: 'd' }]
    expect(
      images(await server().ok('PATCH', `${at}/p`, { headers: json, body: operations })),
    ).toEqual(['d', 'c'])
    for (const type of ['application/json', 'text/plain', '']) {
      const answer = await server().request('PATCH', `${at}/p`, {
        headers: { 'content-type': type },
        body: change,
      })
      expect(answer.status, type).toBe(415)
    }
    const shape = await server().request('PATCH', `${at}/p`, { headers: json, body: change })
    expect(shape.status).toBe(400)
  })

  it('[UPD-006] a JSON patch may carry If-Match', async () => {
    const { item, object } = await made('x')
    const patch = async (version: string, value: string) =>
      await server().request('PATCH', item, {
        headers: { ...json, 'if-match': version },
        body: [{ op: 'replace', path: '/data/a', value }],
      })
    const current = object.metadata.resourceVersion
    expect((await patch(current, '2')).status).toBe(200)
    const stale = await patch(current, '3')
    expect(stale.status).toBe(409)
    expect(stale.body.reason).toBe('Conflict')
    const now = await server().ok('GET', item)
    expect(now.data.a).toBe('2')
    expect((await patch(`"${now.metadata.resourceVersion}"`, '4')).status).toBe(200)
  })

  it('[UPD-007] a patch with a stale resourceVersion is refused', async () => {
    const { item, object } = await made('x')
    await server().ok('PATCH', item, { headers: merge, body: { data: { a: '2' } } })
    const before = await server().ok('GET', item)
    const { resourceVersion } = object.metadata
    for (const headers of [merge, strategic]) {
      const stale = await server().request('PATCH', item, {
        headers,
        body: { metadata: { resourceVersion }, data: { a: '3' } },
      })
      expect(stale.status).toBe(409)
    }
    const replace = await server().request('PATCH', item, {
      headers: json,
      body: [
        { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion },
        { op: 'replace', path: '/data/a', value: '3' },
      ],
    })
    expect(replace.status).toBe(409)
    expect(await server().ok('GET', item)).toEqual(before)
  })

  it('[UPD-008] every write that changes an object has a new version', async () => {
    const { item, object } = await made('x')
    const seen = [object.metadata.resourceVersion]
    for (let round = 0; round < 10; round += 1) {
      const data = { a: `${round}` }
      const { metadata } =
        round % 2 === 0
          ? await server().ok('PUT', item, { body: { metadata: { name: 'x' }, data } })
          : await server().ok('PATCH', item, { headers: merge, body: { data: { p: `${round}` } } })
      seen.push(metadata.resourceVersion)
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.map(Number)).toEqual(seen.map(Number).toSorted((a, b) => a - b))
  })

  it('patches of different fields at once all succeed', async () => {
    const { item } = await made('x')
    const fields = Array.from({ length: 30 }, (_, index) => `f${index}`)
    const answers = await Promise.all(
      fields.map((field) =>
        server().request('PATCH', item, { headers: merge, body: { data: { [field]: 'x' } } }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(fields.map(() => 200))
    expect(Object.keys((await server().ok('GET', item)).data).sort()).toEqual(
      ['a', 'b', ...fields].sort(),
    )
  })

  it('of many updates of one version at once exactly one succeeds', async () => {
    const { item, object } = await made('x')
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        server().request('PUT', item, { body: { ...object, data: { by: `${index}` } } }),
      ),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array.from({ length: 19 }, () => 409)])
  })

  it('a status update changes only status, an update everything but status', async () => {
    const at = `/api/v1/nodes`
    const name = 'split'
    await server().ok('POST', at, {
      body: { metadata: { name }, spec: { podCIDR: '10.0.0.0/24' } },
    })
    const read = async (target: TestApiServer) => await target.ok('GET', `${at}/${name}`)
    const before = await read(server())
    await server().ok('PUT', `${at}/${name}/status`, {
      body: {
        ...before,
        metadata: { ...before.metadata, labels: { a: 'b' } },
        spec: { ...before.spec, unschedulable: true },
        status: { ...before.status, phase: 'Running' },
      },
    })
    const after = await read(server())
    expect(after.status.phase).toBe('Running')
    expect(after.spec).toEqual(before.spec)
    await server().ok('PUT', `${at}/${name}`, {
      body: {
        ...after,
        spec: { ...after.spec, unschedulable: true },
        status: { phase: 'Pending' },
      },
    })
    const last = await read(server())
    expect(last.spec.unschedulable).toBe(true)
    expect(last.status.phase).toBe('Running')
  })
})
