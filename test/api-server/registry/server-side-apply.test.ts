/** Server-side apply and managedFields: rows SSA-001 to SSA-016, RES-031 and ERR-013. */
import { expect, it } from 'vitest'
import { startApiServer, type Reply } from '../../support/api-server.ts'
import { allow } from '../../support/grants.ts'
import { describeDialects } from '../../support/shared-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }
const applyType = { 'content-type': 'application/apply-patch+yaml' }
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string

interface Entry {
  manager: string
  operation: string
  subresource?: string
  fieldsV1: Record<string, Record<string, unknown>>
}

const entriesOf = (object: { metadata: { managedFields?: Entry[] } }): Entry[] =>
  object.metadata.managedFields ?? []

/** What a manager owns of an object, by operation. */
function owned(object: { metadata: { managedFields?: Entry[] } }, name: string): unknown {
  const found = entriesOf(object).filter(({ manager }) => manager === name)
  return found.length === 1 ? found[0]?.fieldsV1 : found
}

function deployment(name: string, spec: object, metadata: object = {}) {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, ...metadata },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: {
        metadata: { labels: { a: 'b' } },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      },
      ...spec,
    },
  }
}

const replicasOf = (name: string, replicas?: number, metadata: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, ...metadata },
  spec: replicas === undefined ? {} : { replicas },
})

const ownsReplicas = { 'f:spec': { 'f:replicas': {} } }

describeDialects('server-side apply', (server) => {
  const collection = async (plural = 'configmaps'): Promise<string> => {
    const root = plural === 'deployments' ? '/apis/apps/v1' : '/api/v1'
    return `${root}/namespaces/${await server().namespace()}/${plural}`
  }
  const apply = (
    path: string,
    body: unknown,
    query = 'fieldManager=one',
    headers = applyType,
  ): Promise<Reply> => server().request('PATCH', `${path}?${query}`, { body, headers })
  const applied = async (path: string, body: unknown, query?: string): Promise<Reply['body']> => {
    const reply = await apply(path, body, query)
    expect(reply.status, reply.text).toBeLessThan(300)
    return reply.body as unknown
  }
  const configMap = (name: string, data: Record<string, string>, metadata: object = {}) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, ...metadata },
    data,
  })

  it('[SSA-001][SSA-002][RES-031] the server keeps entries of who changed what, when, how and in which version', async () => {
    const at = await collection()
    const made = await server().ok('POST', `${at}?fieldManager=maker`, {
      body: configMap('x', { a: '1' }),
    })
    expect(made.metadata.managedFields).toEqual([
      {
        manager: 'maker',
        operation: 'Update',
        apiVersion: 'v1',
        time,
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { '.': {}, 'f:a': {} } },
      },
    ])
    await applied(`${at}/x`, configMap('x', {}, { labels: { l: '1' } }), 'fieldManager=m1')
    const now = await server().ok('GET', `${at}/x`)
    const put = await server().ok('PUT', `${at}/x?fieldManager=m2`, {
      body: { ...now, data: { a: '1', b: '2' } },
    })
    // They are in order of time, which may be one second or two.
    const byManager = (a: { manager: string }, b: { manager: string }): number =>
      a.manager < b.manager ? -1 : 1
    expect(put.metadata.managedFields.toSorted(byManager)).toEqual([
      {
        manager: 'm1',
        operation: 'Apply',
        apiVersion: 'v1',
        time,
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': {}, 'f:metadata': { 'f:labels': { 'f:l': {} } } },
      },
      expect.objectContaining({ manager: 'm2', operation: 'Update', apiVersion: 'v1', time }),
      expect.objectContaining({ manager: 'maker', operation: 'Update' }),
    ])
    expect(owned(put, 'm2')).toEqual({ 'f:data': { 'f:b': {} } })
  })

  it('[SSA-003][SSA-004][ERR-013] a value of another manager stands against an apply, and nothing changes', async () => {
    const at = `${await collection('deployments')}/d`
    await applied(at, deployment('d', { replicas: 1 }), 'fieldManager=a')
    const before = await server().ok('GET', at)
    const reply = await apply(at, replicasOf('d', 2), 'fieldManager=b')
    expect(reply.status).toBe(409)
    expect(reply.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Apply failed with 1 conflict: conflict with "a": .spec.replicas',
      reason: 'Conflict',
      details: {
        causes: [
          {
            reason: 'FieldManagerConflict',
            message: 'conflict with "a"',
            field: '.spec.replicas',
          },
        ],
      },
      code: 409,
    })
    expect(await server().ok('GET', at)).toEqual(before)
  })

  it('several conflicts are listed by owner, with the version of an updater and its sub-resource', async () => {
    const at = `${await collection('deployments')}/d`
    await server().ok('POST', `${at.slice(0, -2)}?fieldManager=maker`, {
      body: deployment('d', { replicas: 1 }),
    })
    await applied(at, replicasOf('d', undefined, { labels: { l: '1' } }), 'fieldManager=a')
    await server().ok('PATCH', `${at}/scale?fieldManager=scaler`, {
      headers: merge,
      body: { spec: { replicas: 5 } },
    })
    const containers = [{ name: 'c', image: 'other' }]
    const reply = await apply(
      at,
      {
        ...deployment('d', { replicas: 2, template: { spec: { containers } } }),
        metadata: { name: 'd', labels: { l: '2' } },
      },
      'fieldManager=b',
    )
    expect(reply.body.message).toBe(
      'Apply failed with 3 conflicts: conflicts with "a":\n- .metadata.labels.l\n' +
        'conflicts with "maker" using apps/v1:\n' +
        '- .spec.template.spec.containers[name="c"].image\n' +
        'conflicts with "scaler" with subresource "scale" using apps/v1:\n- .spec.replicas',
    )
    expect(reply.body.details.causes).toHaveLength(3)
    expect(reply.body.details.causes[2].message).toBe(
      'conflict with "scaler" with subresource "scale" using apps/v1',
    )
  })

  it('[SSA-005][SSA-006][SSA-014] a forced apply takes the field from its owners', async () => {
    const at = `${await collection('deployments')}/d`
    await applied(at, deployment('d', { replicas: 1 }), 'fieldManager=a')
    const now = await applied(at, replicasOf('d', 2), 'fieldManager=b&force=true')
    expect(now.spec.replicas).toBe(2)
    expect(owned(now, 'b')).toEqual(ownsReplicas)
    expect(JSON.stringify(owned(now, 'a'))).not.toContain('f:replicas')
    expect(JSON.stringify(owned(now, 'a'))).toContain('f:containers')
    const refused = await server().request('PATCH', `${at}?force=true`, {
      headers: merge,
      body: { spec: { replicas: 3 } },
    })
    expect(refused.status).toBe(422)
    expect(refused.body.message).toBe(
      `PatchOptions.meta.${server().dialect.apiDomain} "" is invalid: force: Forbidden: may not be specified for non-apply patch`,
    )
    const json = { 'content-type': 'application/json-patch+json' }
    for (const headers of [json, { 'content-type': 'application/strategic-merge-patch+json' }]) {
      const answer = await server().request('PATCH', `${at}?force=false`, { headers, body: '[]' })
      expect(answer.status).toBe(422)
    }
  })

  it('[SSA-007][SSA-008][SSA-009] a field has several owners, and goes when the last of them leaves it out', async () => {
    const at = `${await collection('deployments')}/d`
    const labels = { labels: { l: '1' } }
    await applied(at, deployment('d', { replicas: 2 }, labels), 'fieldManager=a')
    const shared = await applied(at, replicasOf('d', 2, labels), 'fieldManager=b')
    for (const manager of ['a', 'b']) {
      expect(owned(shared, manager)).toMatchObject({
        ...ownsReplicas,
        'f:metadata': { 'f:labels': { 'f:l': {} } },
      })
    }
    const left = await applied(at, deployment('d', {}), 'fieldManager=a')
    expect(left.spec.replicas).toBe(2)
    expect(left.metadata.labels).toEqual({ l: '1' })
    expect(JSON.stringify(owned(left, 'a'))).not.toContain('f:replicas')
    expect(owned(left, 'b')).toMatchObject(ownsReplicas)
    const none = await applied(at, replicasOf('d'), 'fieldManager=b')
    expect(none.spec.replicas).toBe(1)
    expect(none.metadata.labels).toBeUndefined()
    expect(owned(none, 'b')).toEqual({ 'f:spec': {} })
  })

  it('[SSA-010][SSA-011] updates and other patches own what they change, whoever had it', async () => {
    const at = `${await collection('deployments')}/d`
    const made = await applied(at, deployment('d', { replicas: 1 }), 'fieldManager=a')
    const put = await server().ok('PUT', `${at}?fieldManager=c`, {
      body: { ...made, spec: { ...made.spec, replicas: 2 } },
    })
    expect(owned(put, 'c')).toEqual(ownsReplicas)
    expect(JSON.stringify(owned(put, 'a'))).not.toContain('f:replicas')
    const patches = [
      ['application/merge-patch+json', { spec: { replicas: 3 } }],
      ['application/strategic-merge-patch+json', { spec: { replicas: 4 } }],
      ['application/json-patch+json', [{ op: 'replace', path: '/spec/replicas', value: 5 }]],
    ] as const
    for (const [type, body] of patches) {
      const again = await applied(at, replicasOf('d', 9), 'fieldManager=b&force=true')
      expect(owned(again, 'b')).toEqual(ownsReplicas)
      const now = await server().ok('PATCH', `${at}?fieldManager=p`, {
        headers: { 'content-type': type },
        body,
      })
      expect(owned(now, 'p'), type).toEqual(ownsReplicas)
      expect(owned(now, 'b'), type).toEqual([])
    }
  })

  it('[SSA-012] fieldManager names the manager of every kind of write, and has its bounds', async () => {
    const at = await collection()
    const made = await server().ok('POST', `${at}?fieldManager=x1`, {
      body: configMap('x', { a: '1' }),
    })
    expect(owned(made, 'x1')).toEqual({ 'f:data': { '.': {}, 'f:a': {} } })
    const put = await server().ok('PUT', `${at}/x?fieldManager=x2`, {
      body: configMap('x', { a: '2' }),
    })
    expect(owned(put, 'x2')).toEqual({ 'f:data': { 'f:a': {} } })
    const patched = await server().ok('PATCH', `${at}/x?fieldManager=x3`, {
      headers: merge,
      body: { data: { b: '1' } },
    })
    expect(owned(patched, 'x3')).toEqual({ 'f:data': { 'f:b': {} } })
    const last = await applied(`${at}/x`, configMap('x', { c: '1' }), 'fieldManager=x4')
    expect(owned(last, 'x4')).toEqual({ 'f:data': { 'f:c': {} } })
    for (const [manager, message] of [
      ['m'.repeat(129), 'fieldManager: Too long: may not be more than 128 bytes'],
      ['a\tb', 'fieldManager: Invalid value: "a\\tb": invalid character U+0009 (at position 1)'],
    ] as const) {
      const query = `fieldManager=${encodeURIComponent(manager)}`
      for (const [method, path] of [
        ['POST', at],
        ['PUT', `${at}/x`],
        ['PATCH', `${at}/x`],
      ] as const) {
        const reply = await server().request(method, `${path}?${query}`, {
          body: configMap('y', {}),
          ...(method === 'PATCH' && { headers: merge }),
        })
        expect(reply.status).toBe(422)
        expect(reply.body.message).toContain(message)
      }
    }
  })

  it('[SSA-013] an apply must name its manager', async () => {
    const at = await collection()
    for (const query of ['', 'fieldManager=']) {
      const reply = await apply(`${at}/x`, configMap('x', {}), query)
      expect(reply.body.message).toBe(
        `PatchOptions.meta.${server().dialect.apiDomain} "" is invalid: fieldManager: Required value: is required for apply patch`,
      )
      expect(reply.status).toBe(422)
    }
    expect((await server().request('GET', `${at}/x`)).status).toBe(404)
  })

  it('[SSA-015] without a fieldManager the User-Agent names the manager', async () => {
    const at = await collection()
    for (const [agent, manager] of [
      ['mytool/1.0', 'mytool'],
      ['kubectl/v1.32.0 (linux/amd64) kubernetes/70d3cc9', 'kubectl'],
      ['plain', 'plain'],
      ['/v1', 'unknown'],
      [`${'n'.repeat(200)}/1`, 'n'.repeat(128)],
    ] as const) {
      const made = await server().ok('POST', at, {
        body: { metadata: { generateName: 'x-' }, data: { a: '1' } },
        headers: { 'user-agent': agent },
      })
      expect(entriesOf(made).map((entry) => entry.manager)).toEqual([manager])
    }
    const none = await server().ok('POST', at, { body: configMap('x', { a: '1' }) })
    expect(entriesOf(none)[0]?.manager).toBe('unknown')
  })

  it('[SSA-016] an apply makes what is not there: 201, for whoever may create', async () => {
    const at = await collection()
    const reply = await apply(`${at}/x`, configMap('x', { a: '1' }))
    expect(reply.status).toBe(201)
    expect(entriesOf(reply.body)).toEqual([
      {
        manager: 'one',
        operation: 'Apply',
        apiVersion: 'v1',
        time,
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { 'f:a': {} } },
      },
    ])
    expect(await server().ok('GET', `${at}/x`)).toEqual(reply.body)
    expect((await apply(`${at}/x`, configMap('x', { a: '2' }))).status).toBe(200)
    expect((await apply(`${at}/y/status`, configMap('y', {}))).status).toBe(404)

    const ns = at.split('/')[4] ?? ''
    const patcher = await allow(server(), ns, {
      name: 'patcher',
      rules: [{ resources: ['configmaps'], verbs: ['patch'] }],
    })
    const refused = await server().request('PATCH', `${at}/z?fieldManager=one`, {
      as: patcher,
      headers: applyType,
      body: configMap('z', {}),
    })
    expect(refused.status).toBe(403)
    expect(refused.body.message).toBe(
      `configmaps "z" is forbidden: User "patcher" cannot create resource "configmaps" in API group "" in the namespace "${ns}"`,
    )
    const withUid = await apply(`${at}/u`, configMap('u', {}, { uid: 'some-uid' }))
    expect(withUid.status).toBe(409)
    expect(withUid.body.message).toContain(
      'uid mismatch: the provided object specified uid some-uid, and no existing object was found',
    )
  })

  it('a PUT that makes an object has a creator, who must be allowed to create', async () => {
    const ns = await server().namespace()
    const leases = `/apis/${server().group('coordination')}/v1/namespaces/${ns}/leases`
    const body = { metadata: { name: 'l' }, spec: { holderIdentity: 'one' } }
    const updater = await allow(server(), ns, {
      name: 'updater',
      rules: [{ resources: ['leases'], verbs: ['update'] }],
    })
    const refused = await server().request('PUT', `${leases}/l`, { as: updater, body })
    expect(refused.status).toBe(403)
    expect(refused.body.message).toContain('User "updater" cannot create resource "leases"')
    const made = await server().ok('PUT', `${leases}/l?fieldManager=maker`, { body })
    expect(owned(made, 'maker')).toEqual({ 'f:spec': { 'f:holderIdentity': {} } })
    const updated = await server().request('PUT', `${leases}/l`, { as: updater, body: made })
    expect(updated.status).toBe(200)
  })

  it('an apply that changes nothing makes no new version, however often it comes', async () => {
    const at = `${await collection('deployments')}/d`
    const body = deployment('d', { replicas: 3 }, { labels: { l: '1' } })
    const first = await applied(at, body)
    expect(await applied(at, body)).toEqual(first)
    expect(await applied(at, body, 'fieldManager=one&force=true')).toEqual(first)
    expect(await server().ok('GET', at)).toEqual(first)
    const put = await server().ok('PUT', `${at}?fieldManager=two`, { body: first })
    expect(put).toEqual(first)
    const patched = await server().ok('PATCH', `${at}?fieldManager=two`, {
      headers: merge,
      body: { spec: { replicas: 3 } },
    })
    expect(patched).toEqual(first)
  })

  it('a resourceVersion, a uid and a name in the configuration must be those of the object', async () => {
    const at = await collection()
    const made = await applied(`${at}/x`, configMap('x', { a: '1' }))
    const { resourceVersion, uid } = made.metadata
    await applied(`${at}/x`, configMap('x', { a: '2' }, { resourceVersion, uid }))
    const stale = await apply(`${at}/x`, configMap('x', { a: '3' }, { resourceVersion }))
    expect(stale.status).toBe(409)
    expect(stale.body.message).toContain('the object has been modified')
    const other = await apply(`${at}/x`, configMap('x', { a: '3' }, { uid: 'other' }))
    expect(other.status).toBe(409)
    const named = await apply(`${at}/x`, configMap('y', {}))
    expect(named.status).toBe(400)
    expect(named.body.message).toBe(
      'the name of the object (y) does not match the name on the URL (x)',
    )
    const nameless = await apply(`${at}/z`, { apiVersion: 'v1', kind: 'ConfigMap' })
    expect(nameless.status).toBe(400)
    expect(nameless.body.message).toBe(
      'the name of the object (z based on URL) was undeterminable: name must be provided',
    )
    const elsewhere = await apply(`${at}/x`, configMap('x', {}, { namespace: 'elsewhere' }))
    expect(elsewhere.status).toBe(400)
  })

  it('a dry run shows the outcome and keeps nothing', async () => {
    const at = await collection()
    const made = await apply(`${at}/x`, configMap('x', { a: '1' }), 'fieldManager=one&dryRun=All')
    expect(made.status).toBe(201)
    expect(owned(made.body, 'one')).toEqual({ 'f:data': { 'f:a': {} } })
    expect((await server().request('GET', `${at}/x`)).status).toBe(404)
    const kept = await applied(`${at}/x`, configMap('x', { a: '1' }))
    const shown = await applied(
      `${at}/x`,
      configMap('x', { b: '1' }),
      'fieldManager=one&dryRun=All',
    )
    expect(shown.data).toEqual({ b: '1' })
    const conflict = await apply(`${at}/x`, configMap('x', { a: '2' }), 'fieldManager=b&dryRun=All')
    expect(conflict.status).toBe(409)
    expect(await server().ok('GET', `${at}/x`)).toEqual(kept)
  })

  it('a configuration that does not fit the schema is refused with the path of what is wrong', async () => {
    const at = `${await collection('deployments')}/d`
    const start = 'failed to create typed patch object (/d; apps/v1, Kind=Deployment): '
    const container = { name: 'c', image: 'i' }
    const withPod = (spec: object) => deployment('d', { template: { spec } })
    for (const [body, message] of [
      [deployment('d', { foo: 1 }), `${start}.spec.foo: field not declared in schema`],
      [
        deployment('d', { replicas: 'x' }),
        `${start}.spec.replicas: expected numeric (int or float), got string`,
      ],
      [
        withPod({ containers: [container, container] }),
        `${start}.spec.template.spec.containers: duplicate entries for key [name="c"]`,
      ],
      [
        withPod({ containers: [{ image: 'i' }] }),
        `${start}.spec.template.spec.containers: element 0: associative list with keys has an element that omits key field "name" (and doesn't have default value)`,
      ],
      [
        withPod({ containers: [{ ...container, env: [{ name: 'A', value: 1 }] }] }),
        `${start}.spec.template.spec.containers[name="c"].env[name="A"].value: expected string, got &value.valueUnstructured{Value:1}`,
      ],
      [{ kind: 'Deployment', metadata: {} }, 'invalid object type: /, Kind=Deployment'],
      [configMap('d', {}), 'invalid object type: /v1, Kind=ConfigMap'],
      [
        deployment('d', {}, { managedFields: [{ manager: 'x' }] }),
        'metadata.managedFields must be nil',
      ],
      [
        '[]',
        'error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}',
      ],
    ] as const) {
      const reply = await apply(at, body)
      expect(reply.status, reply.text).toBe(400)
      expect(reply.body.message).toBe(message)
    }
    const broken = await apply(at, 'a: [')
    expect(broken.status).toBe(400)
    expect(broken.body.message).toMatch(
      /^error decoding YAML: error converting YAML to JSON: yaml: /,
    )
    const two = await apply(at, deployment('d', { replicas: 'x', paused: 'y' }))
    expect(two.body.message).toBe(
      `${start}errors:\n  .spec.replicas: expected numeric (int or float), got string\n  .spec.paused: expected boolean, got &{y}`,
    )
  })

  it('keys given twice are refused, warned of or ignored, by the request’s mode', async () => {
    const at = await collection()
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  a: "1"\n  a: "2"\n'
    const fault =
      'error converting YAML to JSON: yaml: unmarshal errors:\n  line 6: key "a" already set in map'
    const strict = await apply(`${at}/x`, text, 'fieldManager=one&fieldValidation=Strict')
    expect(strict.status).toBe(400)
    expect(strict.body.message).toBe(`error strict decoding YAML: ${fault}`)
    const warned = await apply(`${at}/x`, text, 'fieldManager=one&fieldValidation=Warn')
    expect(warned.status).toBe(201)
    expect(warned.headers['warning']).toContain('already set in map')
    expect(warned.body.data).toEqual({ a: '2' })
    const ignored = await apply(`${at}/x`, text, 'fieldManager=one&fieldValidation=Ignore')
    expect(ignored.status).toBe(200)
    expect(ignored.headers['warning']).toBeUndefined()
    const json =
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1","a":"2"}}'
    const both = await apply(`${at}/x`, json, 'fieldManager=one&fieldValidation=Strict')
    expect(both.status).toBe(400)
    expect(both.body.message).toContain('already set in map')
  })
})

it('of appliers that all find no object one makes it, and the others add to it', async () => {
  await using server = await startApiServer({ store: 'sqlite' })
  const at = `/api/v1/namespaces/${await server.namespace()}/configmaps/x`
  const managers = ['a', 'b', 'c', 'd']
  const replies = await Promise.all(
    managers.map((manager) =>
      server.request('PATCH', `${at}?fieldManager=${manager}`, {
        headers: applyType,
        body: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'x' },
          data: { [manager]: manager },
        },
      }),
    ),
  )
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201])
  expect(Object.keys((await server.ok('GET', at)).data)).toEqual(managers)
})
