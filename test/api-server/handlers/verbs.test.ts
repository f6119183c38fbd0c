/** What methods do on collections and items, and how answers look: rows RES-020, RES-021, RES-043 to RES-046, RES-049, RES-050. */
import { describe, expect, it } from 'vitest'
import { describeDialects, sharedServer } from '../../support/shared-server.ts'

type Named = { metadata: { name: string } }
const names = (list: { items: Named[] }): string[] =>
  list.items.map(({ metadata }) => metadata.name)

describe('verbs', () => {
  const server = sharedServer()
  const configMaps = async (...made: string[]): Promise<string> => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    for (const name of made) await server().ok('POST', at, { body: { metadata: { name } } })
    return at
  }

  it('[RES-020] a list is not created: there is no transaction over several objects', async () => {
    const at = await configMaps()
    const items = ['a', 'b'].map((name) => ({ metadata: { name } }))
    for (const kind of ['ConfigMapList', 'List']) {
      const answer = await server().request('POST', at, {
        body: { kind, apiVersion: 'v1', items },
      })
      expect(answer.status).toBe(400)
      expect(answer.body.reason).toBe('BadRequest')
      expect(answer.body.message).toContain(kind)
    }
    const untyped = await server().request('POST', at, { body: { items } })
    expect(untyped.status).toBe(422)
    expect(names(await server().ok('GET', at))).toEqual([])
  })

  it('[RES-021] list, watch and deletecollection span all items', async () => {
    const at = await configMaps('a', 'b', 'c')
    expect(names(await server().ok('GET', at))).toEqual(['a', 'b', 'c'])
    const watch = await server().watch(`${at}?watch=1`)
    const added = await watch.take(3)
    expect(added.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
      'ADDED a',
      'ADDED b',
      'ADDED c',
    ])
    await server().ok('DELETE', at)
    const deleted = await watch.take(3)
    expect(deleted.map(({ type, object }) => `${type} ${object.metadata.name}`).sort()).toEqual([
      'DELETED a',
      'DELETED b',
      'DELETED c',
    ])
    watch.close()
    expect(names(await server().ok('GET', at))).toEqual([])
  })

  it('[RES-043] POST on a collection creates the object in the body, in its encoding', async () => {
    const at = await configMaps()
    const answer = await server().request('POST', at, {
      body: { metadata: { name: 'json' }, data: { a: '1' } },
    })
    expect([200, 201]).toContain(answer.status)
    expect(answer.body).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1', data: { a: '1' } })
    const { uid, resourceVersion, creationTimestamp } = answer.body.metadata
    expect(uid && resourceVersion && creationTimestamp).toBeTruthy()
    expect(await server().ok('GET', `${at}/json`)).toEqual(answer.body)
    const yaml = await server().request('POST', at, {
      body: 'metadata:\n  name: yaml\ndata:\n  a: "1"\n',
      headers: { 'content-type': 'application/yaml' },
    })
    expect(yaml.status).toBe(201)
    expect((await server().ok('GET', `${at}/yaml`)).data).toEqual({ a: '1' })
  })

  it('[RES-044] GET on an item returns the object', async () => {
    const at = await configMaps('a', 'b')
    const answer = await server().request('GET', `${at}/a`)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'a' } })
    const record = await server().auditOf(answer)
    expect(record.verb).toBe('get')
  })

  it('[RES-045] DELETE on an item takes options or none and returns a status or the object', async () => {
    const at = await configMaps('a', 'b', 'c')
    const plain = await server().request('DELETE', `${at}/a`)
    expect(plain.status).toBe(200)
    expect(plain.body).toMatchObject({ kind: 'Status', status: 'Success' })
    const withBody = await server().request('DELETE', `${at}/b`, {
      body: { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' },
    })
    expect(withBody.status).toBe(200)
    const held = await server().ok('PATCH', `${at}/c`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { metadata: { finalizers: ['example.com/x'] } },
    })
    const terminating = await server().request('DELETE', `${at}/c`)
    expect(terminating.status).toBe(200)
    expect(terminating.body).toMatchObject({
      kind: 'ConfigMap',
      metadata: { uid: held.metadata.uid },
    })
    expect(names(await server().ok('GET', at))).toEqual(['c'])
  })

  it('[RES-046] DELETE on a collection takes options or none and returns what it deleted', async () => {
    for (const body of [undefined, { propagationPolicy: 'Background' }]) {
      const at = await configMaps('a', 'b')
      const other = await configMaps('a')
      const answer = await server().request('DELETE', at, { body })
      expect(answer.status).toBe(200)
      expect(answer.body.kind).toBe('ConfigMapList')
      expect(names(answer.body)).toEqual(['a', 'b'])
      expect((await server().auditOf(answer)).verb).toBe('deletecollection')
      expect(names(await server().ok('GET', at))).toEqual([])
      expect(names(await server().ok('GET', other))).toEqual(['a'])
    }
  })
})

describe('all namespaces at once', () => {
  const server = sharedServer()

  it('are never emptied: DELETE is for the collection of one namespace', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    await server().ok('POST', at, { body: { metadata: { name: 'x' } } })
    const answer = await server().request('DELETE', '/api/v1/configmaps')
    expect(answer.status).toBe(405)
    expect(names(await server().ok('GET', at))).toEqual(['x'])
  })
})

describeDialects('answers', (server) => {
  /** More items than an answer in one piece has. */
  const many = async (): Promise<string> => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    const made = Array.from({ length: 200 }, (_, index) => ({
      metadata: { name: `item-${String(index).padStart(3, '0')}` },
      data: { text: 'x'.repeat(1000) },
    }))
    await Promise.all(made.map((body) => server().ok('POST', at, { body })))
    return at
  }

  it('[RES-049] pretty gives indented output of the same data', async () => {
    const at = await many()
    const { apiDomain } = server().dialect
    const { metadata } = await server().ok('GET', at)
    // The server's own writes go on while it starts: a list says how far they are.
    const same = `${at}?resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact&`
    for (const path of [same, `${at}/item-000?`, `${at}/none?`, '/api/v1?', '/version?']) {
      const compact = await server().request('GET', path)
      expect(compact.text.trimEnd()).not.toContain('\n')
      for (const flag of ['pretty', 'pretty=true', 'pretty=1']) {
        const pretty = await server().request('GET', `${path}${flag}`)
        expect(pretty.status).toBe(compact.status)
        expect(pretty.text).toBe(`${JSON.stringify(compact.body, null, 2)}\n`)
        expect(pretty.headers['content-type']).toBe('application/json')
      }
      for (const flag of ['pretty=false', 'pretty=0']) {
        const plain = await server().request('GET', `${path}${flag}`)
        expect(plain.text).toBe(compact.text)
      }
    }
    const table = await server().request('GET', `${at}?pretty`, {
      headers: { accept: `application/json;as=Table;v=v1;g=meta.${apiDomain}` },
    })
    expect(table.text.split('\n').length).toBeGreaterThan(200)
    expect(table.body.rows.length).toBe(200)
    const created = await server().request('POST', `${at}?pretty=true`, {
      body: { metadata: { name: 'pretty' } },
    })
    expect(created.text).toBe(`${JSON.stringify(created.body, null, 2)}\n`)
  })

  it('[RES-050] answers carry the Content-Type of their body', async () => {
    const at = await many()
    const asks: [method: string, path: string, accept: string, type: string, body?: unknown][] = [
      ['GET', at, '*/*', 'application/json'],
      ['GET', `${at}/item-000`, 'application/json', 'application/json'],
      ['GET', `${at}/none`, 'application/json', 'application/json'],
      ['POST', at, 'application/json', 'application/json', { metadata: { name: 'json' } }],
      ['POST', at, 'application/yaml', 'application/yaml', { metadata: { name: 'yaml' } }],
      ['GET', at, 'application/yaml', 'application/yaml'],
      ['GET', `${at}/item-000`, 'application/yaml', 'application/yaml'],
      ['GET', `${at}/none`, 'application/yaml', 'application/yaml'],
      ['DELETE', `${at}/json`, 'application/json', 'application/json'],
      ['GET', '/api', 'application/json', 'application/json'],
      ['GET', '/version', 'application/json', 'application/json'],
      ['GET', '/readyz', '*/*', 'text/plain; charset=utf-8'],
      ['GET', '/nothing', '*/*', 'text/plain; charset=utf-8'],
    ]
    for (const [method, path, accept, type, body] of asks) {
      const answer = await server().request(method, path, { headers: { accept }, body })
      expect(answer.headers['content-type'], `${method} ${path} as ${accept}`).toBe(type)
      if (type === 'application/json') JSON.parse(answer.text)
      if (type === 'application/yaml') {
        expect(answer.text).toMatch(/^apiVersion: v1\n(?:[\s\S]+\n)?kind: \w+\n/)
      }
    }
    const quality = await server().request('GET', `${at}/item-000`, {
      headers: { accept: 'application/yaml;q=0.5, application/json' },
    })
    expect(quality.headers['content-type']).toBe('application/json')
    const watch = await server().watch(`${at}?watch=1`)
    expect(watch.headers['content-type']).toBe('application/json')
    watch.close()
    const yamlWatch = await server().request('GET', `${at}?watch=1`, {
      headers: { accept: 'application/yaml' },
    })
    expect(yamlWatch.status).toBe(406)
  })
})
