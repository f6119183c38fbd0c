/** Structural schemas at work: what is dropped, filled in and refused, with upstream's messages. */
import { describe, expect, it } from 'vitest'
import { define } from '../../support/custom-definitions.ts'
import { sharedServer } from '../../support/shared-server.ts'

describe('schemas of custom resources', () => {
  const server = sharedServer()
  let kinds = 0

  /** A kind with these properties of its spec; the answer to creating an object with that spec. */
  async function kindWith(spec: Record<string, unknown>, more: Record<string, unknown> = {}) {
    kinds += 1
    const group = `g${kinds}.example.com`
    const setup = { group, kind: 'Thing', spec, ...more }
    const pathIn = await define(server(), setup)
    const path = pathIn(await server().namespace())
    const body = (value: unknown, name = 'a') => ({
      apiVersion: `${group}/v1`,
      kind: 'Thing',
      metadata: { name },
      spec: value,
    })
    const create = async (value: unknown, { query = '', name = 'a' } = {}) =>
      await server().request('POST', `${path}${query}`, { body: body(value, name) })
    return { path, body, create, group }
  }

  const causesOf = (reply: { body: any }): string[] =>
    (reply.body.details?.causes ?? [])
      .map(({ field, message }: any) => `${field}: ${message}`)
      .sort()

  it('unknown fields are dropped, and refused or warned of as the client asks', async () => {
    const { path, body, create } = await kindWith({
      known: { type: 'string' },
      list: { type: 'array', items: { type: 'object', properties: { a: { type: 'string' } } } },
      free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      port: { 'x-kubernetes-int-or-string': true },
      texts: { type: 'object', additionalProperties: { type: 'string' } },
    })
    const value = {
      known: 'a',
      other: 1,
      list: [{ a: 'b', c: 'd' }],
      free: { deep: { er: [1, { x: null }] } },
      port: '80',
      texts: { a: 'b' },
    }
    const refused = await create(value, { query: '?fieldValidation=Strict' })
    expect(refused.status).toBe(400)
    expect(refused.body.message).toBe(
      'Thing in version "v1" cannot be handled as a Thing: strict decoding error: unknown field "spec.list[0].c", unknown field "spec.other"',
    )
    const warned = await create(value, { query: '?fieldValidation=Warn' })
    expect(warned.body.spec).toEqual({ ...value, other: undefined, list: [{ a: 'b' }] })
    expect(warned.headers['warning']).toContain('unknown field \\"spec.list[0].c\\"')
    const silent = await create(value, { query: '?fieldValidation=Ignore', name: 'b' })
    expect(silent.status).toBe(201)
    expect(silent.headers['warning']).toBeUndefined()
    const twice = JSON.stringify(body({ known: 'a' }, 'c')).replace(
      '"known":"a"',
      '"known":"a","known":"b"',
    )
    const repeated = await server().request('POST', `${path}?fieldValidation=Strict`, {
      body: twice,
      headers: { 'content-type': 'application/json' },
    })
    expect(repeated.body.message).toContain('duplicate field "spec.known"')
  })

  it('defaults are filled in on create and when read, and nulls that may not be are dropped', async () => {
    const { path, create, group } = await kindWith({
      size: { type: 'integer', default: 3 },
      colour: { type: 'string' },
      hue: { type: 'string', nullable: true },
      inner: {
        type: 'object',
        default: {},
        properties: { depth: { type: 'integer', default: 7 } },
      },
      list: {
        type: 'array',
        items: { type: 'object', properties: { protocol: { type: 'string', default: 'TCP' } } },
      },
    })
    const made = await create({ size: null, colour: null, hue: null, list: [{}] })
    expect(made.body.spec).toEqual({
      size: 3,
      hue: null,
      inner: { depth: 7 },
      list: [{ protocol: 'TCP' }],
    })
    const at = `/apis/${server().group('apiextensions')}/v1/customresourcedefinitions/things.${group}`
    const properties = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties'
    await server().ok('PATCH', at, {
      body: [
        { op: 'add', path: `${properties}/late`, value: { type: 'string', default: 'yes' } },
        { op: 'remove', path: `${properties}/hue` },
      ],
      headers: { 'content-type': 'application/json-patch+json' },
    })
    const read = await server().ok('GET', `${path}/a`)
    expect(read.spec).toEqual({
      size: 3,
      late: 'yes',
      inner: { depth: 7 },
      list: [{ protocol: 'TCP' }],
    })
    expect((await server().ok('GET', path)).items).toEqual([read])
    expect(read.metadata).toEqual(made.body.metadata)
  })

  it('values that do not fit are refused field by field', async () => {
    const { create, group } = await kindWith(
      {},
      {
        schema: {
          type: 'object',
          required: ['spec'],
          properties: {
            spec: {
              type: 'object',
              required: ['replicas', 'name'],
              minProperties: 1,
              properties: {
                replicas: { type: 'integer', minimum: 1, maximum: 5 },
                name: { type: 'string', minLength: 2, maxLength: 4, pattern: '^[a-z]+$' },
                colour: { type: 'string', enum: ['red', 'blue'] },
                ratio: { type: 'number', exclusiveMaximum: true, maximum: 1, multipleOf: 0.25 },
                at: { type: 'string', format: 'date-time' },
                items: { type: 'array', minItems: 1, maxItems: 2, items: { type: 'integer' } },
                port: { 'x-kubernetes-int-or-string': true },
                on: { type: 'boolean' },
                labels: {
                  type: 'object',
                  additionalProperties: { type: 'string', maxLength: 3 },
                },
              },
            },
          },
        },
      },
    )
    const cases: [value: unknown, ...causes: string[]][] = [
      [undefined, 'spec: Required value'],
      [
        { replicas: 'string', name: 'abc' },
        'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"',
      ],
      [{ replicas: 1 }, 'spec.name: Required value'],
      [
        { replicas: 0, name: 'abc' },
        'spec.replicas: Invalid value: 0: spec.replicas in body should be greater than or equal to 1',
      ],
      [
        { replicas: 6, name: 'abc' },
        'spec.replicas: Invalid value: 6: spec.replicas in body should be less than or equal to 5',
      ],
      [
        { replicas: 1.5, name: 'abc' },
        'spec.replicas: Invalid value: "number": spec.replicas in body must be of type integer: "number"',
      ],
      [
        { replicas: 1, name: 'a' },
        'spec.name: Invalid value: "a": spec.name in body should be at least 2 chars long',
      ],
      [{ replicas: 1, name: 'abcde' }, 'spec.name: Too long: may not be more than 4 bytes'],
      [
        { replicas: 1, name: 'A1' },
        `spec.name: Invalid value: "A1": spec.name in body should match '^[a-z]+$'`,
      ],
      [
        { replicas: 1, name: 'abc', colour: 'green' },
        'spec.colour: Unsupported value: "green": supported values: "red", "blue"',
      ],
      [
        { replicas: 1, name: 'abc', ratio: 1 },
        'spec.ratio: Invalid value: 1: spec.ratio in body should be less than 1',
      ],
      [
        { replicas: 1, name: 'abc', ratio: 0.3 },
        'spec.ratio: Invalid value: 0.3: spec.ratio in body should be a multiple of 0.25',
      ],
      [
        { replicas: 1, name: 'abc', at: 'today' },
        'spec.at: Invalid value: "today": spec.at in body must be of type date-time: "today"',
      ],
      [
        { replicas: 1, name: 'abc', items: [] },
        'spec.items: Invalid value: 0: spec.items in body should have at least 1 items',
      ],
      [
        { replicas: 1, name: 'abc', items: [1, 2, 3] },
        'spec.items: Too many: 3: must have at most 2 items',
      ],
      [
        { replicas: 1, name: 'abc', items: [1, 'b'] },
        'spec.items[1]: Invalid value: "string": spec.items[1] in body must be of type integer: "string"',
      ],
      [
        { replicas: 1, name: 'abc', port: true },
        'spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"',
      ],
      [
        { replicas: 1, name: 'abc', on: 'yes', labels: { a: 'long' } },
        'spec.labels.a: Too long: may not be more than 3 bytes',
        'spec.on: Invalid value: "string": spec.on in body must be of type boolean: "string"',
      ],
    ]
    for (const [value, ...causes] of cases) {
      const reply = await create(value)
      expect(reply.status, reply.text).toBe(422)
      expect(causesOf(reply)).toEqual(causes)
      expect(reply.body.details).toMatchObject({ name: 'a', group, kind: 'Thing' })
    }
    const fine = {
      replicas: 5,
      name: 'abcd',
      ratio: 0.75,
      port: 'http',
      at: '2026-01-02T03:04:05Z',
    }
    expect((await create(fine)).status).toBe(201)
  })

  it('alternatives are tried, and told of without a place', async () => {
    const { create } = await kindWith({
      any: { type: 'integer', anyOf: [{ minimum: 10 }, { maximum: 2 }] },
      one: {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'string' } },
        oneOf: [{ required: ['a'] }, { required: ['b'] }],
      },
      all: { type: 'string', allOf: [{ minLength: 2 }, { pattern: '^x' }] },
      no: { type: 'string', not: { enum: ['never'] } },
    })
    expect((await create({ any: 1, one: { a: '' }, all: 'xy', no: 'yes' })).status).toBe(201)
    const reply = await create({ any: 5, one: { a: '', b: '' }, all: 'ab', no: 'never' })
    expect(causesOf(reply)).toEqual(
      [
        '<nil>: Invalid value: "": "spec.any" must validate at least one schema (anyOf)',
        'spec.any: Invalid value: 5: spec.any in body should be greater than or equal to 10',
        '<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found 2 valid alternatives',
        '<nil>: Invalid value: "": "spec.all" must validate all the schemas (allOf)',
        `spec.all: Invalid value: "ab": spec.all in body should match '^x'`,
        '<nil>: Invalid value: "": "spec.no" must not validate the schema (not)',
      ].sort(),
    )
  })

  it('elements of sets and keyed lists are not repeated; whole objects inside say what they are', async () => {
    const { create } = await kindWith({
      set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      map: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        items: {
          type: 'object',
          required: ['name'],
          properties: { name: { type: 'string' }, value: { type: 'integer' } },
        },
      },
      template: {
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        'x-kubernetes-preserve-unknown-fields': true,
      },
    })
    const reply = await create({
      set: ['a', 'b', 'a'],
      map: [{ name: 'a' }, { name: 'a', value: 1 }],
      template: { metadata: { name: 'x' } },
    })
    expect(causesOf(reply)).toEqual([
      'spec.map[1]: Duplicate value: {"name":"a"}',
      'spec.set[2]: Duplicate value: "a"',
      'spec.template.apiVersion: Required value: must not be empty',
      'spec.template.kind: Required value: must not be empty',
    ])
  })

  it('what an update leaves as it was is not held against it', async () => {
    const list = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
      items: {
        type: 'object',
        required: ['k'],
        properties: { k: { type: 'string' }, v: { type: 'integer' } },
      },
    }
    const { path, create, group } = await kindWith({
      a: { type: 'string' },
      b: { type: 'string' },
      list,
    })
    await create({ a: 'long', b: 'x', list: [{ k: 'one', v: 1 }] })
    const at = `/apis/${server().group('apiextensions')}/v1/customresourcedefinitions/things.${group}`
    const properties = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties'
    await server().ok('PATCH', at, {
      body: [
        { op: 'add', path: `${properties}/a/maxLength`, value: 2 },
        { op: 'add', path: `${properties}/list/items/properties/v/minimum`, value: 5 },
      ],
      headers: { 'content-type': 'application/json-patch+json' },
    })
    const change = async (spec: object) =>
      await server().request('PATCH', `${path}/a`, {
        body: { spec },
        headers: { 'content-type': 'application/merge-patch+json' },
      })
    const more = {
      b: 'y',
      list: [
        { k: 'two', v: 5 },
        { k: 'one', v: 1 },
      ],
    }
    expect((await change(more)).status).toBe(200)
    expect(causesOf(await change({ a: 'longer' }))).toEqual([
      'spec.a: Too long: may not be more than 2 bytes',
    ])
    expect((await change({ list: [{ k: 'one', v: 2 }] })).status).toBe(422)
  })

  it('what an apply empties is null where the schema allows it, else gone', async () => {
    const texts = { type: 'object', additionalProperties: { type: 'string' } }
    const { path, body } = await kindWith({ texts, nullable: { ...texts, nullable: true } })
    const apply = async (spec: object) =>
      await server().ok('PATCH', `${path}/a?fieldManager=m`, {
        body: body(spec),
        headers: { 'content-type': 'application/apply-patch+yaml' },
      })
    await apply({ texts: { a: 'x' }, nullable: { a: 'x' } })
    const emptied = await apply({ texts: {}, nullable: {} })
    expect(emptied.spec).toEqual({ nullable: null })
    expect(emptied.metadata.managedFields[0].fieldsV1).toEqual({
      'f:spec': { 'f:nullable': {}, 'f:texts': {} },
    })
  })

  it('objects say their kind and version, and metadata has the rules of all objects', async () => {
    const { path, body, group } = await kindWith({})
    const send = async (value: object) => await server().request('POST', path, { body: value })
    const whole = body({})
    expect((await send({ ...whole, apiVersion: undefined })).body.message).toBe(
      `the API version in the data () does not match the expected API version (${group}/v1)`,
    )
    expect((await send({ ...whole, kind: undefined })).body.message).toContain(
      "Object 'Kind' is missing in",
    )
    const other = await send({ ...whole, kind: 'Other' })
    expect(other.status).toBe(422)
    expect(causesOf(other)).toEqual(['kind: Invalid value: "Other": must be Thing'])
    const named = await send({ ...whole, metadata: { name: 'Not_A_Name' } })
    expect(named.body.details.causes[0].field).toBe('metadata.name')
    const mistyped = await send({ ...whole, metadata: { name: 'a', labels: { a: 1 } } })
    expect(mistyped.status).toBe(400)
    const media = await server().request('POST', path, {
      body: 'x',
      headers: { 'content-type': 'text/plain' },
    })
    expect(media.body.message).toBe(
      'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml',
    )
  })

  it('patterns have the syntax of upstream, and none keeps the server busy', async () => {
    const { path, body } = await kindWith({
      slow: { type: 'string', pattern: '^(a+)+$' },
      own: { type: 'string', pattern: '^(?i)[[:alpha:]]+\\z' },
    })
    const send = async (spec: object) =>
      causesOf(await server().request('POST', path, { body: body(spec) }))
    expect(await send({ slow: `${'a'.repeat(50_000)}!` })).toEqual([
      expect.stringMatching(/^spec.slow: Invalid value: .* should match '\^\(a\+\)\+\$'$/),
    ])
    expect(await send({ own: 'a1' })).toEqual([
      'spec.own: Invalid value: "a1": spec.own in body should match \'^(?i)[[:alpha:]]+\\z\'',
    ])
    expect(await send({ own: 'Ab', slow: 'aa' })).toEqual([])
  })
})
