/** Versions that a service converts: one stored form, every version served, and what happens when the service fails. */
import { describe, expect, it } from 'vitest'
import { configureWebhooks, startAdmissionRemote } from '../../support/admission-remote.ts'
import { startConversionRemote, type ConversionRemote } from '../../support/conversion-remote.ts'
import { define, definitionsPath } from '../../support/custom-definitions.ts'
import { eventually } from '../../support/eventually.ts'
import { describeDialects, sharedServer } from '../../support/shared-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }
const apply = { 'content-type': 'application/apply-patch+yaml' }

const text = { type: 'string' }
const schemaOf = (properties: object) => ({
  openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } },
})
/** v1 has a host and a port, v1beta1 both in one text. */
const versions = (more: object = {}) => [
  {
    name: 'v1',
    served: true,
    storage: true,
    schema: schemaOf({ host: text, port: { type: 'integer' }, note: text }),
    ...more,
  },
  {
    name: 'v1beta1',
    served: true,
    storage: false,
    schema: schemaOf({ hostPort: text, note: text }),
    selectableFields: [{ jsonPath: '.spec.hostPort' }],
    ...more,
  },
]

/** Splits and joins, as `apiVersion` says which way. */
function convertEndpoint(object: any): any {
  const { spec = {} } = object
  const { host, port, hostPort, ...rest } = spec
  if (object.apiVersion.endsWith('/v1')) {
    const [name, number] = String(hostPort ?? ':').split(':')
    object.spec = { ...rest, host: name, port: Number(number) }
  } else object.spec = { ...rest, hostPort: `${host}:${port}` }
  return object
}

describeDialects('versions that a service converts', (server) => {
  const endpoints = async (group: string, remote: ConversionRemote, more: object = {}) => {
    remote.convert = convertEndpoint
    const pathIn = await define(server(), {
      group,
      kind: 'Endpoint',
      versions: versions(),
      conversion: remote.conversion(),
      ...more,
    })
    const ns = await server().namespace()
    return {
      v1: pathIn(ns),
      v1beta1: pathIn(ns, 'v1beta1'),
      object: (version: string, name: string, spec: object, metadata: object = {}) => ({
        apiVersion: `${group}/${version}`,
        kind: 'Endpoint',
        metadata: { name, ...metadata },
        spec,
      }),
    }
  }

  it('are all created, read, listed, changed and watched over one stored form', async () => {
    await using remote = await startConversionRemote()
    const group = 'ends.example.com'
    const { v1, v1beta1, object } = await endpoints(group, remote)
    const made = await server().ok('POST', v1beta1, {
      body: object('v1beta1', 'a', { hostPort: 'x:80', unknown: 1 }),
    })
    expect(made).toMatchObject({ apiVersion: `${group}/v1beta1`, spec: { hostPort: 'x:80' } })
    const [first, second] = remote.asked
    expect(first).toMatchObject({
      apiVersion: `${server().group('apiextensions')}/v1`,
      kind: 'ConversionReview',
      request: {
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        desiredAPIVersion: `${group}/v1`,
        objects: [{ apiVersion: `${group}/v1beta1`, spec: { hostPort: 'x:80' } }],
      },
    })
    expect(first?.request.objects[0].spec).toEqual({ hostPort: 'x:80' })
    expect(first?.request.objects[0].metadata).not.toHaveProperty('resourceVersion')
    // The answer shows what was stored, which is converted back.
    expect(second?.request.desiredAPIVersion).toBe(`${group}/v1beta1`)
    expect(remote.asked).toHaveLength(2)

    const stored = await server().ok('GET', `${v1}/a`)
    expect(stored).toMatchObject({
      apiVersion: `${group}/v1`,
      spec: { host: 'x', port: 80 },
      metadata: { uid: made.metadata.uid, resourceVersion: made.metadata.resourceVersion },
    })
    expect(remote.asked).toHaveLength(2)
    expect(await server().ok('GET', `${v1beta1}/a`)).toEqual(made)

    await server().ok('POST', v1, { body: object('v1', 'b', { host: 'y', port: 81 }) })
    const before = remote.asked.length
    const list = await server().ok('GET', v1beta1)
    expect(list.items.map(({ spec }: any) => spec)).toEqual([
      { hostPort: 'x:80' },
      { hostPort: 'y:81' },
    ])
    expect(remote.asked.length).toBe(before + 1)
    const chosen = await server().ok('GET', `${v1beta1}?fieldSelector=spec.hostPort%3Dy:81`)
    expect(chosen.items.map(({ metadata }: any) => metadata.name)).toEqual(['b'])

    const at = `watch=1&resourceVersion=${list.metadata.resourceVersion}`
    const watches = await Promise.all([
      server().watch(`${v1beta1}?${at}`),
      server().watch(`${v1beta1}?${at}&fieldSelector=spec.hostPort%3Dz:80`),
      server().watch(`${v1}?${at}`),
    ])
    await server().ok('PUT', `${v1beta1}/a`, {
      body: { ...made, spec: { hostPort: 'z:80' } },
    })
    await server().ok('PATCH', `${v1}/a`, { body: { spec: { port: 90 } }, headers: merge })
    const patched = await server().ok('PATCH', `${v1beta1}/a`, {
      body: { spec: { note: 'n' } },
      headers: merge,
    })
    expect(patched.spec).toEqual({ hostPort: 'z:90', note: 'n' })
    const deleted = await server().ok('DELETE', `${v1beta1}/a`)
    expect(deleted.status).toBe('Success')
    const shown = async (watch: (typeof watches)[0], count: number) =>
      (await watch.take(count)).map(({ type, object: { apiVersion, spec } }) => [
        type,
        apiVersion.split('/')[1],
        spec,
      ])
    expect(await shown(watches[0]!, 4)).toEqual([
      ['MODIFIED', 'v1beta1', { hostPort: 'z:80' }],
      ['MODIFIED', 'v1beta1', { hostPort: 'z:90' }],
      ['MODIFIED', 'v1beta1', { hostPort: 'z:90', note: 'n' }],
      ['DELETED', 'v1beta1', { hostPort: 'z:90', note: 'n' }],
    ])
    expect(await shown(watches[1]!, 2)).toEqual([
      ['ADDED', 'v1beta1', { hostPort: 'z:80' }],
      ['DELETED', 'v1beta1', { hostPort: 'z:80' }],
    ])
    expect((await shown(watches[2]!, 4)).at(-1)).toEqual([
      'DELETED',
      'v1',
      { host: 'z', port: 90, note: 'n' },
    ])
    for (const watch of watches) watch.close()
  })

  it('keep owners of fields by version, across applies of several', async () => {
    await using remote = await startConversionRemote()
    const group = 'owned.example.com'
    const { v1, v1beta1, object } = await endpoints(group, remote)
    const send = async (path: string, manager: string, body: object, force = false) =>
      await server().request(
        'PATCH',
        `${path}/a?fieldManager=${manager}${force ? '&force=true' : ''}`,
        {
          body,
          headers: apply,
        },
      )
    expect((await send(v1, 'one', object('v1', 'a', { host: 'x', port: 80 }))).status).toBe(201)
    const again = await send(v1beta1, 'two', object('v1beta1', 'a', { hostPort: 'x:80' }))
    expect(again.status).toBe(200)
    expect(
      again.body.metadata.managedFields.map(({ manager, apiVersion, fieldsV1 }: any) => [
        manager,
        apiVersion.split('/')[1],
        Object.keys(fieldsV1['f:spec']),
      ]),
    ).toEqual([
      ['one', 'v1', ['f:host', 'f:port']],
      ['two', 'v1beta1', ['f:hostPort']],
    ])
    const refused = await send(v1beta1, 'two', object('v1beta1', 'a', { hostPort: 'x:81' }))
    expect(refused.status).toBe(409)
    expect(refused.body.details.causes).toEqual([
      {
        reason: 'FieldManagerConflict',
        message: `conflict with "one"`,
        field: '.spec.port',
      },
    ])
    const forced = await send(v1beta1, 'two', object('v1beta1', 'a', { hostPort: 'x:81' }), true)
    expect(forced.body.spec).toEqual({ hostPort: 'x:81' })
    expect((await server().ok('GET', `${v1}/a`)).spec).toEqual({ host: 'x', port: 81 })
    const owners = (forced.body.metadata.managedFields as any[]).map(({ manager, fieldsV1 }) => [
      manager,
      Object.keys(fieldsV1['f:spec']),
    ])
    expect(owners).toEqual([
      ['one', ['f:host']],
      ['two', ['f:hostPort']],
    ])
  })

  it('are scaled, reviewed and deleted in the version that asks', async () => {
    await using remote = await startConversionRemote()
    await using admission = await startAdmissionRemote()
    const group = 'scaled.example.com'
    const count = { type: 'integer' }
    const version = (name: string, field: string) => ({
      name,
      served: true,
      storage: name === 'v1',
      schema: schemaOf({ [field]: count, colour: text }),
      subresources: {
        scale: { specReplicasPath: `.spec.${field}`, statusReplicasPath: '.status.replicas' },
      },
    })
    remote.convert = (object) => {
      const { size, count: own, ...rest } = object.spec
      object.spec = object.apiVersion.endsWith('/v1')
        ? { ...rest, size: own }
        : { ...rest, count: size }
      return object
    }
    const pathIn = await define(server(), {
      group,
      kind: 'Thing',
      versions: [version('v1', 'size'), version('v1beta1', 'count')],
      conversion: remote.conversion(),
    })
    const rules = [
      { operations: ['*'], apiGroups: [group], apiVersions: ['v1'], resources: ['things'] },
    ]
    const undo = await configureWebhooks(server(), 'Mutating', [
      admission.webhook('m.x.io', { rules }),
    ])
    admission.respond = ({ operation }) => ({
      allowed: true,
      ...(operation === 'DELETE'
        ? {}
        : { patch: [{ op: 'add', path: '/spec/colour', value: 'red' }] }),
    })
    const path = pathIn(await server().namespace(), 'v1beta1')
    const made = await server().ok('POST', path, {
      body: {
        apiVersion: `${group}/v1beta1`,
        kind: 'Thing',
        metadata: { name: 'a' },
        spec: { count: 1 },
      },
    })
    expect(made.spec).toEqual({ count: 1, colour: 'red' })
    expect(admission.asked()[0]).toMatchObject({
      requestKind: { version: 'v1beta1' },
      object: { apiVersion: `${group}/v1`, spec: { size: 1 } },
    })
    const scale = await server().ok('GET', `${path}/a/scale`)
    expect(scale.spec).toEqual({ replicas: 1 })
    const scaled = await server().ok('PATCH', `${path}/a/scale`, {
      body: { spec: { replicas: 5 } },
      headers: merge,
    })
    expect(scaled.spec).toEqual({ replicas: 5 })
    expect((await server().ok('GET', `${path}/a`)).spec).toEqual({ count: 5, colour: 'red' })
    const dry = await server().ok('POST', `${path}?dryRun=All`, {
      body: { ...made, metadata: { name: 'b' }, spec: { count: 2 } },
    })
    expect(dry.spec).toEqual({ count: 2, colour: 'red' })
    const gone = await server().ok('DELETE', path)
    expect(gone.items[0].spec).toEqual({ count: 5, colour: 'red' })
    expect(admission.asked().at(-1)).toMatchObject({
      operation: 'DELETE',
      oldObject: { apiVersion: `${group}/v1`, spec: { size: 5 } },
    })
    await undo()
  })

  it('may change labels and annotations, which selectors and metadata then show, and nothing else of the metadata', async () => {
    await using remote = await startConversionRemote()
    const { v1, v1beta1, object } = await endpoints('labelled.example.com', remote)
    remote.convert = (one) => {
      const made = convertEndpoint(one)
      made.metadata = {
        name: made.metadata.name,
        namespace: made.metadata.namespace,
        uid: made.metadata.uid,
        labels: { seen: made.apiVersion.split('/')[1] },
        finalizers: ['example.com/mine'],
      }
      return made
    }
    await server().ok('POST', v1, {
      body: object('v1', 'a', { host: 'x', port: 1 }, { annotations: { a: 'b' } }),
    })
    const shown = await server().ok('GET', `${v1beta1}/a`)
    const { metadata } = await server().ok('GET', `${v1}/a`)
    const { annotations: _, ...rest } = metadata
    expect(shown.metadata).toEqual({ ...rest, labels: { seen: 'v1beta1' } })
    const byLabel = async (path: string, label: string) =>
      (await server().ok('GET', `${path}?labelSelector=seen%3D${label}`)).items.length
    expect(await byLabel(v1beta1, 'v1beta1')).toBe(1)
    expect(await byLabel(v1, 'v1beta1')).toBe(0)
    const accept = `application/json;as=PartialObjectMetadataList;v=v1;g=meta.${server().dialect.apiDomain}`
    const partial = await server().ok('GET', v1beta1, { headers: { accept } })
    expect(partial.items[0].metadata.labels).toEqual({ seen: 'v1beta1' })
    const table = `application/json;as=Table;v=v1;g=meta.${server().dialect.apiDomain}`
    const { rows } = await server().ok('GET', v1beta1, { headers: { accept: table } })
    expect(rows[0].object.metadata.labels).toEqual({ seen: 'v1beta1' })
  })
})

describe('a service that converts', () => {
  const server = sharedServer()
  let groups = 0

  const converted = async (remote: ConversionRemote, more: object = {}) => {
    const group = `fails-${(groups += 1)}.example.com`
    remote.convert = convertEndpoint
    const pathIn = await define(server(), {
      group,
      kind: 'Endpoint',
      versions: versions(),
      conversion: remote.conversion(['v1', 'v1beta1'], more),
    })
    const ns = await server().namespace()
    const body = {
      apiVersion: `${group}/v1`,
      kind: 'Endpoint',
      metadata: { name: 'a' },
      spec: { host: 'x', port: 1 },
    }
    await server().ok('POST', pathIn(ns), { body })
    return { group, v1: pathIn(ns), v1beta1: pathIn(ns, 'v1beta1'), body }
  }

  it('is told about in the words of upstream when it fails', async () => {
    await using remote = await startConversionRemote()
    const { group, v1, v1beta1, body } = await converted(remote)
    const kind = `${group}/v1, Kind=Endpoint`
    const fault = async () => (await server().request('GET', `${v1beta1}/a`)).body
    const success = (convertedObjects: object[]) => (asked: any) => ({
      body: {
        ...asked,
        response: { uid: asked.request.uid, result: { status: 'Success' }, convertedObjects },
      },
    })
    const good = { ...body, apiVersion: `${group}/v1beta1` }
    const own = (await server().ok('GET', `${v1}/a`)).metadata
    const { uid, namespace } = own
    const identity = { name: 'a', namespace, uid }
    for (const [respond, message] of [
      [
        (asked: any) => ({
          body: {
            ...asked,
            response: { uid: asked.request.uid, result: { status: 'Failure', message: 'no' } },
          },
        }),
        `conversion webhook for ${kind} failed: no`,
      ],
      [
        (asked: any) => ({ body: { ...asked, response: { uid: asked.request.uid } } }),
        `conversion webhook for ${kind} failed: response.result.status was '', not 'Success'`,
      ],
      [
        (asked: any) => ({ body: { ...asked, response: { uid: 'other' } } }),
        /^conversion webhook for .* failed: expected response.uid="[0-9a-f-]{36}", got "other"$/,
      ],
      [
        () => ({ body: { kind: 'Other', apiVersion: 'v1' } }),
        `conversion webhook for ${kind} failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /v1, Kind=Other`,
      ],
      [
        (asked: any) => ({ body: { ...asked, response: undefined } }),
        `conversion webhook for ${kind} failed: no response provided`,
      ],
      [
        () => ({ code: 500 }),
        `conversion webhook for ${kind} failed: an error on the server ("unknown") has prevented the request from succeeding`,
      ],
      [success([]), `conversion webhook for ${kind} returned 0 objects, expected 1`],
      [
        success([body]),
        `conversion webhook for ${kind} returned invalid object at index 0: invalid groupVersion (expected ${group}/v1beta1, received ${group}/v1)`,
      ],
      [
        success([{ ...good, kind: 'Thing' }]),
        `conversion webhook for ${kind} returned invalid object at index 0: invalid kind (expected Endpoint, received Thing)`,
      ],
      [
        success([{ ...good, metadata: { ...identity, name: 'b' } }]),
        `conversion webhook for ${kind} returned invalid object: must have the same name: a != b`,
      ],
      [
        success([{ ...good, metadata: { ...identity, uid: 'u' } }]),
        `conversion webhook for ${kind} returned invalid object: must have the same UID: ${uid} != u`,
      ],
      [
        success([{ ...good, metadata: { ...identity, labels: { a: 1 } } }]),
        `conversion webhook for ${kind} returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object`,
      ],
      [
        success([{ ...good, metadata: { ...identity, labels: { a: '-' } } }]),
        /returned invalid metadata: metadata.labels: Invalid value: "-": a valid label must be/,
      ],
    ] as const) {
      remote.respond = respond as ConversionRemote['respond']
      expect(await fault()).toEqual({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: typeof message === 'string' ? message : expect.stringMatching(message),
        code: 500,
      })
    }
    // Nothing of it was kept.
    remote.respond = () => undefined
    expect((await server().ok('GET', `${v1beta1}/a`)).spec).toEqual({ hostPort: 'x:1' })
  })

  it('keeps writes and deletions through other versions from being made while it fails, and ends watches', async () => {
    await using remote = await startConversionRemote()
    const { group, v1, v1beta1, body } = await converted(remote)
    const watch = await server().watch(`${v1beta1}?watch=1`)
    expect((await watch.take(1))[0]?.object.spec).toEqual({ hostPort: 'x:1' })
    remote.respond = (asked) => ({
      body: { ...asked, response: { uid: asked.request.uid, result: { message: 'down' } } },
    })
    const other = { ...body, apiVersion: `${group}/v1beta1`, metadata: { name: 'b' } }
    const refused = await server().request('POST', v1beta1, { body: other })
    expect(refused.body.message).toBe(
      `conversion webhook for ${group}/v1beta1, Kind=Endpoint failed: down`,
    )
    expect((await server().request('GET', `${v1}/b`)).status).toBe(404)
    // By the stored version all goes on.
    await server().ok('PATCH', `${v1}/a`, { body: { spec: { port: 2 } }, headers: merge })
    const [event] = await watch.take(1)
    expect(event).toMatchObject({
      type: 'ERROR',
      object: { message: `conversion webhook for ${group}/v1, Kind=Endpoint failed: down` },
    })
    await watch.ended
    const kept = await server().request('DELETE', `${v1beta1}/a`)
    expect(kept.status).toBe(500)
    expect((await server().ok('GET', `${v1}/a`)).spec.port).toBe(2)
  })

  it('that cannot be reached is named with why', async () => {
    await using remote = await startConversionRemote()
    const service = { namespace: 'nowhere', name: 'converter', path: '/convert' }
    const { group, v1beta1 } = await converted(remote, { url: undefined, service })
    const { body } = await server().request('GET', v1beta1)
    expect(body.message).toBe(
      `conversion webhook for ${group}/v1, Kind=Endpoint failed: Post "https://converter.nowhere.svc:443/convert?timeout=30s": service "converter" not found`,
    )
  })

  it('is asked in v1beta1 by definitions that list it first, whatever uid it answers', async () => {
    await using remote = await startConversionRemote()
    const group = 'older.example.com'
    const pathIn = await define(server(), {
      group,
      kind: 'Endpoint',
      versions: versions(),
      conversion: remote.conversion(['v2', 'v1beta1', 'v1']),
    })
    remote.convert = convertEndpoint
    remote.respond = ({ request }) => ({
      body: {
        response: {
          result: { status: 'Success' },
          convertedObjects: request.objects.map((object) =>
            convertEndpoint({ ...object, apiVersion: request.desiredAPIVersion }),
          ),
        },
      },
    })
    const ns = await server().namespace()
    const made = await server().ok('POST', pathIn(ns, 'v1beta1'), {
      body: {
        apiVersion: `${group}/v1beta1`,
        kind: 'Endpoint',
        metadata: { name: 'a' },
        spec: { hostPort: 'x:1' },
      },
    })
    expect(made.spec).toEqual({ hostPort: 'x:1' })
    expect(remote.asked[0]?.apiVersion).toBe('apiextensions.k8s.io/v1beta1')
  })

  it('converts what an earlier storage version left, until it is written again', async () => {
    await using remote = await startConversionRemote()
    const { group, v1, v1beta1 } = await converted(remote)
    const at = `${definitionsPath(server())}/endpoints.${group}`
    const definition = await server().ok('GET', at)
    expect(definition.status.storedVersions).toEqual(['v1'])
    for (const version of definition.spec.versions) version.storage = version.name === 'v1beta1'
    const changed = await server().ok('PUT', at, { body: definition })
    expect(changed.status.storedVersions).toEqual(['v1', 'v1beta1'])
    await eventually(async () => {
      const { resources } = await server().ok('GET', `/apis/${group}/v1beta1`)
      expect(resources).toHaveLength(1)
    })
    const before = remote.asked.length
    expect((await server().ok('GET', `${v1}/a`)).spec).toEqual({ host: 'x', port: 1 })
    expect(remote.asked.length).toBe(before)
    const old = await server().ok('GET', `${v1beta1}/a`)
    expect(old.spec).toEqual({ hostPort: 'x:1' })
    // A write that changes nothing moves it to the new version.
    const moved = await server().ok('PUT', `${v1beta1}/a`, { body: old })
    expect(moved.metadata.resourceVersion).not.toBe(old.metadata.resourceVersion)
    const asked = remote.asked.length
    expect((await server().ok('GET', `${v1beta1}/a`)).spec).toEqual({ hostPort: 'x:1' })
    expect(remote.asked.length).toBe(asked)
    expect((await server().ok('GET', `${v1}/a`)).spec).toEqual({ host: 'x', port: 1 })
    expect(remote.asked.length).toBe(asked + 1)
    const same = await server().ok('PUT', `${v1beta1}/a`, { body: moved })
    expect(same.metadata.resourceVersion).toBe(moved.metadata.resourceVersion)
    // The old version may go once nothing is stored in it.
    const without = await server().ok('GET', at)
    without.spec.versions = without.spec.versions.filter(({ name }: any) => name !== 'v1')
    const refused = await server().request('PUT', at, { body: without })
    expect(refused.body.details.causes[0].message).toContain('missing from spec.versions')
    await server().ok('PATCH', `${at}/status`, {
      body: { status: { storedVersions: ['v1beta1'] } },
      headers: merge,
    })
    const gone = await server().ok('GET', at)
    gone.spec.versions = without.spec.versions
    await server().ok('PUT', at, { body: gone })
  })
})
