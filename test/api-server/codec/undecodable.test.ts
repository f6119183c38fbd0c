/** What clients are told of bodies and patches that cannot be decoded, in the words of release 1.32's libraries. */
import { expect, it } from 'vitest'
import { describeDialects } from '../../support/shared-server.ts'

const metaType =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

describeDialects('undecodable', (server) => {
  const made = async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    const object = await server().ok('POST', at, {
      body: { metadata: { name: 'x' }, data: { b: '<1>', a: '2' } },
    })
    return { at, item: `${at}/x`, object }
  }
  const patch = async (path: string, type: string, body: unknown) =>
    await server().request('PATCH', path, {
      body,
      headers: { 'content-type': `application/${type}-patch+json` },
    })
  const refusedPatch = (value: string, why: string) => {
    const message = `Invalid value: ${JSON.stringify(value)}: ${why}`
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: ` "" is invalid: patch: ${message}`,
      reason: 'Invalid',
      details: { causes: [{ reason: 'FieldValueInvalid', message, field: 'patch' }] },
      code: 422,
    }
  }

  it.each([
    [
      { metadata: { labels: 'invalid' } },
      'map[metadata:map[labels:invalid]]',
      'cannot restore map from string',
    ],
    [
      { metadata: { labels: { a: 1 } } },
      'map[metadata:map[labels:map[a:1]]]',
      'cannot convert int64 to string',
    ],
    [{ data: { a: true, b: null } }, 'map[data:map[a:true b:<nil>]]', 'unrecognized type: string'],
    [{ metadata: 5 }, 'map[metadata:5]', 'cannot restore struct from: int64'],
    [
      { binaryData: { a: '%' } },
      'map[binaryData:map[a:%]]',
      'error decoding from json: illegal base64 data at input byte 0',
    ],
    [{ immutable: [1.5] }, 'map[immutable:[1.5]]', 'unrecognized type: bool'],
    [
      { metadata: { generation: 1.5 } },
      'map[metadata:map[generation:1.5]]',
      'cannot convert float64 to int64',
    ],
    [
      { metadata: { creationTimestamp: 5 } },
      'map[metadata:map[creationTimestamp:5]]',
      'json: cannot unmarshal number into Go value of type string',
    ],
    [{ kind: 5 }, 'map[kind:5]', 'cannot convert int64 to string'],
  ])(
    'a strategic merge patch whose result is no object of the kind is 422: %j',
    async (body, value, why) => {
      const { item } = await made()
      const reply = await patch(item, 'strategic-merge', body)
      expect(reply.status).toBe(422)
      expect(reply.body).toEqual(refusedPatch(value, why))
    },
  )

  it('a strategic merge patch may say any kind and version, of an object and of its Scale', async () => {
    const { item } = await made()
    const sent = { kind: 'Deployment', apiVersion: 'apps/v9', data: { a: '3' } }
    expect((await patch(item, 'strategic-merge', sent)).body).toMatchObject({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      data: { a: '3' },
    })
    const namespace = item.split('/')[4]
    const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`
    const labels = { app: 'a' }
    await server().ok('POST', deployments, {
      body: {
        metadata: { name: 'd' },
        spec: {
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        },
      },
    })
    const scaled = await patch(`${deployments}/d/scale`, 'strategic-merge', {
      kind: 'Deployment',
      spec: { replicas: 3 },
    })
    expect(scaled.status).toBe(200)
    expect(scaled.body).toMatchObject({ kind: 'Scale', spec: { replicas: 3 } })
    expect((await server().ok('GET', `${deployments}/d`)).spec.replicas).toBe(3)
  })

  it('a merge or JSON patch whose result is no object of the kind is 422 and shows the result', async () => {
    const { item, object } = await made()
    const { metadata } = object
    const sorted = (value: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    const text = (value: unknown) =>
      JSON.stringify(value).replaceAll('<', '\\u003c').replaceAll('>', '\\u003e')
    const labelled = text({
      apiVersion: 'v1',
      data: object.data as unknown,
      kind: 'ConfigMap',
      metadata: sorted({ ...metadata, labels: 'invalid' }),
    })
    const why =
      'json: cannot unmarshal string into Go struct field ObjectMeta.metadata.labels of type map[string]string'
    const merged = await patch(item, 'merge', { metadata: { labels: 'invalid' } })
    expect(merged.body).toEqual(refusedPatch(labelled, why))
    const added = await patch(item, 'json', [
      { op: 'add', path: '/metadata/labels', value: 'invalid' },
    ])
    expect(added.body).toEqual(refusedPatch(labelled, why))
    const renamed = await patch(item, 'merge', { kind: 'Secret' })
    expect(renamed.body).toEqual(
      refusedPatch(
        text({ apiVersion: 'v1', data: object.data as unknown, kind: 'Secret', metadata }),
        'converting (v1.Secret) to (core.ConfigMap): unknown conversion',
      ),
    )
    const replaced = await patch(item, 'json', [{ op: 'replace', path: '', value: [] }])
    expect(replaced.body).toEqual(
      refusedPatch(
        '[]',
        `couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type ${metaType}`,
      ),
    )
    expect(await server().ok('GET', item)).toEqual(object)
  })

  it.each([
    [
      'json',
      '{}',
      'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    ],
    [
      'json',
      '[1]',
      'error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp',
    ],
    [
      'json',
      '[{"op":1}]',
      'error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string',
    ],
    ['json', '', 'error decoding patch: unexpected end of JSON input'],
    [
      'merge',
      '[]',
      'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}',
    ],
    ['merge', 'null', 'Invalid JSON Patch'],
    [
      'strategic-merge',
      '5',
      'json: cannot unmarshal number into Go value of type map[string]interface {}',
    ],
    ['strategic-merge', '{', 'unexpected end of JSON input'],
  ])('a %s patch that is %j is 400', async (type, body, message) => {
    const { item } = await made()
    const reply = await patch(item, type, body)
    expect(reply.body).toMatchObject({ code: 400, reason: 'BadRequest', message })
  })

  it('with fieldValidation=Ignore a JSON patch is read into the type of the library', async () => {
    const { item } = await made()
    for (const [body, type] of [
      [{}, 'jsonpatch.Patch'],
      [[1], 'jsonpatch.Operation'],
    ] as const) {
      const reply = await patch(`${item}?fieldValidation=Ignore`, 'json', body)
      const what = Array.isArray(body) ? 'number' : 'object'
      expect(reply.body).toMatchObject({
        code: 400,
        message: `json: cannot unmarshal ${what} into Go value of type ${type}`,
      })
    }
  })

  it('patches that are null change nothing, but for merge patches', async () => {
    const { item, object } = await made()
    for (const type of ['json', 'strategic-merge']) {
      const reply = await patch(item, type, 'null')
      expect([type, reply.status, reply.body]).toEqual([type, 200, object])
    }
  })

  it('a refusal shows 30 bytes of the body: the start of an object as text, of anything else in hex', async () => {
    const { at, item } = await made()
    const parse = "couldn't get version/kind; json parse error"
    const secret = `{"data":{"password":"${'s'.repeat(100)}"`
    for (const [body, why, shown] of [
      ['', 'unexpected end of JSON input', '<empty>'],
      ['{', 'unexpected end of JSON input', '{'],
      ['nope', "invalid character 'o' in literal null (expecting 'u')", '6e6f7065'],
      [secret, 'unexpected end of JSON input', `${secret.slice(0, 30)} ...`],
      [`[${'1'.repeat(40)}`, 'unexpected end of JSON input', `5b${'31'.repeat(29)} ...`],
      ['[]', `json: cannot unmarshal array into Go value of type ${metaType}`, '5b5d'],
      [
        '{"kind":1}',
        'json: cannot unmarshal number into Go struct field .kind of type string',
        '{"kind":1}',
      ],
    ] as const) {
      for (const [method, path] of [
        ['POST', at],
        ['PUT', item],
      ] as const) {
        const headers = { 'content-type': 'application/json' }
        const reply = await server().request(method, path, { body, headers })
        expect([body, reply.status, reply.body.message]).toEqual([
          body,
          400,
          `the object provided is unrecognized (must be of type ConfigMap): ${parse}: ${why} (${shown})`,
        ])
      }
    }
  })

  it('the same of YAML', async () => {
    const { at } = await made()
    const headers = { 'content-type': 'application/yaml' }
    for (const [body, shown] of [
      ['a: [', '613a205b'],
      ['{', '{'],
    ] as const) {
      const { status, body: answer } = await server().request('POST', at, { body, headers })
      expect([body, status]).toEqual([body, 400])
      expect(answer.message).toMatch(
        /^the object provided is unrecognized \(must be of type ConfigMap\): yaml: /,
      )
      expect((answer.message as string).endsWith(` (${shown})`)).toBe(true)
    }
  })

  it('the same of protobuf: what is no message is unrecognized, a broken message is named by its kind', async () => {
    const { at } = await made()
    const headers = { 'content-type': server().dialect.protobufMediaType }
    const sent = async (bytes: Buffer) =>
      (await server().request('POST', at, { body: bytes, headers })).body.message as string
    const unrecognized = 'the object provided is unrecognized (must be of type ConfigMap)'
    const magic = Buffer.from('k8s\0')
    expect(await sent(Buffer.alloc(0))).toBe(`${unrecognized}: empty data (<empty>)`)
    expect(await sent(magic)).toBe(`${unrecognized}: empty body (6b387300)`)
    expect(await sent(Buffer.from('{}'))).toBe(
      `${unrecognized}: provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})`,
    )
    expect(await sent(Buffer.concat([magic, Buffer.from([0xff])]))).toBe(
      `${unrecognized}: unexpected EOF (6b387300ff)`,
    )
    // Field 2, the object, of one byte that is no tag.
    expect(await sent(Buffer.concat([magic, Buffer.from([0x12, 0x01, 0xff])]))).toBe(
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: unexpected EOF',
    )
  })

  it('a version that is no number is refused without a reason, by PUT and by PATCH', async () => {
    const { item, object } = await made()
    for (const [version, why] of [
      ['abc', 'invalid syntax'],
      ['-1', 'invalid syntax'],
      ['99999999999999999999', 'value out of range'],
    ]) {
      const metadata = { name: 'x', resourceVersion: version }
      const put = await server().request('PUT', item, { body: { metadata } })
      const patched = await patch(item, 'merge', { metadata })
      for (const reply of [put, patched]) {
        expect(reply.status).toBe(500)
        expect(reply.body).toEqual({
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: `strconv.ParseUint: parsing "${version}": ${why}`,
          code: 500,
        })
      }
    }
    expect(await server().ok('GET', item)).toEqual(object)
  })

  it('an update or a patch without a name says which name the path has', async () => {
    const { item } = await made()
    const message =
      'the name of the object (x based on URL) was undeterminable: name must be provided'
    const put = await server().request('PUT', item, { body: { metadata: {} } })
    const patched = await patch(item, 'merge', { metadata: null })
    for (const reply of [put, patched]) expect(reply.body).toMatchObject({ code: 400, message })
  })
})
