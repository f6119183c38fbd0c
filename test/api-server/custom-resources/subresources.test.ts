/** Status and scale of custom resources, their generation, versions, columns, selectable fields and ways to patch them. */
import { describe, expect, it } from 'vitest'
import { define, definitionOf, definitionsPath } from '../../support/custom-definitions.ts'
import { sharedServer } from '../../support/shared-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }
const apply = { 'content-type': 'application/apply-patch+yaml' }

describe('custom resources', () => {
  const server = sharedServer()
  const replicas = {
    spec: { type: 'object', properties: { replicas: { type: 'integer' } } },
    status: {
      type: 'object',
      properties: { replicas: { type: 'integer' }, selector: { type: 'string' } },
    },
  }

  it('with a status sub-resource keep status and spec apart; generation counts the spec', async () => {
    const group = 'status.example.com'
    const pathIn = await define(server(), {
      group,
      kind: 'Thing',
      schema: { type: 'object', properties: replicas },
      version: { subresources: { status: {} } },
    })
    const path = pathIn(await server().namespace())
    const body = {
      apiVersion: `${group}/v1`,
      kind: 'Thing',
      metadata: { name: 'a' },
      spec: { replicas: 1 },
      status: { replicas: 9 },
    }
    const made = await server().ok('POST', path, { body })
    expect(made.status).toBeUndefined()
    const told = await server().ok('PUT', `${path}/a/status`, {
      body: {
        ...made,
        spec: { replicas: 7 },
        status: { replicas: 1 },
        metadata: { ...made.metadata, labels: { a: 'b' } },
      },
    })
    expect(told).toMatchObject({ spec: { replicas: 1 }, status: { replicas: 1 } })
    expect(told.metadata).toMatchObject({ generation: 1 })
    expect(told.metadata.labels).toBeUndefined()
    const patched = await server().ok('PATCH', `${path}/a`, {
      body: { spec: { replicas: 2 }, status: { replicas: 5 } },
      headers: merge,
    })
    expect(patched).toMatchObject({ spec: { replicas: 2 }, status: { replicas: 1 } })
    expect(patched.metadata.generation).toBe(2)
    const refused = await server().request('PATCH', `${path}/a/status`, {
      body: { status: { replicas: 'x' } },
      headers: merge,
    })
    expect(refused.body.details.causes[0].field).toBe('status.replicas')
  })

  it('without a status sub-resource have a status like any field', async () => {
    const group = 'plain.example.com'
    const pathIn = await define(server(), {
      group,
      kind: 'Thing',
      schema: { type: 'object', properties: replicas },
    })
    const path = pathIn(await server().namespace())
    const body = {
      apiVersion: `${group}/v1`,
      kind: 'Thing',
      metadata: { name: 'a' },
      status: { replicas: 9 },
    }
    expect((await server().ok('POST', path, { body })).status).toEqual({ replicas: 9 })
    const patched = await server().ok('PATCH', `${path}/a`, {
      body: { status: { replicas: 5 } },
      headers: merge,
    })
    expect(patched.metadata.generation).toBe(2)
    expect((await server().request('GET', `${path}/a/status`)).status).toBe(404)
  })

  it('with a scale are read and scaled by it', async () => {
    const group = 'scale.example.com'
    const pathIn = await define(server(), {
      group,
      kind: 'Thing',
      schema: { type: 'object', properties: replicas },
      version: {
        subresources: {
          status: {},
          scale: {
            specReplicasPath: '.spec.replicas',
            statusReplicasPath: '.status.replicas',
            labelSelectorPath: '.status.selector',
          },
        },
      },
    })
    const path = pathIn(await server().namespace())
    const body = { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: 'a' }, spec: {} }
    await server().ok('POST', path, { body })
    await server().ok('PATCH', `${path}/a`, { body: { spec: { replicas: 2 } }, headers: merge })
    await server().ok('PATCH', `${path}/a/status`, {
      body: { status: { replicas: 1, selector: 'app=a' } },
      headers: merge,
    })
    expect(await server().ok('GET', `${path}/a/scale`)).toMatchObject({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      spec: { replicas: 2 },
      status: { replicas: 1, selector: 'app=a' },
    })
    const scaled = await server().ok('PATCH', `${path}/a/scale?fieldManager=scaler`, {
      body: { spec: { replicas: 4 } },
      headers: merge,
    })
    expect(scaled.spec).toEqual({ replicas: 4 })
    const now = await server().ok('GET', `${path}/a`)
    expect(now).toMatchObject({ spec: { replicas: 4 }, metadata: { generation: 3 } })
    const owner = now.metadata.managedFields.find(({ manager }: any) => manager === 'scaler')
    expect(owner).toMatchObject({
      subresource: 'scale',
      apiVersion: `${group}/v1`,
      fieldsV1: { 'f:spec': { 'f:replicas': {} } },
    })
    const scaleOf = (name: string) => ({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name },
    })
    // What has no replicas yet may be given some, but not left without.
    for (const name of ['b', 'c', 'd']) {
      await server().ok('POST', path, { body: { ...body, metadata: { name } } })
    }
    const empty = await server().request('PATCH', `${path}/b/scale`, { body: {}, headers: merge })
    expect([empty.status, empty.body.message]).toEqual([
      400,
      'the spec replicas field ".spec.replicas" cannot be empty',
    ])
    const unset = { ...scaleOf('d'), spec: { replicas: -2_147_483_648 } }
    const sent = await server().request('PUT', `${path}/d/scale`, { body: unset })
    expect([sent.status, sent.body.message]).toEqual([empty.status, empty.body.message])
    const replaced = await server().ok('PATCH', `${path}/d/scale`, {
      body: [{ op: 'replace', path: '/spec/replicas', value: 2 }],
      headers: { 'content-type': 'application/json-patch+json' },
    })
    expect(replaced.spec).toEqual({ replicas: 2 })
    const first = { body: { spec: { replicas: 3 } }, headers: merge }
    expect((await server().ok('PATCH', `${path}/b/scale`, first)).spec).toEqual({ replicas: 3 })
    await server().ok('PUT', `${path}/c/scale`, { body: scaleOf('c') })
    expect((await server().ok('GET', `${path}/c`)).spec).toEqual({ replicas: 0 })
  })

  it('are shown in every served version; a deprecated one warns, one that is not served is not there', async () => {
    const group = 'versions.example.com'
    const schema = (more: object) => ({
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: { type: 'object', properties: { size: { type: 'integer' }, ...more } },
        },
      },
    })
    const pathIn = await define(server(), {
      group,
      kind: 'Thing',
      versions: [
        {
          name: 'v1beta1',
          served: true,
          storage: false,
          deprecated: true,
          deprecationWarning: 'go to v1',
          schema: schema({}),
        },
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: schema({ colour: { type: 'string', default: 'red' } }),
        },
        { name: 'v1alpha1', served: false, storage: false, schema: schema({}) },
      ],
    })
    const ns = await server().namespace()
    const body = {
      apiVersion: `${group}/v1beta1`,
      kind: 'Thing',
      metadata: { name: 'a' },
      spec: { size: 1 },
    }
    const made = await server().request('POST', pathIn(ns, 'v1beta1'), { body })
    expect(made.body).toMatchObject({ apiVersion: `${group}/v1beta1`, spec: { size: 1 } })
    expect(made.headers['warning']).toContain('go to v1')
    const read = await server().ok('GET', `${pathIn(ns)}/a`)
    expect(read).toMatchObject({ apiVersion: `${group}/v1`, spec: { size: 1, colour: 'red' } })
    const older = await server().ok('GET', `${pathIn(ns, 'v1beta1')}/a`)
    expect(older).toMatchObject({ apiVersion: `${group}/v1beta1`, spec: { size: 1 } })
    expect(older.spec.colour).toBeUndefined()
    const { versions, preferredVersion } = await server().ok('GET', `/apis/${group}`)
    expect(versions.map(({ version }: any) => version)).toEqual(['v1', 'v1beta1'])
    expect(preferredVersion.version).toBe('v1')
    expect((await server().request('GET', pathIn(ns, 'v1alpha1'))).status).toBe(404)
  })

  it('show the columns of their definition', async () => {
    const group = 'columns.example.com'
    const pathIn = await define(server(), {
      group,
      kind: 'Thing',
      spec: {
        size: { type: 'integer' },
        names: { type: 'array', items: { type: 'string' } },
        on: { type: 'boolean' },
      },
      version: {
        additionalPrinterColumns: [
          { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
          { name: 'First', type: 'string', jsonPath: '.spec.names[0]', priority: 1 },
          { name: 'On', type: 'boolean', jsonPath: '.spec.on', description: 'Whether.' },
          {
            name: 'Ready',
            type: 'string',
            jsonPath: '.status.conditions[?(@.type=="Ready")].status',
          },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
      },
    })
    const path = pathIn(await server().namespace())
    await server().ok('POST', path, {
      body: {
        apiVersion: `${group}/v1`,
        kind: 'Thing',
        metadata: { name: 'a' },
        spec: { size: 3, names: ['x', 'y'] },
        status: {
          conditions: [
            { type: 'Other', status: 'x' },
            { type: 'Ready', status: 'True' },
          ],
        },
      },
    })
    const accept = `application/json;as=Table;v=v1;g=meta.${server().dialect.apiDomain}`
    const { columnDefinitions, rows } = await server().ok('GET', path, { headers: { accept } })
    expect(
      columnDefinitions.map(({ name, type, priority }: any) => [name, type, priority]),
    ).toEqual([
      ['Name', 'string', 0],
      ['Size', 'integer', 0],
      ['First', 'string', 1],
      ['On', 'boolean', 0],
      ['Ready', 'string', 0],
      ['Age', 'date', 0],
    ])
    expect(rows[0].cells.slice(0, 5)).toEqual(['a', 3, 'x', null, 'True'])
    expect(rows[0].cells[5]).toMatch(/^\d+s$/)
  })

  it('are selected by the fields their definition names', async () => {
    const group = 'fields.example.com'
    const pathIn = await define(server(), {
      group,
      kind: 'Thing',
      spec: { colour: { type: 'string' } },
      version: { selectableFields: [{ jsonPath: '.spec.colour' }] },
    })
    const path = pathIn(await server().namespace())
    for (const colour of ['red', 'blue']) {
      const body = { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: colour } }
      await server().ok('POST', path, { body: { ...body, spec: { colour } } })
    }
    const found = await server().ok('GET', `${path}?fieldSelector=spec.colour%3Dblue`)
    expect(found.items.map(({ metadata }: any) => metadata.name)).toEqual(['blue'])
    const refused = await server().request('GET', `${path}?fieldSelector=spec.size%3D1`)
    expect(refused.body.message).toContain('field label not supported: spec.size')
  })

  it('can be selected by fields of one value alone', async () => {
    const definition = definitionOf(server(), {
      group: 'unselectable.example.com',
      kind: 'Thing',
      spec: { list: { type: 'array', items: { type: 'string' } }, text: { type: 'string' } },
      version: {
        selectableFields: [
          { jsonPath: '.spec.list' },
          { jsonPath: '.spec.none' },
          { jsonPath: 'spec.text' },
          { jsonPath: ".spec['text']" },
          { jsonPath: '.spec.text' },
          { jsonPath: '.spec.text' },
        ],
      },
    })
    const { body } = await server().request('POST', definitionsPath(server()), { body: definition })
    expect(body.details.causes.map(({ field, message }: any) => `${field}: ${message}`)).toEqual([
      'spec.selectableFields[0]: Invalid value: ".spec.list": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      'spec.selectableFields[1].jsonPath: Invalid value: ".spec.none": is an invalid path: does not refer to a valid field',
      'spec.selectableFields[2].jsonPath: Invalid value: "spec.text": is an invalid path: expected [ or . but got: spec',
      `spec.selectableFields[3].jsonPath: Invalid value: ".spec['text']": is an invalid path: array notation is not allowed`,
      'spec.selectableFields[5]: Duplicate value: ".spec.text"',
    ])
  })

  it('are patched, but not strategically; applied by their schema', async () => {
    const group = 'apply.example.com'
    const pathIn = await define(server(), {
      group,
      kind: 'Thing',
      spec: {
        replicas: { type: 'integer', default: 1 },
        atomic: { type: 'array', items: { type: 'string' } },
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        ports: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port', 'protocol'],
          items: {
            type: 'object',
            required: ['port'],
            properties: {
              port: { type: 'integer' },
              protocol: { type: 'string', default: 'TCP' },
              name: { type: 'string' },
            },
          },
        },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    })
    const path = pathIn(await server().namespace())
    const config = (spec: object) => ({
      apiVersion: `${group}/v1`,
      kind: 'Thing',
      metadata: { name: 'a' },
      spec,
    })
    const applied = async (manager: string, spec: object, more = '') =>
      await server().request('PATCH', `${path}/a?fieldManager=${manager}${more}`, {
        body: config(spec),
        headers: apply,
      })
    const first = await applied('one', {
      set: ['a'],
      ports: [{ port: 80, name: 'web' }],
      free: { x: { y: 1 } },
    })
    expect(first.status).toBe(201)
    expect(first.body.spec.replicas).toBe(1)
    expect(first.body.metadata.managedFields).toMatchObject([
      {
        manager: 'one',
        operation: 'Apply',
        fieldsV1: {
          'f:spec': {
            'f:free': { 'f:x': { 'f:y': {} } },
            'f:ports': {
              'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {}, 'f:name': {} },
            },
            'f:set': { 'v:"a"': {} },
          },
        },
      },
    ])
    const second = await applied('two', { set: ['b'], ports: [{ port: 443 }], free: { z: 1 } })
    expect(second.body.spec).toMatchObject({
      set: ['a', 'b'],
      ports: [
        { port: 80, protocol: 'TCP', name: 'web' },
        { port: 443, protocol: 'TCP' },
      ],
      free: { x: { y: 1 }, z: 1 },
    })
    const conflict = await applied('two', { ports: [{ port: 80, name: 'other' }] })
    expect(conflict.status).toBe(409)
    expect(conflict.body.details.causes).toEqual([
      {
        reason: 'FieldManagerConflict',
        message: 'conflict with "one"',
        field: '.spec.ports[port=80,protocol="TCP"].name',
      },
    ])
    const less = await applied('one', { set: ['a'] })
    expect(less.body.spec).toMatchObject({ set: ['a', 'b'], ports: [{ port: 443 }] })
    const unknown = await applied('one', { other: 1 })
    expect(unknown.body.message).toContain('.spec.other: field not declared in schema')
    const strategic = await server().request('PATCH', `${path}/a`, {
      body: { spec: {} },
      headers: { 'content-type': 'application/strategic-merge-patch+json' },
    })
    expect([strategic.status, strategic.body.message]).toEqual([
      415,
      'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
    ])
    const updated = await server().ok('PATCH', `${path}/a?fieldManager=three`, {
      body: { spec: { replicas: 3 } },
      headers: merge,
    })
    expect(updated.metadata.managedFields.at(-1)).toMatchObject({
      manager: 'three',
      operation: 'Update',
      fieldsV1: { 'f:spec': { 'f:replicas': {} } },
    })
  })

  it('are deleted together, and dry runs leave nothing behind', async () => {
    const group = 'many.example.com'
    const pathIn = await define(server(), { group, kind: 'Thing' })
    const path = pathIn(await server().namespace())
    const body = (name: string) => ({
      apiVersion: `${group}/v1`,
      kind: 'Thing',
      metadata: { name },
    })
    await server().ok('POST', `${path}?dryRun=All`, { body: body('x') })
    for (const name of ['a', 'b', 'c']) await server().ok('POST', path, { body: body(name) })
    const deleted = await server().ok('DELETE', `${path}?fieldSelector=metadata.name!%3Db`)
    expect(deleted.items.map(({ metadata }: any) => metadata.name)).toEqual(['a', 'c'])
    const accept = `application/json;as=PartialObjectMetadataList;v=v1;g=meta.${server().dialect.apiDomain}`
    const left = await server().ok('GET', path, { headers: { accept } })
    expect(left.kind).toBe('PartialObjectMetadataList')
    expect(left.items.map(({ metadata }: any) => metadata.name)).toEqual(['b'])
    expect(left.items[0].spec).toBeUndefined()
  })

  it('a definition that changes is taken up at once and ends the watches of before', async () => {
    const group = 'changes.example.com'
    const pathIn = await define(server(), { group, kind: 'Thing', spec: { a: { type: 'string' } } })
    const path = pathIn(await server().namespace())
    const watch = await server().watch(`${path}?watch=1`)
    const at = `${definitionsPath(server())}/things.${group}`
    await server().ok('PATCH', at, {
      body: { metadata: { labels: { a: 'b' } } },
      headers: merge,
    })
    const spec = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties'
    await server().ok('PATCH', at, {
      body: [{ op: 'add', path: `${spec}/b`, value: { type: 'string' } }],
      headers: { 'content-type': 'application/json-patch+json' },
    })
    await watch.ended
    const body = { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: 'a' } }
    const made = await server().ok('POST', path, { body: { ...body, spec: { a: '', b: '' } } })
    expect(made.spec).toEqual({ a: '', b: '' })
    const v3 = await server().ok('GET', `/openapi/v3/apis/${group}/v1`)
    const shown = v3.components.schemas['com.example.changes.v1.Thing'].properties.spec
    expect(Object.keys(shown.properties)).toEqual(['a', 'b'])
  })
})

describe('after a restart', () => {
  const server = sharedServer({ store: 'sqlite' })

  it('custom resources are served as they were stored', async () => {
    const group = 'again.example.com'
    const pathIn = await define(server(), { group, kind: 'Thing', spec: { a: { type: 'string' } } })
    const path = pathIn(await server().namespace())
    const body = { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: 'a' } }
    const made = await server().ok('POST', path, { body: { ...body, spec: { a: 'b' } } })
    await server().restart()
    expect(await server().ok('GET', `${path}/a`)).toEqual(made)
    const { resources } = await server().ok('GET', `/apis/${group}/v1`)
    expect(resources.map(({ name }: any) => name)).toEqual(['things'])
  })
})
