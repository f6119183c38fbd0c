/** MutatingAdmissionPolicy by itself: policies and an object in, the object or the refusal out (upstream: plugin/policy/mutating). */
import { describe, expect, test } from 'vitest'
import { refusalOf } from '../../../components/api-server/request/refusal.ts'
import type {
  MutatingAdmissionPolicySpec,
  Mutation,
} from '../../../components/api/mutating-policy.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import {
  resources,
  apply,
  jsonPatch,
  world,
  deployment,
  containers,
  inTemplate,
  everything,
} from './mutating-world.ts'

const { deployments, pods, configMaps, namespaces } = resources

interface Case {
  readonly title: string
  readonly mutations: readonly Mutation[]
  readonly policy?: Partial<MutatingAdmissionPolicySpec>
  readonly object?: KubeObject
  readonly old?: KubeObject
  /** What becomes of it. */
  readonly becomes?: KubeObject
  /** How the refusal ends. */
  readonly refused?: string
}

const specPath = '/spec/template/spec/containers'

const jsonPatchCases: readonly Case[] = [
  {
    title: 'a test that fails leaves the object alone',
    mutations: [
      jsonPatch(
        '[JSONPatch{op: "test", path: "/spec/replicas", value: 100}, JSONPatch{op: "replace", path: "/spec/replicas", value: 3}]',
      ),
    ],
    object: deployment({ replicas: 1 }),
    becomes: deployment({ replicas: 1 }),
  },
  {
    title: 'after a test that holds the rest applies',
    mutations: [
      jsonPatch(
        '[JSONPatch{op: "test", path: "/spec/replicas", value: 1}, JSONPatch{op: "replace", path: "/spec/replicas", value: 3}]',
      ),
    ],
    object: deployment({ replicas: 1 }),
    becomes: deployment({ replicas: 3 }),
  },
  {
    title: 'remove unsets a field',
    mutations: [jsonPatch('[JSONPatch{op: "remove", path: "/spec/replicas"}]')],
    object: deployment({ replicas: 1 }),
    becomes: deployment({}),
  },
  {
    title: 'keys are escaped',
    mutations: [
      jsonPatch(
        '[JSONPatch{op: "add", path: "/metadata/labels", value: {}}, JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("k8s.io/x~y"), value: "true"}]',
      ),
    ],
    object: deployment({}),
    becomes: deployment({}, { labels: { 'k8s.io/x~y': 'true' } }),
  },
  {
    title: 'an item goes to the end of a list',
    mutations: [
      jsonPatch(
        `[JSONPatch{op: "add", path: "${specPath}/-", value: Object.spec.template.spec.containers{name: "x", ports: [Object.spec.template.spec.containers.ports{containerPort: 8080}]}}]`,
      ),
    ],
    object: deployment(containers('a')),
    becomes: deployment(
      inTemplate({ containers: [{ name: 'a' }, { name: 'x', ports: [{ containerPort: 8080 }] }] }),
    ),
  },
  {
    title: 'items move',
    mutations: [jsonPatch(`[JSONPatch{op: "move", from: "${specPath}/0", path: "${specPath}/-"}]`)],
    object: deployment(containers('a', 'b', 'c')),
    becomes: deployment(containers('b', 'c', 'a')),
  },
  {
    title: 'what is not there cannot be replaced',
    mutations: [
      jsonPatch(`[JSONPatch{op: "replace", path: "${specPath}/-", value: {"name": "x"}}]`),
    ],
    object: deployment(containers('a')),
    refused: `JSONPath: replace operation does not apply: doc is missing key: ${specPath}/-: missing value`,
  },
  {
    title: 'a field that the kind does not have is refused, whatever the failure policy',
    mutations: [jsonPatch(`[JSONPatch{op: "add", path: "${specPath}/0/portz", value: 1}]`)],
    policy: { failurePolicy: 'Ignore' },
    object: deployment(containers('a')),
    refused:
      'Internal error occurred: strict decoding error: unknown field "spec.template.spec.containers[0].portz"',
  },
  {
    title: 'types are named after their place',
    mutations: [
      jsonPatch(
        '[JSONPatch{op: "add", path: "/spec", value: Object.spec{selector: Object.spec.other{}}}]',
      ),
    ],
    refused:
      'type mismatch: unexpected type name "Object.spec.other", expected "Object.spec.selector", which matches field name path from root Object type',
  },
]

const applyCases: readonly Case[] = [
  {
    title: 'adds to a list by its key',
    mutations: [
      apply(
        'Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{volumes: [Object.spec.template.spec.volumes{name: "y"}]}}}}',
      ),
    ],
    object: deployment(inTemplate({ volumes: [{ name: 'x' }] })),
    becomes: deployment(inTemplate({ volumes: [{ name: 'x' }, { name: 'y' }] })),
  },
  {
    title: 'changes the item of a list that has the key',
    mutations: [
      apply(
        'Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{volumes: [Object.spec.template.spec.volumes{name: "y", hostPath: Object.spec.template.spec.volumes.hostPath{path: "a"}}]}}}}',
      ),
    ],
    object: deployment(inTemplate({ volumes: [{ name: 'x' }, { name: 'y' }] })),
    becomes: deployment(
      inTemplate({ volumes: [{ name: 'x' }, { name: 'y', hostPath: { path: 'a' } }] }),
    ),
  },
  {
    title: 'sees the object, the old object, the request and variables',
    mutations: [
      apply(
        'Object{spec: Object.spec{replicas: object.spec.replicas + oldObject.spec.replicas + variables.more + (request.kind.kind == "Deployment" ? 1 : 0)}}',
      ),
    ],
    policy: {
      variables: [
        { name: 'ten', expression: '10' },
        { name: 'more', expression: 'variables.ten * 10' },
      ],
    },
    object: deployment({ replicas: 1 }),
    old: deployment({ replicas: 2 }),
    becomes: deployment({ replicas: 104 }),
  },
  {
    title: 'sees the namespace and what else the user may do',
    mutations: [
      apply(
        'Object{metadata: Object.metadata{labels: {"tier": namespaceObject.metadata.labels["tier"], "may": string(authorizer.group("").resource("pods").check("create").allowed())}}}',
      ),
    ],
    becomes: deployment({}, { labels: { tier: 'web', may: 'true' } }),
  },
  {
    title: 'may set nothing atomic',
    mutations: [
      apply(
        'Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {"l": "v"}}, template: Object.spec.template{spec: Object.spec.template.spec{nodeSelector: {"a": "b"}, containers: [Object.spec.template.spec.containers{name: "a", args: ["x"]}]}}}}',
      ),
    ],
    refused:
      'error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.selector, .spec.template.spec.nodeSelector, .spec.template.spec.containers[0].args',
  },
  {
    title: 'sets only fields that the kind has',
    mutations: [apply('Object{spec: Object.spec{replicasx: 1}}')],
    refused:
      'error applying patch: failed to convert patch object to typed object: .spec.replicasx: field not declared in schema',
  },
  {
    title: 'sets values of the right type',
    mutations: [apply('Object{spec: Object.spec{replicas: "1"}}')],
    refused:
      'error applying patch: failed to convert patch object to typed object: .spec.replicas: expected numeric (int or float), got string',
  },
  {
    title: 'cannot merge into a list that has a key twice',
    mutations: [apply('Object{spec: Object.spec{replicas: 3}}')],
    object: deployment(inTemplate({ volumes: [{ name: 'x' }, { name: 'x' }] })),
    refused:
      'error applying patch: failed to convert original object to typed object: .spec.template.spec.volumes: duplicate entries for key [name="x"]',
  },
  {
    title: 'leaves the kind and the version alone',
    mutations: [apply('Object{kind: "Pod", apiVersion: "v1", spec: Object.spec{paused: true}}')],
    becomes: deployment({ paused: true }),
  },
  {
    title: 'cannot be evaluated for ever',
    mutations: [
      apply(
        'Object{spec: Object.spec{replicas: variables.l.all(a, variables.l.all(b, variables.l.all(c, variables.l.all(d, variables.l.all(e, variables.l.all(f, "0123456789" == "0123456789")))))) ? 1 : 0}}',
      ),
    ],
    policy: { variables: [{ name: 'l', expression: '[0,1,2,3,4,5,6,7,8,9]' }] },
    refused: 'operation cancelled: actual cost limit exceeded',
  },
  {
    title: 'fails with a variable that it reads',
    mutations: [apply('Object{spec: Object.spec{replicas: variables.bad}}')],
    policy: { variables: [{ name: 'bad', expression: 'object.nothing.here' }] },
    refused: 'composited variable "bad" fails to evaluate: no such key: nothing',
  },
]

const orderCases: readonly Case[] = [
  {
    title: 'a JSON patch sees what an apply configuration before it made',
    mutations: [
      apply('Object{spec: Object.spec{replicas: object.spec.replicas + 100}}'),
      jsonPatch(
        '[JSONPatch{op: "replace", path: "/spec/replicas", value: object.spec.replicas + 10}]',
      ),
    ],
    object: deployment({ replicas: 1 }),
    becomes: deployment({ replicas: 111 }),
  },
  {
    title: 'variables are evaluated anew for each mutation',
    mutations: [1, 2].map(() => apply('Object{spec: Object.spec{replicas: variables.next}}')),
    policy: { variables: [{ name: 'next', expression: 'object.spec.replicas + 1' }] },
    object: deployment({ replicas: 1 }),
    becomes: deployment({ replicas: 3 }),
  },
  {
    title: 'with the failure policy Ignore, the others still apply',
    mutations: [
      apply('Object{spec: Object.spec{replicas: object.none}}'),
      apply('Object{spec: Object.spec{paused: true}}'),
    ],
    policy: { failurePolicy: 'Ignore' },
    becomes: deployment({ paused: true }),
  },
]

describe.each([
  ['a JSON patch', jsonPatchCases],
  ['an apply configuration', applyCases],
  ['mutations in order', orderCases],
])('%s', (_, cases) => {
  test.each(cases)('$title', async ({ mutations, policy, object, old, becomes, refused }) => {
    const { result } = world([{ ...policy, mutations: [...mutations] }])
    const outcome = await result({
      resource: deployments,
      object: object ?? deployment({}),
      ...(old && { old, operation: 'UPDATE' }),
    })
    if (refused === undefined) expect(outcome).toEqual(becomes)
    else {
      const prefix = refused.startsWith('Internal')
        ? ''
        : "policy 'p0' with binding 'p0-binding' denied request: "
      expect(outcome).toBe(prefix + refused)
    }
  })
})

const label = (key: string, value: string) =>
  apply(`Object{metadata: Object.metadata{labels: {"${key}": ${value}}}}`)
const map = (metadata: object = {}): KubeObject => ({
  metadata: { name: 'a', namespace: 'default', ...metadata },
})
const labelsOf = (object: unknown): unknown => (object as KubeObject | undefined)?.metadata?.labels

describe('a mutating policy', () => {
  test('refuses with 403, the reason of the first fault, and a cause for each', async () => {
    const { admit } = world([
      { mutations: [label('a', 'object.x'), label('a', 'object.y')] },
      {
        mutations: [label('b', '"1"')],
        binding: { paramRef: { name: 'no', parameterNotFoundAction: 'Deny' } },
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      },
      { mutations: [label('c', 'object.z')], failurePolicy: 'Ignore' },
    ])
    const error = await admit({ resource: configMaps, object: map() }).catch(
      (thrown: unknown) => thrown,
    )
    const binding =
      "policy 'p1' with binding 'p1-binding' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    expect((error as StatusError).toStatus()).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      message: binding,
      details: {
        name: 'a',
        kind: 'configmaps',
        causes: [
          { message: binding },
          { message: "policy 'p0' with binding 'p0-binding' denied request: no such key: x" },
          { message: "policy 'p0' with binding 'p0-binding' denied request: no such key: y" },
        ],
      },
    })
    const { admit: other } = world([{ mutations: [label('a', 'object.x')] }])
    await expect(other({ resource: configMaps, object: map() })).rejects.toMatchObject({
      code: 403,
      reason: 'Invalid',
    })
  })

  test('is applied once for each binding and each parameter object', async () => {
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }
    const paramRef = {
      selector: { matchLabels: { of: 'policy' } },
      parameterNotFoundAction: 'Deny',
    }
    const { reader, result } = world([
      {
        paramKind,
        binding: { paramRef },
        mutations: [
          apply(
            'Object{metadata: Object.metadata{labels: {params.metadata.name: params.data.value}}}',
          ),
        ],
      },
    ])
    for (const name of ['x', 'y', 'z']) {
      const labels = name === 'z' ? {} : { of: 'policy' }
      reader.put(configMaps, {
        metadata: { name, namespace: 'default', labels },
        data: { value: `v-${name}` },
      })
    }
    expect(labelsOf(await result({ resource: pods, object: map() }))).toEqual({
      x: 'v-x',
      y: 'v-y',
    })
  })

  test('applies where match conditions hold, which see what earlier policies made', async () => {
    const matchConditions = [
      { name: 'prod', expression: 'object.?metadata.labels["env"].orValue("") == "prod"' },
    ]
    const { result } = world([
      { mutations: [label('early', '"no"')], matchConditions },
      { mutations: [label('env', '"prod"')] },
      { mutations: [label('late', '"yes"')], matchConditions },
    ])
    expect(labelsOf(await result({ resource: configMaps, object: map() }))).toEqual({
      env: 'prod',
      late: 'yes',
    })
    const failing = [{ name: 'x', expression: 'object.nothing == 1' }]
    const fail = world([{ mutations: [label('a', '"1"')], matchConditions: failing }])
    expect(await fail.result({ resource: configMaps, object: map() })).toBe(
      "policy 'p0' with binding 'p0-binding' denied request: expression 'object.nothing == 1' resulted in error: no such key: nothing",
    )
    const ignore = world([
      { mutations: [label('a', '"1"')], matchConditions: failing, failurePolicy: 'Ignore' },
    ])
    expect(labelsOf(await ignore.result({ resource: configMaps, object: map() }))).toBeUndefined()
  })

  test('matches by the object as it came, not as other policies leave it', async () => {
    const matchConstraints = { ...everything, objectSelector: { matchLabels: { set: 'before' } } }
    const { result } = world([
      { mutations: [label('set', '"before"')] },
      { mutations: [label('seen', '"yes"')], matchConstraints },
    ])
    expect(labelsOf(await result({ resource: configMaps, object: map() }))).toEqual({
      set: 'before',
    })
    expect(
      labelsOf(await result({ resource: configMaps, object: map({ labels: { set: 'before' } }) })),
    ).toEqual({
      set: 'before',
      seen: 'yes',
    })
  })

  test('is left out where it or its binding excludes the request, and without a binding', async () => {
    const [rule] = everything.resourceRules
    const mutations = [label('a', '"1"')]
    const exclude = { ...everything, excludeResourceRules: [{ ...rule, resourceNames: ['a'] }] }
    const onlyPods = { resourceRules: [{ ...rule, resources: ['pods'] }] }
    for (const policy of [
      { mutations, matchConstraints: exclude },
      { mutations, matchConstraints: { ...everything, ...onlyPods } },
      { mutations, binding: { matchResources: { ...everything, ...onlyPods } } },
      { mutations, binding: { policyName: 'other' } },
    ]) {
      const { result } = world([policy])
      expect(labelsOf(await result({ resource: configMaps, object: map() }))).toBeUndefined()
    }
  })

  test('leaves alone what policies and webhooks are configured with, reviews, deletions, and the server itself', async () => {
    const { admit } = world([{ mutations: [label('a', '"1"')] }])
    const exempt = [
      resources.mutatingAdmissionPolicies,
      resources.validatingAdmissionPolicyBindings,
      resources.mutatingWebhookConfigurations,
      resources.subjectAccessReviews,
      resources.tokenReviews,
    ]
    for (const resource of exempt) {
      expect(labelsOf(await admit({ resource, object: map() }))).toBeUndefined()
    }
    expect(
      await admit({ resource: configMaps, operation: 'DELETE', object: undefined, old: map() }),
    ).toBeUndefined()
    expect(
      labelsOf(await admit({ resource: configMaps, object: map(), context: undefined })),
    ).toBeUndefined()
    expect(labelsOf(await admit({ resource: configMaps, object: map(), dryRun: true }))).toEqual({
      a: '1',
    })
  })

  test('does nothing while its gate is off or its API is not served', async () => {
    const policies = [{ mutations: [label('a', '"1"')] }]
    const without = resources.all.filter((one) => one !== resources.mutatingAdmissionPolicies)
    for (const more of [{ gate: false }, { served: without }]) {
      const { result } = world(policies, more)
      expect(labelsOf(await result({ resource: configMaps, object: map() }))).toBeUndefined()
    }
  })

  test('is named with its binding for an explanation; without one if the request cannot be matched', async () => {
    const { admit } = world([{ mutations: [label('a', 'object.x')] }])
    const error = await admit({ resource: configMaps, object: map() }).catch(
      (thrown: unknown) => thrown,
    )
    expect(refusalOf(error)).toEqual({
      plugin: 'MutatingAdmissionPolicy',
      policy: 'p0',
      binding: 'p0-binding',
    })
    const namespaceSelector = { matchLabels: { tier: 'web' } }
    const { result } = world([
      { mutations: [label('a', '"1"')], matchConstraints: { ...everything, namespaceSelector } },
    ])
    expect(await result({ resource: configMaps, object: map({ namespace: 'gone' }) })).toBe(
      'policy "p0" denied request: failed to configure policy: namespaces "gone" not found',
    )
  })

  test('sees no namespace for a Namespace, and needs that of any other object', async () => {
    const { result } = world([{ mutations: [label('none', 'string(namespaceObject == null)')] }])
    const created = await result({
      resource: namespaces,
      object: { metadata: { name: 'n' } },
      namespace: 'n',
      name: 'n',
    })
    expect(labelsOf(created)).toEqual({ none: 'true' })
    const node = { metadata: { name: 'node' } }
    expect(labelsOf(await result({ resource: resources.nodes, object: node }))).toEqual({
      none: 'true',
    })
    const known = { metadata: { name: 'default' } }
    const updated = { operation: 'UPDATE', namespace: 'default', old: known } as const
    expect(labelsOf(await result({ resource: namespaces, object: known, ...updated }))).toEqual({
      none: 'true',
    })
    expect(await result({ resource: configMaps, object: map({ namespace: 'gone' }) })).toBe(
      'namespaces "gone" not found',
    )
  })

  test('changes the scale of a kind, and what sub-resources bring', async () => {
    const { result } = world([
      { mutations: [apply('Object{spec: Object.spec{replicas: object.spec.replicas * 2}}')] },
    ])
    const scale = {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'd', namespace: 'default' },
      spec: { replicas: 2 },
    }
    expect(
      await result({
        resource: deployments,
        subresource: 'scale',
        operation: 'UPDATE',
        object: scale,
        old: scale,
      }),
    ).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 4 },
    })
  })

  test('with thousands of parameters lets others have a turn, and refuses in few words', async () => {
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }
    const binding = { paramRef: { selector: {}, parameterNotFoundAction: 'Deny' } }
    const long = 'x'.repeat(1000)
    const { reader, admit } = world([
      { paramKind, binding, mutations: [label('a', `object.${long}`)] },
    ])
    for (let n = 0; n < 1000; n += 1) {
      reader.put(configMaps, { metadata: { name: `m${n}`, namespace: 'default' } })
    }
    let turns = 0
    const count = setInterval(() => (turns += 1), 0)
    const error = await admit({ resource: pods, object: map() }).catch((thrown: unknown) => thrown)
    clearInterval(count)
    expect(turns).toBeGreaterThan(1)
    expect((error as StatusError).details?.causes).toHaveLength(100)
  })

  test('cannot grow an object without bound', async () => {
    const double = jsonPatch('[JSONPatch{op: "copy", from: "/data", path: "/data/more"}]')
    const grow = jsonPatch(
      '[JSONPatch{op: "add", path: "/data/" + string(object.data.size()), value: "x".replace("", "0123456789")}]',
    )
    const add = Array.from({ length: 40 }, () =>
      jsonPatch(
        '[JSONPatch{op: "add", path: "/data/k" + string(object.data.size()), value: object.data.big}]',
      ),
    )
    const { result } = world([{ mutations: [grow, ...add] }])
    const data = { big: 'x'.repeat(200_000) }
    expect(await result({ resource: configMaps, object: { ...map(), data } })).toBe(
      "policy 'p0' with binding 'p0-binding' denied request: the mutated object is too large",
    )
    const { result: copies } = world([{ mutations: [double] }])
    expect(await copies({ resource: configMaps, object: { ...map(), data } })).toMatch(
      /Internal error occurred|denied request/,
    )
  })
})

describe('a policy that asks to be reinvoked', () => {
  const count = (key: string) =>
    label(key, `string(int(object.?metadata.labels["${key}"].orValue("0")) + 1)`)

  test('is applied once more after others, and the one that does not ask only once', async () => {
    const { result } = world([
      { mutations: [count('asks')], reinvocationPolicy: 'IfNeeded' },
      { mutations: [count('never')] },
    ])
    expect(labelsOf(await result({ resource: configMaps, object: map() }))).toEqual({
      asks: '2',
      never: '1',
    })
  })

  test('is applied twice even alone, as upstream', async () => {
    const { result } = world([{ mutations: [count('asks')], reinvocationPolicy: 'IfNeeded' }])
    expect(labelsOf(await result({ resource: configMaps, object: map() }))).toEqual({ asks: '2' })
  })

  test('is not applied again where it did not match at first', async () => {
    const matchConditions = [
      { name: 'late', expression: 'object.?metadata.labels["late"].hasValue()' },
    ]
    const { result } = world([
      { mutations: [count('asks')], reinvocationPolicy: 'IfNeeded', matchConditions },
      { mutations: [label('late', '"yes"')] },
    ])
    expect(labelsOf(await result({ resource: configMaps, object: map() }))).toEqual({ late: 'yes' })
  })
})
