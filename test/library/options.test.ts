/** Options at the door: each invalid one is named, with what it may be. */
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { OptionError } from '../../library/option-error.ts'
import {
  checkApiService,
  checkApplied,
  checkConversion,
  checkDuration,
  checkExpectation,
  checkHandler,
  checkIdentity,
  checkNamespace,
  checkNode,
  checkStartOptions,
  checkWebhook,
} from '../../library/options.ts'

/** The lines of the OptionError that `check` throws. */
function faultsOf(check: () => unknown): readonly string[] {
  try {
    check()
  } catch (error) {
    if (error instanceof OptionError) return error.faults
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('startCluster', () => {
  it('takes every option, and gives durations in milliseconds', () => {
    const { signal } = new AbortController()
    const startAt = new Date(0)
    expect(
      checkStartOptions({
        form: 'embedded',
        nodes: [
          { name: 'a', labels: { zone: 'x' }, taints: ['k=v:NoExecute', 'k:NoSchedule'] },
          { name: 'b.c', capacity: { cpu: '4', memory: '8Gi' } },
        ],
        manifests: ['config'],
        objects: [{ kind: 'ConfigMap', metadata: { name: 'x' } }],
        components: ['controller-manager'],
        flags: { 'api-server': { v: '2' } },
        port: 0,
        seed: 7,
        startAt,
        from: 'saved.skiff',
        within: '6m',
        signal,
      }),
    ).toMatchObject({ within: 360_000, startAt, signal, seed: 7 })
  })

  it('takes no options, and options that are undefined', () => {
    expect(checkStartOptions()).toEqual({})
    expect(checkStartOptions({ nodes: undefined, form: undefined })).toEqual({})
  })

  it.each([
    [{ nodes: 'two' }, 'nodes must be a whole number from 0 to 100 or a list of nodes, not "two"'],
    [{ nodes: {} }, 'nodes must be a whole number from 0 to 100 or a list of nodes, not a mapping'],
    [{ nodes: 101 }, 'nodes must be a whole number from 0 to 100, not 101'],
    [{ nodes: 1.5 }, 'nodes must be a whole number from 0 to 100, not 1.5'],
    [
      { nodes: [{ name: 'A' }] },
      'nodes[0].name must be a name of lower case letters, digits, dashes and dots, not "A"',
    ],
    [
      { nodes: [{ name: 'a', taint: [] }] },
      'nodes[0].taint is not an option; did you mean taints?',
    ],
    [
      { nodes: [{ name: 'a', taints: ['x'] }] },
      'nodes[0].taints[0] must be a taint such as dedicated=db:NoSchedule, not "x"',
    ],
    [
      { nodes: [{ name: 'a', capacity: { cpu: '-1' } }] },
      'nodes[0].capacity.cpu must be a quantity such as 4, 500m or 8Gi, not "-1"',
    ],
    [{ nodes: [{ name: 'a' }, { name: 'a' }] }, 'nodes[1].name is the name of two nodes: a'],
    [
      { nodes: Array.from({ length: 101 }, (_, index) => ({ name: `n${index}` })) },
      'nodes[100] is one too many: 100 at most',
    ],
    [{ nodez: 1 }, 'nodez is not an option; did you mean nodes?'],
    [{ form: 'docker' }, 'form must be one of embedded, processes, not "docker"'],
    [{ manifests: 'config' }, 'manifests must be a list of files and folders, not "config"'],
    [{ manifests: [''] }, 'manifests[0] must be a string that is not empty, not ""'],
    [{ objects: [{}] }, 'objects[0].kind must be a string that is not empty, not nothing'],
    [
      { components: ['kubelet'] },
      'components[0] must be one of controller-manager, scheduler, not "kubelet"',
    ],
    [{ flags: { 'api-server': { v: 2 } } }, 'flags.api-server.v must be a string, not 2'],
    [
      { flags: { 'api-server': { '--v': '2' } } },
      'flags.api-server.--v cannot be a name in an object of flags without dashes, such as v or audit-log-path',
    ],
    [{ port: 70_000 }, 'port must be a whole number from 0 to 65535, not 70000'],
    [{ startAt: '2025-01-01' }, 'startAt must be a Date between 1970 and 9000, not "2025-01-01"'],
    [
      { startAt: new Date(Number.NaN) },
      'startAt must be a Date between 1970 and 9000, not a mapping',
    ],
    [
      { startAt: new Date('+010000-01-01') },
      'startAt must be a Date between 1970 and 9000, not a mapping',
    ],
    [
      { within: 'soon' },
      'within must be a duration such as 250ms, 10s, 6m, 1h or 7d, or a number of milliseconds, not "soon"',
    ],
    [{ signal: {} }, 'signal must be an AbortSignal, not a mapping'],
    [{ from: () => 'x' }, 'from must be a string that is not empty, not a function'],
    [
      { form: 'processes', seed: 1 },
      'seed is an option of embedded clusters only: leave it out, or leave out form',
    ],
    [
      { nodes: 1, components: ['scheduler'] },
      'nodes must be 0 without the controller manager: name it in components',
    ],
  ])('refuses %j', (options, message) => {
    expect(faultsOf(() => checkStartOptions(options))).toEqual([`startCluster: ${message}`])
  })

  it('refuses what is no object, and names all invalid options at once', () => {
    expect(faultsOf(() => checkStartOptions('x'))[0]).toMatch(
      /^startCluster: must be an object with form, nodes, .*, not "x"$/,
    )
    expect(faultsOf(() => checkStartOptions({ nodes: 'two', port: 'x' }))).toHaveLength(2)
  })

  it('reads options that an object inherits', () => {
    expect(checkStartOptions(Object.create({ nodes: 2 }))).toEqual({ nodes: 2 })
    expect(faultsOf(() => checkStartOptions(Object.create({ port: 'x' })))).toHaveLength(1)
  })

  it('takes dates and signals of another realm, as test runners make them', () => {
    const startAt: unknown = runInNewContext('new Date(0)')
    expect(startAt).not.toBeInstanceOf(Date)
    expect(checkStartOptions({ startAt })).toEqual({ startAt })
  })
})

describe('expect', () => {
  it('takes every option', () => {
    const expectation = {
      kind: 'Pod',
      apiVersion: 'v1',
      name: 'web',
      namespace: '*',
      labelSelector: 'app=web',
      fieldSelector: 'spec.nodeName=a',
      where: ['status.phase == Running'],
      match: { spec: {} },
      count: { atLeast: 1 },
      absent: false,
    }
    const within = { within: '1m', stays: 5 }
    expect(checkExpectation({ ...expectation, ...within })).toEqual({
      ...expectation,
      within: 60_000,
      stays: 5,
    })
  })

  it.each([
    [{}, 'kind is missing: it must be a string that is not empty'],
    [
      { kind: 'Pod', where: 'status.phase' },
      'where cannot be read: "status.phase" is not of the form: PATH OPERATOR VALUE (==, !=, >=, <=, >, <, contains, matches, exists, absent)',
    ],
    [
      { kind: 'Pod', where: ['a == b', 5] },
      'where[1] must be a condition such as status.phase == Running, not 5',
    ],
    [{ kind: 'Pod', count: -1 }, 'count must be a whole number from 0 to 1000000, not -1'],
    [{ kind: 'Pod', count: {} }, 'count must have atLeast or atMost'],
    [{ kind: 'Pod', count: { atLeast: 2, atMost: 1 } }, 'count must not have atLeast above atMost'],
    [{ kind: 'Pod', count: 1, absent: true }, 'count cannot be combined with absent'],
    [{ kind: 'Pod', match: 'x' }, 'match must be an object, not "x"'],
    [
      { kind: 'Pod', timeout: '1s' },
      expect.stringContaining('timeout is not an option; known are'),
    ],
  ])('refuses %j', (expectation, message) => {
    const faults = faultsOf(() => checkExpectation(expectation))
    expect(faults.map((fault) => fault.slice('expect: '.length))).toEqual([message])
  })
})

describe('other functions', () => {
  it('clients take identities', () => {
    for (const identity of ['admin', 'anonymous', { user: 'a', groups: ['b'] }, { token: 't' }])
      expect(checkIdentity('client', identity)).toEqual(identity)
    expect(faultsOf(() => checkIdentity('client', 'root'))).toEqual([
      'client: identity must be admin, anonymous or an object with user and groups, or with token, not "root"',
    ])
    expect(faultsOf(() => checkIdentity('client', { user: 'a', token: 'b' }))).toEqual([
      'client: identity.token cannot be combined with user or groups',
    ])
    expect(faultsOf(() => checkIdentity('client', { groups: [] }))).toEqual([
      'client: identity.user is missing: it must be a name',
    ])
  })

  it('nodes, namespaces and durations', () => {
    expect(checkNode('addNode', { name: 'n' })).toEqual({ name: 'n' })
    expect(faultsOf(() => checkNode('addNode', {}))[0]).toMatch(/^addNode: name is missing/)
    expect(checkNamespace('story', undefined)).toEqual({})
    expect(faultsOf(() => checkNamespace('story', { ns: 'x' }))[0]).toMatch(/^story: ns is not/)
    expect(checkDuration('advance', '6m')).toBe(360_000)
    expect(faultsOf(() => checkDuration('advance', '-6m'))[0]).toMatch(/^advance: must be a dura/)
  })

  it('apply takes files and objects', () => {
    expect(checkApplied(['a.yaml', { kind: 'Pod' }])).toHaveLength(2)
    expect(faultsOf(() => checkApplied(['a', 5, { metadata: [] }]))).toEqual([
      'apply: [1] must be a string that is not empty or an object, not 5',
      'apply: [2].kind must be a string that is not empty, not nothing',
      'apply: [2].metadata must be an object, not a list',
    ])
  })

  it('webhooks', () => {
    const rule = {
      apiGroups: [''],
      apiVersions: ['v1'],
      resources: ['pods'],
      operations: ['CREATE'],
    }
    const webhook = { name: 'pods.example.com', kind: 'mutating', rules: [rule] }
    expect(checkWebhook(webhook)).toEqual(webhook)
    expect(
      faultsOf(() =>
        checkWebhook({
          ...webhook,
          name: 'x',
          timeoutSeconds: 31,
          rules: [{ ...rule, operations: ['READ'] }],
        }),
      ),
    ).toEqual([
      'webhook: name must be a name with at least three parts, such as pods.example.com, not "x"',
      'webhook: rules[0].operations[0] must be one of CREATE, UPDATE, DELETE, CONNECT, *, not "READ"',
      'webhook: timeoutSeconds must be a whole number from 1 to 30, not 31',
    ])
  })
})

describe('conversion', () => {
  it('takes every option', () => {
    const options = { crd: 'websites.example.com', versions: ['v1', 'v1beta1'] }
    expect(checkConversion(options)).toEqual(options)
    expect(checkConversion({ crd: 'a.b' })).toEqual({ crd: 'a.b' })
  })

  const name = 'the name of a CustomResourceDefinition such as websites.example.com'
  it.each([
    [{}, `crd is missing: it must be ${name}`],
    [{ crd: 'websites' }, `crd must be ${name}, not "websites"`],
    [{ crd: 'Websites.example.com' }, `crd must be ${name}, not "Websites.example.com"`],
    [{ crd: 'a.b', versions: [] }, 'versions must be a list of versions, one at least, not empty'],
    [{ crd: 'a.b', versions: 'v1' }, 'versions must be a list of versions, not "v1"'],
    [{ crd: 'a.b', versions: ['v2'] }, 'versions[0] must be one of v1, v1beta1, not "v2"'],
    [{ crd: 'a.b', version: ['v1'] }, 'version is not an option; did you mean versions?'],
  ])('refuses %j', (options, message) => {
    expect(faultsOf(() => checkConversion(options))).toEqual([`conversion: ${message}`])
  })
})

describe('apiService', () => {
  const resource = { name: 'flavors', kind: 'Flavor', namespaced: true, verbs: ['get'] }
  const options = { group: 'flavors.example.com', version: 'v1beta1' }

  it('takes every option', () => {
    const all = {
      ...options,
      resources: [
        { ...resource, singularName: 'flavor', shortNames: ['fl'], categories: ['all'] },
        { ...resource, name: 'flavors/status' },
      ],
      groupPriorityMinimum: 20_000,
      versionPriority: 1000,
    }
    expect(checkApiService(all)).toEqual(all)
    expect(checkApiService(options)).toEqual(options)
  })

  it.each([
    [{ group: 'a_b' }, 'group must be a group such as flavors.example.com, not "a_b"'],
    [{ version: '1' }, 'version must be a version such as v1, not "1"'],
    [{ version: 'v1/flavors' }, 'version must be a version such as v1, not "v1/flavors"'],
    [{ resources: [] }, 'resources must be a list of resources, one at least, not empty'],
    [
      { resources: [{ ...resource, name: 'Flavors' }] },
      'resources[0].name must be a plural such as flavors, or a subresource such as flavors/status, not "Flavors"',
    ],
    [
      { resources: [{ ...resource, kind: 'my flavor' }] },
      'resources[0].kind must be a kind such as Flavor, not "my flavor"',
    ],
    [
      { resources: [{ ...resource, namespaced: undefined }] },
      'resources[0].namespaced is missing: it must be true or false',
    ],
    [
      { resources: [{ ...resource, verbs: [] }] },
      'resources[0].verbs must be a list of verbs, one at least, not empty',
    ],
    [
      { groupPriorityMinimum: 0 },
      'groupPriorityMinimum must be a whole number from 1 to 20000, not 0',
    ],
    [{ versionPriority: 1001 }, 'versionPriority must be a whole number from 1 to 1000, not 1001'],
    [{ versoin: 'v1' }, 'versoin is not an option; did you mean version?'],
  ])('refuses %j', (more, message) => {
    const [fault] = faultsOf(() => checkApiService({ ...options, ...more }))
    expect(fault).toBe(`apiService: ${message}`)
  })
})

it('a handler is a function', () => {
  const handler = (): void => {}
  expect(checkHandler('webhook', handler)).toBe(handler)
  expect(faultsOf(() => checkHandler('webhook', undefined))).toEqual([
    'webhook: handler is missing: it must be a function',
  ])
  expect(faultsOf(() => checkHandler('apiService', {}))).toEqual([
    'apiService: handler must be a function, not a mapping',
  ])
})
