/** ValidatingAdmissionPolicy: what its expressions see, refuse, warn of and note, with parameters, variables and failures. */
import { expect, it } from 'vitest'
import { define } from '../../support/custom-definitions.ts'
import { describeDialects } from '../../support/shared-server.ts'

type Json = Record<string, unknown>
let names = 0

const configMaps = {
  resourceRules: [
    { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
  ],
}

describeDialects('validating admission policies', (server) => {
  /** Binds a policy to a fresh namespace; what creating ConfigMaps in it is answered. */
  async function bound(spec: Json, binding: Json = {}) {
    const group = `/apis/${server().group('admissionregistration')}/v1`
    const ns = await server().namespace()
    names += 1
    const name = `policy-${names}`
    await server().ok('POST', `${group}/validatingadmissionpolicies`, {
      body: { metadata: { name }, spec: { matchConstraints: configMaps, ...spec } },
    })
    const namespaceSelector = {
      matchLabels: { [`${server().dialect.labelDomain}/metadata.name`]: ns },
    }
    await server().ok('POST', `${group}/validatingadmissionpolicybindings`, {
      body: {
        metadata: { name: `${name}-binding` },
        spec: {
          policyName: name,
          validationActions: ['Deny'],
          matchResources: { namespaceSelector },
          ...binding,
        },
      },
    })
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    const create = (data: Json, labels: Json = {}, metadata: Json = { name: 'a' }) =>
      server().request('POST', maps, { body: { metadata: { ...metadata, labels }, data } })
    const denied = `configmaps "a" is forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}-binding' denied request: `
    return { ns, name, maps, create, denied }
  }
  const messageOf = ({ body }: { body: { message?: string } }): string => body.message ?? ''

  it('refuse what their expressions do not hold for, with the message and code they state', async () => {
    const { create, denied, maps, name } = await bound({
      validations: [
        { expression: 'has(object.data.color)', message: 'a color is needed', reason: 'Forbidden' },
        {
          expression: 'object.data.color != "red"',
          messageExpression: '"not " + object.data.color',
        },
        { expression: 'object.data.size.size() < 3' },
      ],
    })
    const first = await create({ size: '1' })
    expect([first.status, first.body.reason, messageOf(first)]).toEqual([
      403,
      'Forbidden',
      `${denied}a color is needed`,
    ])
    expect(first.body.details).toEqual({
      name: 'a',
      kind: 'configmaps',
      causes: [
        {
          message: `ValidatingAdmissionPolicy '${name}' with binding '${name}-binding' denied request: a color is needed`,
        },
      ],
    })
    const second = await create({ color: 'red', size: '1' })
    expect([second.status, messageOf(second)]).toEqual([422, `${denied}not red`])
    const third = await create({ color: 'blue', size: '1234' })
    expect(messageOf(third)).toBe(`${denied}failed expression: object.data.size.size() < 3`)
    expect((await create({ color: 'blue', size: '1' })).status).toBe(201)
    const gone = await server().request('PATCH', `${maps}/a`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { data: { color: 'red' } },
    })
    expect(messageOf(gone)).toBe(`${denied}not red`)
  })

  it('see the request, the old object, the namespace and variables of their own', async () => {
    const { create, denied, ns, maps } = await bound({
      variables: [
        { name: 'tier', expression: '"tier" in object.data ? object.data.tier : "none"' },
        { name: 'isWeb', expression: 'variables.tier == "web"' },
      ],
      matchConditions: [{ name: 'not-deleted', expression: 'request.operation != "DELETE"' }],
      validations: [
        { expression: 'variables.isWeb || request.operation == "UPDATE"', message: 'web only' },
        { expression: 'oldObject == null || oldObject.data.tier == "web"', message: 'it was not' },
        { expression: 'namespaceObject.metadata.name == request.namespace', message: 'elsewhere' },
        { expression: 'request.userInfo.username != ""', message: 'nobody' },
      ],
    })
    expect(messageOf(await create({ tier: 'db' }))).toBe(`${denied}web only`)
    expect(messageOf(await create({ x: '1' }))).toBe(`${denied}web only`)
    expect((await create({ tier: 'web' })).status).toBe(201)
    expect((await server().ok('GET', `${maps}/a`)).metadata.namespace).toBe(ns)
    await server().ok('DELETE', `${maps}/a`)
  })

  it('take parameters from the objects that bindings name or select', async () => {
    const spec = {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      matchConstraints: {
        resourceRules: [
          { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'] },
        ],
      },
      validations: [
        {
          expression: 'object.metadata.name.startsWith(params.data.prefix)',
          messageExpression: '"must start with " + params.data.prefix',
        },
      ],
    }
    const paramRef = { name: 'settings', parameterNotFoundAction: 'Deny' }
    const { ns, maps } = await bound(spec, { paramRef })
    const secret = async (name: string, at = ns) =>
      await server().request('POST', `/api/v1/namespaces/${at}/secrets`, {
        body: { metadata: { name } },
      })
    expect(messageOf(await secret('x'))).toMatch(
      /denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction$/,
    )
    await server().ok('POST', maps, {
      body: { metadata: { name: 'settings' }, data: { prefix: 'ok-' } },
    })
    expect(messageOf(await secret('x'))).toMatch(/denied request: must start with ok-$/)
    expect((await secret('ok-x')).status).toBe(201)
    const selector = { matchLabels: { of: 'policy' } }
    const other = await bound(spec, { paramRef: { selector, parameterNotFoundAction: 'Allow' } })
    expect((await secret('x', other.ns)).status).toBe(201)
    for (const prefix of ['a', 'ab']) {
      await other.create({ prefix }, { of: 'policy' }, { name: prefix })
    }
    expect(messageOf(await secret('ax', other.ns))).toMatch(/must start with ab$/)
    expect((await secret('abx', other.ns)).status).toBe(201)
  })

  it('take parameters of a kind that a definition adds', async () => {
    const group = 'rules.example.com'
    const spec = { type: 'object', properties: { most: { type: 'integer' } } }
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } }
    const pathIn = await define(server(), {
      group,
      kind: 'Limit',
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    })
    const { ns, create, denied } = await bound(
      {
        paramKind: { apiVersion: `${group}/v1`, kind: 'Limit' },
        validations: [
          { expression: 'object.data.size() <= params.spec.most', message: 'too many' },
        ],
      },
      { paramRef: { name: 'limit', parameterNotFoundAction: 'Deny' } },
    )
    await server().ok('POST', pathIn(ns), {
      body: {
        apiVersion: `${group}/v1`,
        kind: 'Limit',
        metadata: { name: 'limit' },
        spec: { most: 1 },
      },
    })
    expect(messageOf(await create({ a: '1', b: '2' }))).toBe(`${denied}too many`)
    expect((await create({ a: '1' })).status).toBe(201)
  })

  it('warn and note where the binding says so', async () => {
    const { create, name } = await bound(
      {
        validations: [{ expression: 'object.data.a == "1"', message: 'a is not 1' }],
        auditAnnotations: [{ key: 'value', valueExpression: '"a=" + object.data.a' }],
      },
      { validationActions: ['Warn', 'Audit'] },
    )
    const reply = await create({ a: '2' })
    expect(reply.status).toBe(201)
    expect(reply.headers['warning']).toContain(
      `Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${name}-binding': a is not 1`,
    )
    const { annotations } = await server().auditOf(reply)
    expect(annotations[`${name}/value`]).toBe('a=2')
    const key = `validation.policy.admission.${server().dialect.apiDomain}/validation_failure`
    expect(JSON.parse(annotations[key] ?? '')).toEqual([
      {
        message: 'a is not 1',
        policy: name,
        binding: `${name}-binding`,
        expressionIndex: 0,
        validationActions: ['Warn', 'Audit'],
      },
    ])
  })

  it('that fail refuse by the policy Fail and let pass by Ignore', async () => {
    const validations = [{ expression: 'object.nothing.here == 1' }]
    const fail = await bound({ validations })
    expect(messageOf(await fail.create({}))).toMatch(
      /denied request: expression 'object\.nothing\.here == 1' resulted in error: no such key: nothing$/,
    )
    const ignore = await bound({ validations, failurePolicy: 'Ignore' })
    expect((await ignore.create({})).status).toBe(201)
  })

  it('leave out what they exclude, and what no binding is for', async () => {
    const validations = [{ expression: 'false', message: 'no' }]
    const [rule] = configMaps.resourceRules
    const matchConstraints = {
      ...configMaps,
      excludeResourceRules: [{ ...rule, resourceNames: ['free'] }],
    }
    const { create, maps } = await bound({ validations, matchConstraints })
    expect((await create({})).status).toBe(422)
    expect((await create({}, {}, { name: 'free' })).status).toBe(201)
    const elsewhere = maps.replace(/namespaces\/[^/]+/, `namespaces/${await server().namespace()}`)
    expect(
      (await server().request('POST', elsewhere, { body: { metadata: { name: 'a' } } })).status,
    ).toBe(201)
  })
})
