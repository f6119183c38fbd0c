/** Custom resources, from the definition to the last instance: what is served, and when it no longer is. */
import { expect, it } from 'vitest'
import {
  define,
  definitionOf,
  definitionsPath,
  whenTrue,
} from '../../support/custom-definitions.ts'
import { schemaOf } from '../../../components/api/schemas.ts'
import {
  bytesAt,
  envelopeOf,
  fieldsOf,
  framesOf,
  protobufEvent,
} from '../../support/binary-forms.ts'
import { eventually } from '../../support/eventually.ts'
import { fromMessage } from '../../support/representations.ts'
import { describeDialects } from '../../support/shared-server.ts'

describeDialects('custom resources', (server) => {
  const object = (group: string, kind: string, name: string, more: object = {}) => ({
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name },
    ...more,
  })

  it('an instance is created, read, listed, updated, patched, watched and deleted', async () => {
    const group = 'all.example.com'
    const pathIn = await define(server(), {
      group,
      kind: 'Widget',
      spec: { size: { type: 'integer' } },
    })
    const path = pathIn(await server().namespace())
    const made = await server().ok('POST', path, {
      body: object(group, 'Widget', 'a', { spec: { size: 1 } }),
    })
    expect(made).toMatchObject({
      apiVersion: `${group}/v1`,
      kind: 'Widget',
      metadata: { name: 'a', generation: 1 },
      spec: { size: 1 },
    })
    expect(await server().ok('GET', `${path}/a`)).toEqual(made)
    const list = await server().ok('GET', path)
    expect(list).toMatchObject({ kind: 'WidgetList', apiVersion: `${group}/v1`, items: [made] })
    const watch = await server().watch(
      `${path}?watch=1&resourceVersion=${list.metadata.resourceVersion}`,
    )
    const changed = await server().ok('PUT', `${path}/a`, { body: { ...made, spec: { size: 2 } } })
    expect(changed).toMatchObject({ metadata: { generation: 2 }, spec: { size: 2 } })
    const patched = await server().ok('PATCH', `${path}/a`, {
      body: { spec: { size: 3 } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    expect(patched.spec).toEqual({ size: 3 })
    const deleted = await server().ok('DELETE', `${path}/a`)
    expect(deleted).toMatchObject({ status: 'Success', details: { group, kind: 'widgets' } })
    const events = await watch.take(3)
    expect(events.map(({ type, object: { spec } }) => [type, spec.size])).toEqual([
      ['MODIFIED', 2],
      ['MODIFIED', 3],
      ['DELETED', 3],
    ])
    watch.close()
    expect((await server().request('GET', `${path}/a`)).body).toMatchObject({
      reason: 'NotFound',
      message: `widgets.${group} "a" not found`,
    })
  })

  it('discovery shows an established kind, plain and aggregated, and OpenAPI its schema', async () => {
    const group = 'shown.example.com'
    await define(server(), {
      group,
      kind: 'Gadget',
      scope: 'Cluster',
      spec: { size: { type: 'integer', description: 'How large.' } },
      names: { shortNames: ['gd'], categories: ['all'] },
      version: { subresources: { status: {} } },
    })
    const { resources } = await server().ok('GET', `/apis/${group}/v1`)
    const verbs = [
      'delete',
      'deletecollection',
      'get',
      'list',
      'patch',
      'create',
      'update',
      'watch',
    ]
    expect(resources).toEqual([
      {
        name: 'gadgets',
        singularName: 'gadget',
        namespaced: false,
        kind: 'Gadget',
        verbs,
        shortNames: ['gd'],
        categories: ['all'],
        storageVersionHash: expect.any(String),
      },
      {
        name: 'gadgets/status',
        singularName: '',
        namespaced: false,
        kind: 'Gadget',
        verbs: ['get', 'patch', 'update'],
      },
    ])
    const { groups } = await server().ok('GET', '/apis')
    expect(groups.at(-1).name).toMatch(/example\.com$/)
    const accept = `application/json;g=apidiscovery.${server().dialect.apiDomain};v=v2;as=APIGroupDiscoveryList`
    const all = await server().ok('GET', '/apis', { headers: { accept } })
    const own = all.items.find(({ metadata }: any) => metadata.name === group)
    expect(own.versions[0].resources[0]).toMatchObject({ resource: 'gadgets', scope: 'Cluster' })
    const v3 = await server().ok('GET', `/openapi/v3/apis/${group}/v1`)
    const schema = v3.components.schemas['com.example.shown.v1.Gadget']
    expect(schema.properties.spec.properties.size.description).toBe('How large.')
    const { patch, put } = v3.paths[`/apis/${group}/v1/gadgets/{name}`]
    expect(Object.keys(patch.requestBody.content)).toEqual([
      'application/json-patch+json',
      'application/merge-patch+json',
      'application/apply-patch+yaml',
    ])
    expect(Object.keys(put.responses[200].content)).toEqual([
      'application/json',
      'application/yaml',
    ])
    const v2 = await server().ok('GET', '/openapi/v2')
    expect(v2.definitions['com.example.shown.v1.Gadget'].properties.spec).toBeDefined()
  })

  it('[TABLE-004] without printer columns a Table has exactly Name and Created At', async () => {
    const group = 'tables.example.com'
    const pathIn = await define(server(), { group, kind: 'Plain' })
    const path = pathIn(await server().namespace())
    const made = await server().ok('POST', path, { body: object(group, 'Plain', 'a') })
    const accept = `application/json;as=Table;v=v1;g=meta.${server().dialect.apiDomain}`
    const table = await server().ok('GET', path, { headers: { accept } })
    expect(table.columnDefinitions.map(({ name, type }: any) => [name, type])).toEqual([
      ['Name', 'string'],
      ['Created At', 'date'],
    ])
    expect(table.rows.map(({ cells }: any) => cells)).toEqual([
      ['a', made.metadata.creationTimestamp],
    ])
  })

  it('[PROTO-016][PROTO-018] there is no protobuf of custom resources, and JSON where it is accepted too', async () => {
    const group = 'proto.example.com'
    const pathIn = await define(server(), { group, kind: 'Plain' })
    const path = pathIn(await server().namespace())
    await server().ok('POST', path, { body: object(group, 'Plain', 'a') })
    const protobuf = server().dialect.protobufMediaType
    for (const at of [path, `${path}/a`]) {
      const refused = await server().request('GET', at, { headers: { accept: protobuf } })
      expect(refused.status).toBe(406)
      const accept = `${protobuf}, application/json`
      const given = await server().request('GET', at, { headers: { accept } })
      expect(given.status).toBe(200)
      expect(given.headers['content-type']).toBe('application/json')
      const builtIn = await server().request('GET', '/api/v1/namespaces', { headers: { accept } })
      expect(builtIn.headers['content-type']).toBe(protobuf)
    }
  })

  it('their metadata alone is there as protobuf: of one, of a list, and watched', async () => {
    const group = 'metadata.example.com'
    const pathIn = await define(server(), { group, kind: 'Plain' })
    const path = pathIn(await server().namespace())
    const { metadata } = await server().ok('POST', path, {
      body: object(group, 'Plain', 'a', { spec: { x: 1 } }),
    })
    const { protobufMediaType: protobuf, apiDomain } = server().dialect
    const as = (kind: string) =>
      `${protobuf};as=${kind};g=meta.${apiDomain};v=v1,application/json;as=${kind};g=meta.${apiDomain};v=v1`
    const schema = schemaOf('meta/v1.PartialObjectMetadata')
    const one = await server().request('GET', `${path}/a`, {
      headers: { accept: as('PartialObjectMetadata') },
    })
    expect(one.headers['content-type']).toBe(protobuf)
    const envelope = envelopeOf(one.bytes)
    expect(envelope).toMatchObject({
      kind: 'PartialObjectMetadata',
      apiVersion: `meta.${apiDomain}/v1`,
    })
    expect(fromMessage(schema, envelope.raw)).toEqual({ metadata })
    const list = await server().request('GET', path, {
      headers: { accept: as('PartialObjectMetadataList') },
    })
    const listed = envelopeOf(list.bytes)
    expect(listed.kind).toBe('PartialObjectMetadataList')
    const item = bytesAt(fieldsOf(listed.raw), 2)
    expect(fromMessage(schema, item)).toEqual({ metadata })
    const watch = await server().stream(`${path}?watch=1`, {
      headers: { accept: as('PartialObjectMetadata') },
    })
    expect(watch.headers['content-type']).toBe(`${protobuf};stream=watch`)
    const bytes = await watch.bytesUntil((sofar) => framesOf(sofar).frames.length >= 1)
    watch.close()
    const [added] = framesOf(bytes).frames.map(protobufEvent)
    expect(added?.type).toBe('ADDED')
    expect(fromMessage(schema, added!.object.raw)).toEqual({ metadata })
    const table = await server().request('GET', path, {
      headers: { accept: `${protobuf};as=Table;g=meta.${apiDomain};v=v1` },
    })
    expect(table.body).toMatchObject({
      code: 406,
      message: `only the following media types are accepted: application/json, application/yaml, ${protobuf}`,
    })
  })

  it('a definition goes after its instances; its kind is no longer served then and watches end', async () => {
    const group = 'gone.example.com'
    const pathIn = await define(server(), { group, kind: 'Widget' })
    const path = pathIn(await server().namespace())
    const held = object(group, 'Widget', 'held')
    // Those of custom resources need no domain.
    const body = { ...held, metadata: { name: 'held', finalizers: ['wait'] } }
    await server().ok('POST', path, { body })
    await server().ok('POST', path, { body: object(group, 'Widget', 'free') })
    const watch = await server().watch(`${path}?watch=1`)
    const at = `${definitionsPath(server())}/widgets.${group}`
    const terminating = await server().ok('DELETE', at)
    expect(terminating.metadata.finalizers).toEqual([
      `customresourcecleanup.${server().group('apiextensions')}`,
    ])
    await whenTrue(server(), `widgets.${group}`, 'Terminating')
    const refused = await server().request('POST', path, { body: object(group, 'Widget', 'new') })
    expect(refused.status).toBe(405)
    await eventually(async () => {
      const { items } = await server().ok('GET', path)
      expect(items.map(({ metadata }: any) => metadata.name)).toEqual(['held'])
      const { status } = await server().ok('GET', at)
      expect(status.conditions.at(-1)).toMatchObject({
        type: 'Terminating',
        status: 'True',
        reason: 'InstanceDeletionInProgress',
        message: 'CustomResource deletion is in progress',
      })
    })
    await server().ok('PATCH', `${path}/held`, {
      body: [{ op: 'remove', path: '/metadata/finalizers' }],
      headers: { 'content-type': 'application/json-patch+json' },
    })
    await eventually(async () => {
      expect((await server().request('GET', at)).status).toBe(404)
    })
    expect((await server().request('GET', path)).text).toBe('404 page not found\n')
    await watch.ended
    expect(watch.waiting.at(-1)).toMatchObject({ type: 'DELETED' })
    expect((await server().request('GET', `/apis/${group}/v1`)).status).toBe(404)
  })

  it('definitions in groups of the project say in their status how they were approved', async () => {
    const { apiDomain, labelDomain } = server().dialect
    const name = `widgets.own.${apiDomain}`
    const definition = definitionOf(server(), { group: `own.${apiDomain}`, kind: 'Widget' })
    const approved = (by: string) => ({
      ...definition,
      metadata: {
        name,
        annotations: {
          [`api-approved.${labelDomain}`]: by,
        },
      },
    })
    const refused = await server().request('POST', definitionsPath(server()), { body: definition })
    expect(refused.body.message).toContain('protected groups must have approval annotation')
    const body = approved('unapproved, for a test')
    await server().ok('POST', definitionsPath(server()), { body })
    const conformance = async (status: string, reason: string, message: string) =>
      await eventually(async () => {
        const found = await server().ok('GET', `${definitionsPath(server())}/${name}`)
        const type = 'KubernetesAPIApprovalPolicyConformant'
        const condition = found.status.conditions?.find((one: any) => one.type === type)
        expect(condition).toMatchObject({ status, reason, message })
      })
    await conformance('False', 'UnapprovedAnnotation', 'not approved: "unapproved, for a test"')
    const page = 'https://example.com/1'
    await server().ok('PATCH', `${definitionsPath(server())}/${name}`, {
      body: { metadata: approved(page).metadata },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    await conformance('True', 'ApprovedAnnotation', `approved in ${page}`)
  })

  it('names that another kind of the group has are not accepted until they are free', async () => {
    const group = 'names.example.com'
    await define(server(), { group, kind: 'First', names: { shortNames: ['f'] } })
    const second = definitionOf(server(), { group, kind: 'Second', names: { shortNames: ['f'] } })
    await server().ok('POST', definitionsPath(server()), { body: second })
    const at = `${definitionsPath(server())}/seconds.${group}`
    await eventually(async () => {
      const { status } = await server().ok('GET', at)
      expect(status.conditions).toMatchObject([
        {
          type: 'NamesAccepted',
          status: 'False',
          reason: 'ShortNamesConflict',
          message: '"f" is already in use',
        },
        { type: 'Established', status: 'False', reason: 'NotAccepted' },
      ])
    })
    expect((await server().request('GET', `/apis/${group}/v1/seconds`)).status).toBe(404)
    await server().ok('DELETE', `${definitionsPath(server())}/firsts.${group}`)
    await whenTrue(server(), `seconds.${group}`, 'Established')
    expect((await server().ok('GET', `/apis/${group}/v1/seconds`)).items).toEqual([])
  })
})
