/** Expressions of admission: refused when they are written, checked against types, and what they may ask of the authorizer. */
import { expect, it } from 'vitest'
import { define } from '../../support/custom-definitions.ts'
import { describeDialects } from '../../support/shared-server.ts'

type Json = Record<string, unknown>
let names = 0

describeDialects('expressions of admission', (server) => {
  const group = () => `/apis/${server().group('admissionregistration')}/v1`
  const rule = (resource: string, apiGroup = '', version = 'v1') => ({
    operations: ['*'],
    apiGroups: [apiGroup],
    apiVersions: [version],
    resources: [resource],
  })
  const matchConstraints = { resourceRules: [rule('configmaps')] }

  async function write(spec: Json) {
    names += 1
    const metadata = { name: `expressions-${names}` }
    const path = `${group()}/validatingadmissionpolicies`
    return await server().request('POST', path, { body: { metadata, spec } })
  }

  /** The status of a policy once this generation was looked at. */
  async function statusOf(name: string, generation: number): Promise<Json> {
    const path = `${group()}/validatingadmissionpolicies`
    const events = await server().watch(`${path}?watch=1&fieldSelector=metadata.name%3D${name}`)
    for (;;) {
      const { object } = await events.next()
      if (object.status?.observedGeneration !== generation) continue
      events.close()
      return object.status
    }
  }

  /** Binds a policy to a fresh namespace and creates a ConfigMap in it, as `jane` where that is said. */
  async function bound(spec: Json, binding: Json = {}) {
    const policy = await write({ matchConstraints, ...spec })
    expect(policy.status, policy.body.message).toBe(201)
    const ns = await server().namespace()
    const namespaceSelector = {
      matchLabels: { [`${server().dialect.labelDomain}/metadata.name`]: ns },
    }
    const { name } = policy.body.metadata
    await server().ok('POST', `${group()}/validatingadmissionpolicybindings`, {
      body: {
        metadata: { name },
        spec: {
          policyName: name,
          validationActions: ['Deny'],
          matchResources: { namespaceSelector },
          ...binding,
        },
      },
    })
    const rbac = `/apis/${server().group('rbac.authorization')}/v1/namespaces/${ns}`
    const grant = async (user: Json, rules: readonly Json[]) => {
      names += 1
      const metadata = { name: `grant-${names}` }
      await server().ok('POST', `${rbac}/roles`, { body: { metadata, rules } })
      const roleRef = {
        apiGroup: server().group('rbac.authorization'),
        kind: 'Role',
        name: metadata.name,
      }
      await server().ok('POST', `${rbac}/rolebindings`, {
        body: { metadata, roleRef, subjects: [user] },
      })
    }
    const jane = { kind: 'User', name: 'jane', apiGroup: server().group('rbac.authorization') }
    await grant(jane, [{ apiGroups: [''], resources: ['configmaps'], verbs: ['create'] }])
    const create = async (data: Json = { x: '1' }) => {
      names += 1
      const reply = await server().request('POST', `/api/v1/namespaces/${ns}/configmaps`, {
        body: { metadata: { name: `map-${names}` }, data },
        headers: { 'impersonate-user': 'jane' },
      })
      return reply.status === 201 ? 'created' : String(reply.body.message)
    }
    return { ns, name, grant, jane, create }
  }

  it('that cannot be compiled are refused, each at its place', async () => {
    const reply = await write({
      matchConstraints,
      matchConditions: [{ name: 'a', expression: 'nothing == 1' }],
      variables: [
        { name: 'n', expression: '1 + "a"' },
        { name: 'later', expression: 'variables.unknown' },
        { name: 'whole', expression: '1' },
      ],
      validations: [
        { expression: 'object.x ==' },
        { expression: '1' },
        { expression: 'variables.whole == "a"' },
        { expression: 'params.x == 1' },
        { expression: 'true', messageExpression: '1' },
        { expression: 'true', messageExpression: 'authorizer.path("/x").check("get").reason()' },
      ],
      auditAnnotations: [{ key: 'k', valueExpression: '1' }],
    })
    expect(reply.status).toBe(422)
    const causes = reply.body.details.causes as { field: string; message: string }[]
    expect(causes.map(({ field, message }) => `${field}: ${message.split('\n')[0]}`)).toEqual([
      "spec.matchConditions[0].expression: Invalid value: \"nothing == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'nothing' (in container '')",
      'spec.variables[0].expression: Invalid value: "1 + \\"a\\"": compilation failed: ERROR: <input>:1:3: found no matching overload for \'_+_\' applied to \'(int, string)\'',
      'spec.variables[1].expression: Invalid value: "variables.unknown": compilation failed: ERROR: <input>:1:10: undefined field \'unknown\'',
      expect.stringContaining(
        'spec.validations[0].expression: Invalid value: "object.x ==": compilation failed: ERROR: <input>:1:',
      ),
      'spec.validations[1].expression: Invalid value: "1": must evaluate to bool but got int',
      'spec.validations[2].expression: Invalid value: "variables.whole == \\"a\\"": compilation failed: ERROR: <input>:1:17: found no matching overload for \'_==_\' applied to \'(int, string)\'',
      "spec.validations[3].expression: Invalid value: \"params.x == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')",
      'spec.validations[4].messageExpression: Invalid value: "1": must evaluate to string but got int',
      expect.stringContaining("undeclared reference to 'authorizer'"),
      'spec.auditAnnotations[0].valueExpression: Invalid value: "1": must evaluate to one of [string null_type] but got int',
    ])
  })

  it('of webhooks that cannot be compiled are refused; those that were stored may stay', async () => {
    const path = `${group()}/validatingwebhookconfigurations`
    names += 1
    const metadata = { name: `conditions-${names}` }
    const webhook = {
      name: 'a.example.com',
      clientConfig: { url: 'https://127.0.0.1:1/' },
      rules: [rule('nothing', 'nowhere.example.com')],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      matchConditions: [
        { name: 'a', expression: 'object.metadata.name' },
        { name: 'b', expression: 'x' },
      ],
    }
    const reply = await server().request('POST', path, { body: { metadata, webhooks: [webhook] } })
    expect(reply.status).toBe(422)
    expect(reply.body.details.causes).toMatchObject([
      {
        field: 'webhooks[0].matchConditions[1].expression',
        message: expect.stringContaining("undeclared reference to 'x'"),
      },
    ])
    const fine = {
      ...webhook,
      matchConditions: [
        { name: 'a', expression: 'authorizer.requestResource.check("update").allowed()' },
      ],
    }
    await server().ok('POST', path, { body: { metadata, webhooks: [fine] } })
    await server().ok('DELETE', `${path}/${metadata.name}`)
  })

  it('ask what else the user may do with what is written, elsewhere, on paths, and by service account', async () => {
    const { create, grant, jane, ns } = await bound({
      validations: [
        {
          expression:
            'object.data.ask != "own" || authorizer.requestResource.check("get").allowed()',
        },
        {
          expression:
            'object.data.ask != "other" || authorizer.group("apps").resource("deployments").subresource("scale").namespace(object.metadata.namespace).name("web").check("update").allowed()',
        },
        {
          expression:
            'object.data.ask != "path" || authorizer.path("/metrics").check("get").allowed()',
          messageExpression: '"may not"',
        },
        {
          expression:
            'object.data.ask != "account" || authorizer.serviceAccount(object.metadata.namespace, "robot").group("").resource("secrets").namespace(object.metadata.namespace).check("list").allowed()',
        },
        {
          expression:
            'object.data.ask != "reason" || authorizer.requestResource.check("create").reason().contains("allowed by RoleBinding")',
        },
        {
          expression:
            'object.data.ask != "errored" || !authorizer.requestResource.check("create").errored()',
        },
        {
          expression:
            'object.data.ask != "selector" || authorizer.group("").resource("pods").namespace(object.metadata.namespace).labelSelector("a=b").fieldSelector("spec.nodeName=n").check("list").allowed()',
        },
        { expression: 'object.data.ask != "blank" || authorizer.path(" ").check("get").allowed()' },
        {
          expression:
            'object.data.ask != "bad" || authorizer.serviceAccount("Not_Valid", "x").path("/").check("get").allowed()',
        },
      ],
    })
    const asked = (ask: string) => create({ ask })
    for (const ask of ['own', 'other', 'account', 'selector']) {
      expect(await asked(ask), ask).toContain('denied request: failed expression: object.data.ask')
    }
    expect(await asked('path')).toMatch(/denied request: may not$/)
    expect(await asked('blank')).toMatch(/resulted in error: path must not be empty$/)
    expect(await asked('bad')).toMatch(/resulted in error: Invalid service account namespace$/)
    for (const ask of ['reason', 'errored', 'none']) expect(await asked(ask), ask).toBe('created')
    await grant(jane, [
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
      {
        apiGroups: ['apps'],
        resources: ['deployments/scale'],
        resourceNames: ['web'],
        verbs: ['update'],
      },
      { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
    ])
    const robot = { kind: 'ServiceAccount', name: 'robot', namespace: ns }
    await grant(robot, [{ apiGroups: [''], resources: ['secrets'], verbs: ['list'] }])
    for (const ask of ['own', 'other', 'account', 'selector']) {
      expect(await asked(ask), ask).toBe('created')
    }
  })

  it('may make two checks each, as their cost allows', async () => {
    const check = (verb: string) => `authorizer.requestResource.check("${verb}").errored()`
    const two = await bound({
      validations: [{ expression: `!${check('get')} && !${check('list')}` }],
    })
    expect(await two.create()).toBe('created')
    const three = await bound({
      validations: [{ expression: `!${check('get')} && !${check('list')} && !${check('watch')}` }],
    })
    expect(await three.create()).toMatch(/operation cancelled: actual cost limit exceeded$/)
  })

  it('a variable that fails fails only what reads it, and variables keep their types', async () => {
    const { create } = await bound({
      variables: [
        { name: 'missing', expression: 'object.data.nothing + "x"' },
        { name: 'wait', expression: 'duration("90s")' },
        { name: 'maybe', expression: 'object.data.?kind' },
        { name: 'big', expression: 'uint(7)' },
        { name: 'may', expression: 'authorizer.requestResource.check("create").allowed()' },
      ],
      validations: [
        { expression: 'object.data.?kind.orValue("") != "read" || variables.missing == "x"' },
        { expression: 'variables.wait > duration("1m") && variables.wait.getSeconds() == 90' },
        { expression: 'variables.maybe.orValue("none") in ["none", "read"]' },
        { expression: 'variables.big == 7u && type(variables.big) == uint' },
        { expression: 'variables.may' },
      ],
    })
    expect(await create()).toBe('created')
    expect(await create({ kind: 'read' })).toMatch(
      /resulted in error: composited variable "missing" fails to evaluate: no such key: nothing$/,
    )
    expect(await create({ kind: 'other' })).toContain('failed expression: variables.maybe')
  })

  it('see the namespace with its labels; the conditions of a policy do not', async () => {
    const { create, ns } = await bound({
      validations: [
        {
          expression:
            'namespaceObject.metadata.name == request.namespace && namespaceObject.metadata.labels.exists(l, l.endsWith("metadata.name")) && namespaceObject.status.phase == "Active" && !has(namespaceObject.metadata.annotations)',
        },
      ],
      matchConditions: [{ name: 'none', expression: 'namespaceObject == null' }],
    })
    expect([ns, await create()]).toEqual([ns, 'created'])
    const unknown = await write({
      matchConstraints,
      validations: [{ expression: 'namespaceObject.metadata.nothing == ""' }],
    })
    expect(unknown.body.message).toContain("undefined field 'nothing'")
  })

  it('that get types wrong are told in the status of the policy, once for each generation', async () => {
    const path = `${group()}/validatingadmissionpolicies`
    const spec = {
      matchConstraints: {
        resourceRules: [rule('deployments', 'apps'), rule('pods'), rule('*', '*')],
      },
      variables: [{ name: 'replicas', expression: 'object.spec.replicas' }],
      validations: [
        { expression: 'object.spec.replicas > 1' },
        {
          expression: 'variables.replicas == 1',
          messageExpression: '"not " + string(object.spec.template.spec.nothing)',
        },
        {
          expression:
            'object.metadata.namespace.startsWith("a") && object.metadata.?labels.a == optional.none()',
        },
      ],
    }
    const created = await write(spec)
    expect(created.status, created.body.message).toBe(201)
    const { name } = created.body.metadata
    const status = (generation: number) => statusOf(name, generation)
    expect(await status(1)).toEqual({
      observedGeneration: 1,
      typeChecking: {
        expressionWarnings: [
          {
            fieldRef: 'spec.validations[0].expression',
            warning:
              "/v1, Kind=Pod: ERROR: <input>:1:12: undefined field 'replicas'\n | object.spec.replicas > 1\n | ...........^\n",
          },
          {
            fieldRef: 'spec.validations[1].messageExpression',
            warning: expect.stringMatching(
              /^\/v1, Kind=Pod: ERROR: <input>:1:\d+: undefined field 'template'\n[^]*\n\napps\/v1, Kind=Deployment: ERROR: <input>:1:\d+: undefined field 'nothing'\n[^]*\n$/,
            ),
          },
        ],
      },
    })
    await server().ok('PATCH', `${path}/${name}`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: { validations: [{ expression: 'has(object.spec)' }], variables: null } },
    })
    expect(await status(2)).toEqual({ observedGeneration: 2, typeChecking: {} })
    await server().ok('DELETE', `${path}/${name}`)
  })

  it('are checked against the schemas of defined kinds and of parameters', async () => {
    const own = 'types.example.com'
    const schema = (spec: Json) => ({
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { type: 'object', properties: spec } },
      },
    })
    await define(server(), {
      group: own,
      kind: 'Widget',
      versions: [
        { name: 'v1', served: true, storage: true, schema: schema({ size: { type: 'integer' } }) },
      ],
    })
    const created = await write({
      matchConstraints: { resourceRules: [rule('widgets', own)] },
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      validations: [
        { expression: 'object.spec.size > 1 && params.data.size == "a"' },
        { expression: 'object.spec.size == "a"' },
        { expression: 'params.spec.size == 1' },
      ],
    })
    expect(created.status, created.body.message).toBe(201)
    const { name } = created.body.metadata
    const status = await statusOf(name, 1)
    expect(status.typeChecking).toMatchObject({
      expressionWarnings: [
        {
          fieldRef: 'spec.validations[1].expression',
          warning: expect.stringContaining(
            `${own}/v1, Kind=Widget: ERROR: <input>:1:18: found no matching overload for '_==_' applied to '(int, string)'`,
          ),
        },
        {
          fieldRef: 'spec.validations[2].expression',
          warning: expect.stringContaining("undefined field 'spec'"),
        },
      ],
    })
  })
})
