/** Objects, lists, watches and errors as JSON, YAML and protobuf, and which of them a client gets. In both dialects. */
import { randomBytes } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { load } from 'js-yaml'
import { expect, it } from 'vitest'
import { schemaOf } from '../../../components/api/schemas.ts'
import {
  protobufWrapper,
  writeProtobuf,
} from '../../../components/machinery/protobuf/protobuf-writer.ts'
import {
  bytesAt,
  envelopeOf,
  fieldsOf,
  framesOf,
  protobufEvent,
  textAt,
} from '../../support/binary-forms.ts'
import { samples } from '../../support/one-of-each.ts'
import {
  configMap,
  fromMessage,
  get,
  schemaFor,
  settled,
  withoutInnerTypes,
} from '../../support/representations.ts'
import { describeDialects } from '../../support/shared-server.ts'

function protobufOf(object: { kind: string; apiVersion: string }, schema: string): Buffer {
  const message = writeProtobuf(schemaOf(schema), object)
  const { head, tail } = protobufWrapper(object.apiVersion, object.kind)
  return Buffer.concat([head(message.length), message, tail])
}

describeDialects('representations', (server) => {
  const protobuf = (): string => server().dialect.protobufMediaType
  const maps = async (): Promise<string> =>
    `/api/v1/namespaces/${await server().namespace()}/configmaps`

  it('[PROTO-001] [PROTO-002] [PROTO-003] [PROTO-004] a protobuf answer is an envelope with type and whole object', async () => {
    const path = await maps()
    const made = await server().ok('POST', path, { body: configMap })
    const reply = await get(server(), `${path}/c`, protobuf())
    expect(reply.status).toBe(200)
    expect(reply.headers['content-type']).toBe(protobuf())
    const { apiVersion, kind, raw, fields } = envelopeOf(reply.bytes)
    expect({ apiVersion, kind }).toEqual({ apiVersion: 'v1', kind: 'ConfigMap' })
    expect([...fields.keys()]).toEqual([1, 2, 3, 4])
    expect(textAt(fields, 3)).toBe('')
    expect(textAt(fields, 4)).toBe('')
    expect(textAt(fieldsOf(bytesAt(fieldsOf(raw), 1)), 1)).toBe('c')
    const schema = schemaOf('core/v1.ConfigMap')
    expect({ kind, apiVersion, ...(fromMessage(schema, raw) as object) }).toEqual(made)
  })

  it('[PROTO-004] [PROTO-005] an envelope without encoding and type is read as protobuf of the kind', async () => {
    const path = await maps()
    const message = writeProtobuf(schemaOf('core/v1.ConfigMap'), configMap)
    const { head } = protobufWrapper('v1', 'ConfigMap')
    const reply = await server().request('POST', path, {
      headers: { 'content-type': protobuf() },
      body: Buffer.concat([head(message.length), message]),
    })
    expect(reply.status).toBe(201)
    expect(reply.body.data).toEqual({ a: 'b' })
  })

  it('[PROTO-006] the answer has the type that Accept asks for', async () => {
    const path = await maps()
    await server().ok('POST', path, { body: configMap })
    for (const type of ['application/json', 'application/yaml', protobuf()]) {
      for (const at of [path, `${path}/c`, `${path}/none`, '/api', '/apis', '/api/v1']) {
        const reply = await get(server(), at, type)
        expect(reply.headers['content-type'], `${at} as ${type}`).toBe(type)
      }
      const made = await server().request('POST', path, {
        headers: { accept: type },
        body: { metadata: { generateName: 'x-' } },
      })
      expect(made.headers['content-type']).toBe(type)
      const gone = await server().request('DELETE', path, { headers: { accept: type } })
      expect(gone.headers['content-type']).toBe(type)
      await server().ok('POST', path, { body: configMap })
    }
  })

  it('errors, deletions and reviews are protobuf too', async () => {
    const path = await maps()
    await server().ok('POST', path, { body: configMap })
    const missing = envelopeOf((await get(server(), `${path}/none`, protobuf())).bytes)
    expect(missing.kind).toBe('Status')
    const status = schemaOf('meta/v1.Status')
    expect(fromMessage(status, missing.raw)).toMatchObject({
      status: 'Failure',
      reason: 'NotFound',
      code: 404,
      details: { name: 'none', kind: 'configmaps' },
    })
    const gone = await server().request('DELETE', `${path}/c`, { headers: { accept: protobuf() } })
    expect(fromMessage(status, envelopeOf(gone.bytes).raw)).toMatchObject({ status: 'Success' })
    const group = server().group('authorization')
    const review = await server().request('POST', `/apis/${group}/v1/selfsubjectaccessreviews`, {
      headers: { accept: protobuf() },
      body: { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } },
    })
    const answer = envelopeOf(review.bytes)
    expect(answer).toMatchObject({ kind: 'SelfSubjectAccessReview', apiVersion: `${group}/v1` })
    const schema = schemaOf('authorization/v1.SelfSubjectAccessReview')
    expect(fromMessage(schema, answer.raw)).toMatchObject({ status: { allowed: true } })
  })

  it('[PROTO-007] every built-in type is written and read as JSON', async () => {
    const ns = await server().namespace()
    for (const { path, body } of samples(server(), ns)) {
      const json = { accept: 'application/json', 'content-type': 'application/json' }
      const made = await server().request('POST', path, { body, headers: json })
      expect(made.status, `${path} ${made.text}`).toBe(201)
      expect(made.headers['content-type']).toBe('application/json')
      const item = await get(server(), `${path}/${body.metadata.name}`, 'application/json')
      expect(item.status).toBe(200)
      expect(item.body.metadata.uid, path).toBe(made.body.metadata.uid)
      await server().ok('DELETE', `${path}/${body.metadata.name}?gracePeriodSeconds=0`)
    }
  })

  it('[PROTO-008] [PROTO-009] [PROTO-011] a body is read in the encoding its Content-Type names, and as JSON without one', async () => {
    const path = await maps()
    const yaml = 'kind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\ndata: {a: b}\n'
    const bodies: [type: string, body: unknown][] = [
      ['application/json', configMap],
      ['application/yaml', yaml],
      ['application/yaml; charset=utf-8', yaml],
      [protobuf(), protobufOf(configMap, 'core/v1.ConfigMap')],
    ]
    for (const [type, body] of bodies) {
      const reply = await server().request('POST', path, {
        headers: { 'content-type': type },
        body,
      })
      expect(reply.status, type).toBe(201)
      expect(reply.body).toMatchObject({ metadata: { name: 'c' }, data: { a: 'b' } })
      await server().ok('DELETE', `${path}/c`)
      if (type === 'application/json') continue
      const untyped = await server().request('POST', path, {
        headers: { 'content-type': 'application/json' },
        body,
      })
      expect(untyped.status, type).toBe(400)
      const bare = await server().request('POST', path, { headers: { 'content-type': '' }, body })
      expect(bare.status, type).toBe(400)
    }
  })

  it('a body of an unknown type is 415 and told the known ones', async () => {
    const path = await maps()
    const known = `application/json, application/yaml, ${protobuf()}`
    for (const type of ['text/plain', 'application/cbor', 'application/x-www-form-urlencoded']) {
      const headers = { 'content-type': type }
      const reply = await server().request('POST', path, { headers, body: 'a' })
      expect(reply.status).toBe(415)
      expect(reply.body).toEqual({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: `the body of the request was in an unknown format - accepted media types include: ${known}`,
        reason: 'UnsupportedMediaType',
        code: 415,
      })
    }
  })

  it('[PROTO-012] a patch without a type, or with an unknown one, is 415', async () => {
    const path = await maps()
    await server().ok('POST', path, { body: configMap })
    for (const type of ['', 'application/json', 'application/yaml', protobuf()]) {
      const headers = { 'content-type': type }
      const reply = await server().request('PATCH', `${path}/c`, { headers, body: { data: {} } })
      expect(reply.status, type).toBe(415)
      expect(reply.body).toMatchObject({ kind: 'Status', reason: 'UnsupportedMediaType' })
    }
  })

  it('[PROTO-013] large answers are gzip for those who accept it, whole or streamed', async () => {
    const path = await maps()
    const text = 'x'.repeat(4000)
    await Promise.all(
      Array.from({ length: 90 }, (_, index) =>
        server().ok('POST', path, {
          body: { metadata: { name: `m-${index}` }, data: { a: text } },
        }),
      ),
    )
    await server().ok('POST', path, {
      body: { metadata: { name: 'z-large' }, data: { a: text.repeat(40) } },
    })
    const gzip = { 'accept-encoding': 'deflate, gzip' }
    for (const accept of ['application/json', 'application/yaml', protobuf()]) {
      for (const at of [path, `${path}?limit=60`, `${path}/z-large`]) {
        const plain = await get(server(), at, accept)
        expect(plain.headers['content-encoding']).toBeUndefined()
        const packed = await server().request('GET', at, { headers: { accept, ...gzip } })
        expect(packed.headers, `${at} as ${accept}`).toMatchObject({
          'content-encoding': 'gzip',
          vary: 'Accept-Encoding',
          'content-type': accept,
        })
        expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 4)
        expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true)
      }
      const small = await server().request('GET', `${path}/m-1`, { headers: { accept, ...gzip } })
      expect(small.headers['content-encoding']).toBeUndefined()
      const few = await server().request('GET', `${path}?limit=2`, { headers: { accept, ...gzip } })
      expect(few.headers['content-encoding']).toBeUndefined()
    }
    const refused = { 'accept-encoding': 'gzip;q=0, br' }
    const plain = await server().request('GET', path, { headers: refused })
    expect(plain.headers['content-encoding']).toBeUndefined()
    const watch = await server().watch(`${path}?watch=1`, { headers: gzip })
    expect(watch.headers['content-encoding']).toBeUndefined()
    expect((await watch.take(91)).length).toBe(91)
    watch.close()
  })

  it('a client that leaves in the middle of a large list disturbs nobody', async () => {
    const path = await maps()
    const noise = randomBytes(60_000).toString('base64')
    await Promise.all(
      Array.from({ length: 70 }, (_, index) =>
        server().ok('POST', path, {
          body: { metadata: { name: `m-${index}` }, data: { a: noise } },
        }),
      ),
    )
    for (const accept of ['application/json', 'application/yaml', protobuf()]) {
      for (const encoding of ['gzip', 'identity']) {
        const headers = { accept, 'accept-encoding': encoding }
        const list = await server().stream(path, { headers })
        await list.bytesUntil((bytes) => bytes.length > 0)
        list.close()
      }
    }
    const whole = await server().request('GET', path, { headers: { 'accept-encoding': 'gzip' } })
    expect(JSON.parse(gunzipSync(whole.bytes).toString()).items).toHaveLength(70)
  })

  it('[PROTO-014] [PROTO-019] without an acceptable type the answer is 406 and names those there are', async () => {
    const path = await maps()
    await server().ok('POST', path, { body: configMap })
    const types = ['application/json', 'application/yaml', protobuf()]
    const streams = ['application/json;stream=watch', `${protobuf()};stream=watch`]
    const asked: [method: string, path: string, types: string[], body?: unknown][] = [
      ['GET', `${path}/c`, types],
      ['GET', path, [...types, ...streams]],
      ['GET', `${path}?watch=1`, [...types, ...streams]],
      ['POST', path, types, { metadata: { name: 'never' } }],
      ['DELETE', `${path}/c`, types],
      ['POST', `/apis/${server().group('authorization')}/v1/selfsubjectaccessreviews`, types, {}],
    ]
    for (const accept of ['application/x-unknown', 'text/*', 'application/cbor', 'image/png;q=1']) {
      for (const [method, at, known, body] of asked) {
        const reply = await server().request(method, at, { headers: { accept }, body })
        expect(reply.status, `${method} ${at} as ${accept}`).toBe(406)
        expect(reply.body).toEqual({
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: `406: Not Acceptable\n\nAvailable representations: ${known.join(', ')}`,
          reason: 'NotAcceptable',
          details: {},
          code: 406,
        })
      }
    }
    const left = await server().ok('GET', path)
    expect(left.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual([
      'c',
    ])
  })

  it('qualities, ranges and parameters decide which type is served', async () => {
    const path = await maps()
    await server().ok('POST', path, { body: configMap })
    const meta = `g=meta.${server().dialect.apiDomain};v=v1`
    const served: [accept: string, type: string][] = [
      ['*/*', 'application/json'],
      ['*', 'application/json'],
      ['application/*', 'application/json'],
      [`application/json;q=0.1, ${protobuf()};q=0.9`, protobuf()],
      [`application/yaml;q=0.9, ${protobuf()};q=0.5`, 'application/yaml'],
      [`*/*, ${protobuf()}`, protobuf()],
      ['*/*;q=0.9, application/yaml', 'application/yaml'],
      ['application/yaml;q=0, application/json', 'application/json'],
      [`text/html, ${protobuf()}`, protobuf()],
      [`${protobuf()};stream=watch`, protobuf()],
      [`${protobuf()};stream=other, application/yaml`, 'application/yaml'],
      [`${protobuf()};as=Table;${meta}, application/json`, 'application/json'],
      [`${protobuf()};as=PartialObjectMetadata;${meta}`, protobuf()],
      [`application/json;as=Nothing;${meta}, application/yaml`, 'application/yaml'],
      ['APPLICATION/YAML', 'application/yaml'],
      ['application/yaml; charset=utf-8', 'application/yaml'],
    ]
    for (const [accept, type] of served) {
      const reply = await get(server(), `${path}/c`, accept)
      expect(reply.headers['content-type'], accept).toBe(type)
    }
    const refused = await get(server(), `${path}/c`, `application/json;as=Nothing;${meta}`)
    expect(refused.status).toBe(406)
    expect(refused.body.message).toBe(
      `only the following media types are accepted: application/json, application/yaml, ${protobuf()}`,
    )
    const yamlWatch = await get(server(), `${path}?watch=1`, 'application/yaml')
    expect(yamlWatch.status).toBe(406)
    expect(load(yamlWatch.text)).toMatchObject({
      message: `only the following media types are accepted: application/json;stream=watch, ${protobuf()};stream=watch`,
    })
  })

  it('an object is no list of metadata, and a list no metadata', async () => {
    const path = await maps()
    await server().ok('POST', path, { body: configMap })
    const meta = `g=meta.${server().dialect.apiDomain};v=v1`
    const list = await get(server(), path, `application/json;as=PartialObjectMetadata;${meta}`)
    expect(list.status).toBe(406)
    expect(list.body.message).toBe(
      'you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)',
    )
    const accept = `application/json;as=PartialObjectMetadataList;${meta}`
    const one = await get(server(), `${path}/c`, accept)
    expect(one.status).toBe(406)
    expect(one.body.message).toBe(
      'you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)',
    )
  })

  it('metadata alone comes as protobuf, one and many', async () => {
    const path = await maps()
    const made = await server().ok('POST', path, { body: configMap })
    const apiVersion = `meta.${server().dialect.apiDomain}/v1`
    const ask = (as: string): string =>
      `${protobuf()};as=${as};g=meta.${server().dialect.apiDomain};v=v1`
    const schema = schemaOf('meta/v1.PartialObjectMetadata')
    const one = envelopeOf((await get(server(), `${path}/c`, ask('PartialObjectMetadata'))).bytes)
    expect(one).toMatchObject({ kind: 'PartialObjectMetadata', apiVersion })
    expect(fromMessage(schema, one.raw)).toEqual({ metadata: made.metadata })
    const many = envelopeOf((await get(server(), path, ask('PartialObjectMetadataList'))).bytes)
    expect(many).toMatchObject({ kind: 'PartialObjectMetadataList', apiVersion })
    const items = fieldsOf(many.raw).get(2) as Buffer[]
    expect(items.map((item) => fromMessage(schema, item))).toEqual([{ metadata: made.metadata }])
  })

  it('[PROTO-015] every built-in kind goes through JSON, YAML and protobuf and comes back the same', async () => {
    const ns = await server().namespace()
    for (const { path, body } of samples(server(), ns)) {
      const item = `${path}/${body.metadata.name}`
      await server().ok('POST', path, { body })
      const made = await settled(server(), item)
      const { kind, apiVersion } = made
      const yaml = await get(server(), item, 'application/yaml')
      expect(load(yaml.text), path).toEqual(made)
      const schema = schemaFor(path, kind)
      const one = envelopeOf((await get(server(), item, protobuf())).bytes)
      expect({ kind: one.kind, apiVersion: one.apiVersion }).toEqual({ kind, apiVersion })
      expect({ kind, apiVersion, ...(fromMessage(schema, one.raw) as object) }, path).toEqual(
        withoutInnerTypes(made),
      )
      const select = `${path}?fieldSelector=metadata.name%3D${body.metadata.name}`
      const list = envelopeOf((await get(server(), select, protobuf())).bytes)
      expect(list).toMatchObject({ kind: `${kind}List`, apiVersion })
      const items = fieldsOf(list.raw).get(2) as Buffer[]
      expect(items.map((raw) => raw.toString('hex'))).toEqual([one.raw.toString('hex')])
      const yamlList = load((await get(server(), select, 'application/yaml')).text) as {
        items: object[]
      }
      expect(yamlList.items.map((entry) => ({ kind, apiVersion, ...entry }))).toEqual([made])
      // What came as YAML and as protobuf is sent back: nothing changes.
      for (const [type, sent] of [
        ['application/yaml', yaml.text],
        [protobuf(), (await get(server(), item, protobuf())).bytes],
      ] as const) {
        const headers = { 'content-type': type }
        const put = await server().request('PUT', item, { headers, body: sent })
        expect(put.body, `${path} as ${type}`).toEqual(made)
      }
      await server().ok('DELETE', `${item}?gracePeriodSeconds=0`)
    }
  })

  it('lists of any length come as protobuf with their metadata', async () => {
    const path = await maps()
    const schema = schemaOf('core/v1.ConfigMap')
    const empty = envelopeOf((await get(server(), path, protobuf())).bytes)
    expect(fieldsOf(empty.raw).get(2)).toBeUndefined()
    await Promise.all(
      Array.from({ length: 150 }, (_, index) =>
        server().ok('POST', path, {
          body: { metadata: { name: `m-${String(index).padStart(3, '0')}` }, data: { a: 'b' } },
        }),
      ),
    )
    const json = await server().ok('GET', path)
    const many = envelopeOf((await get(server(), path, protobuf())).bytes)
    expect(many.kind).toBe('ConfigMapList')
    const items = fieldsOf(many.raw).get(2) as Buffer[]
    expect(items.map((item) => fromMessage(schema, item))).toEqual(json.items)
    const page = envelopeOf((await get(server(), `${path}?limit=10`, protobuf())).bytes)
    const meta = fieldsOf(bytesAt(fieldsOf(page.raw), 1))
    expect(textAt(meta, 2)).toBe(json.metadata.resourceVersion)
    expect(textAt(meta, 3)).not.toBe('')
    expect(meta.get(4)).toEqual([140n])
    expect(fieldsOf(page.raw).get(2)).toHaveLength(10)
    const yaml = load((await get(server(), path, 'application/yaml')).text)
    expect(yaml).toEqual(json)
    const none = await get(server(), `${path}?labelSelector=a%3Db`, 'application/yaml')
    expect(load(none.text)).toMatchObject({ kind: 'ConfigMapList', items: [] })
  })

  it('a protobuf watch has a length before every event, and objects in envelopes', async () => {
    const path = await maps()
    const made = await server().ok('POST', path, { body: configMap })
    const watch = await server().stream(
      `${path}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
      { headers: { accept: `${protobuf()},application/json` } },
    )
    expect(watch.headers['content-type']).toBe(`${protobuf()};stream=watch`)
    const first = framesOf(await watch.bytesUntil((bytes) => framesOf(bytes).frames.length >= 2))
    expect(first.rest.length).toBe(0)
    await server().ok('PUT', `${path}/c`, { body: { ...configMap, data: { a: 'c' } } })
    await server().ok('DELETE', `${path}/c`)
    const bytes = await watch.bytesUntil((sofar) => framesOf(sofar).frames.length >= 4)
    watch.close()
    const events = framesOf(bytes).frames.map(protobufEvent)
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK', 'MODIFIED', 'DELETED'])
    const schema = schemaOf('core/v1.ConfigMap')
    const [added, bookmark, modified] = events.map(({ object }) => {
      expect(object).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1' })
      return fromMessage(schema, object.raw) as Record<string, unknown>
    })
    expect({ kind: 'ConfigMap', apiVersion: 'v1', ...added }).toEqual(made)
    expect(bookmark?.['metadata']).toMatchObject({
      annotations: { [`${server().dialect.apiDomain}/initial-events-end`]: 'true' },
    })
    expect(modified?.['data']).toEqual({ a: 'c' })
  })

  it('a Table is no protobuf; the next type that Accept names is served', async () => {
    const path = await maps()
    await server().ok('POST', path, { body: configMap })
    const as = `as=Table;v=v1;g=meta.${server().dialect.apiDomain}`
    const accept = `${protobuf()};${as},application/json;${as},application/json`
    const reply = await get(server(), path, accept)
    expect(reply.headers['content-type']).toBe('application/json')
    expect(reply.body.kind).toBe('Table')
    const yaml = await get(server(), path, `application/yaml;${as}`)
    expect(load(yaml.text)).toMatchObject({
      kind: 'Table',
      rows: [{ cells: ['c', 1, expect.anything()] }],
    })
  })

  it('the scale of a workload comes in every form, as a Table too', async () => {
    const ns = await server().namespace()
    const path = `/apis/apps/v1/namespaces/${ns}/deployments`
    const deployment = samples(server(), ns).find((sample) => sample.path === path)
    if (deployment === undefined) throw new Error('no sample of a Deployment')
    await server().ok('POST', path, { body: deployment.body })
    const at = `${path}/${deployment.body.metadata.name}/scale`
    const scale = await server().ok('GET', at)
    expect(load((await get(server(), at, 'application/yaml')).text)).toEqual(scale)
    const one = envelopeOf((await get(server(), at, protobuf())).bytes)
    expect(one).toMatchObject({ kind: 'Scale', apiVersion: 'autoscaling/v1' })
    const { kind, apiVersion, ...rest } = scale
    expect(fromMessage(schemaOf(`${apiVersion}.${kind}`), one.raw)).toEqual(rest)
    const as = `as=Table;v=v1;g=meta.${server().dialect.apiDomain}`
    const table = await get(server(), at, `application/json;${as}`)
    expect(table.body).toMatchObject({
      kind: 'Table',
      rows: [{ cells: [scale.metadata.name, 1, 0, expect.anything()] }],
    })
  })

  it('people get indented JSON, by parameter and by their tool', async () => {
    const path = await maps()
    await server().ok('POST', path, { body: configMap })
    const curl = { 'user-agent': 'curl/8.0' }
    const asked: [at: string, headers: Record<string, string>, pretty: boolean][] = [
      [`${path}/c`, curl, true],
      [path, curl, true],
      [`${path}/none`, curl, true],
      [`${path}/c?pretty=false`, curl, false],
      [`${path}/c`, { accept: 'application/json;pretty=1' }, true],
      [`${path}/c`, { 'user-agent': 'Mozilla/5.0 (X11)' }, true],
      [`${path}/c`, { 'user-agent': 'kubectl/v1.32' }, false],
    ]
    for (const [at, headers, pretty] of asked) {
      const reply = await server().request('GET', at, { headers })
      const indent = pretty ? 2 : 0
      expect(reply.text, at).toBe(`${JSON.stringify(reply.body, null, indent)}\n`)
    }
  })
})
