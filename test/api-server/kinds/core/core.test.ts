import type { KubeObject } from '../../../../components/machinery/objects/object.ts'
import { describe, expect, test } from 'vitest'
import { dialects } from '../../../../components/api/dialect.ts'
import { strategyRuns } from '../../../support/strategy-runs.ts'

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

describe('a Secret', () => {
  const secrets = strategyRuns('secrets')

  test('is opaque, and takes texts as data', () => {
    const created = secrets.created({
      data: { a: 'AA==', b: 'AA==' },
      stringData: { b: 'x', c: '' },
    })
    expect(created).toMatchObject({ type: 'Opaque', data: { a: 'AA==', b: base64('x'), c: '' } })
    expect(created).not.toHaveProperty('stringData')
    expect(secrets.created({ stringData: {} })).not.toHaveProperty('data')
  })

  test('takes any name for a type and for a key', () => {
    const stringData = JSON.parse('{"__proto__":"x","constructor":"y"}') as object
    const data = JSON.stringify(secrets.created({ stringData })['data'])
    expect(data).toBe(`{"__proto__":"${base64('x')}","constructor":"${base64('y')}"}`)
    expect(secrets.createFaults({ type: 'kubernetes.io/__proto__', stringData })).toEqual([])
  })

  test.each<[string, object, string[]]>([
    [
      'with a key that is no file name',
      { data: { 'a/b': '' } },
      [
        expect.stringContaining(
          'data[a/b]: Invalid value: "a/b": a valid config key must consist of',
        ) as unknown as string,
      ],
    ],
    [
      'of an account without its name',
      { type: 'kubernetes.io/service-account-token' },
      ['metadata.annotations[kubernetes.io/service-account.name]: Required value'],
    ],
    [
      'of docker without its config',
      { type: 'kubernetes.io/dockerconfigjson' },
      ['data[.dockerconfigjson]: Required value'],
    ],
    [
      'of docker with something else',
      { type: 'kubernetes.io/dockercfg', stringData: { '.dockercfg': '[]' } },
      [
        'data[.dockercfg]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}',
      ],
    ],
    [
      'of basic auth with neither',
      { type: 'kubernetes.io/basic-auth' },
      ['data[username]: Required value', 'data[password]: Required value'],
    ],
    [
      'of ssh without a key',
      { type: 'kubernetes.io/ssh-auth' },
      ['data[ssh-privatekey]: Required value'],
    ],
    [
      'of TLS without a key',
      { type: 'kubernetes.io/tls', data: { 'tls.crt': '' } },
      ['data[tls.key]: Required value'],
    ],
    [
      'above a mebibyte',
      { stringData: { a: 'x'.repeat(1024 * 1024 + 1) } },
      ['data: Too long: may not be more than 1048576 bytes'],
    ],
    ['of just a mebibyte', { stringData: { a: 'x'.repeat(1024 * 1024) } }, []],
    ['of a type of somebody else', { type: 'example.com/x' }, []],
    [
      'of docker',
      { type: 'kubernetes.io/dockerconfigjson', stringData: { '.dockerconfigjson': '{}' } },
      [],
    ],
  ])('%s', (_, secret, faults) => {
    expect(secrets.createFaults(secret)).toEqual(faults)
  })

  test('keeps its type', () => {
    const old = secrets.created({})
    expect(secrets.updateFaults(old, { type: 'example.com/x' })).toEqual([
      'type: Invalid value: "example.com/x": field is immutable',
    ])
  })

  test('that is immutable stays so', () => {
    const old = secrets.created({ immutable: true, stringData: { a: 'x' } })
    const why = 'Forbidden: field is immutable when `immutable` is set'
    expect(secrets.updateFaults(old, { immutable: true, stringData: { a: 'x' } })).toEqual([])
    expect(secrets.updateFaults(old, { stringData: { a: 'y' } })).toEqual([
      `immutable: ${why}`,
      `data: ${why}`,
    ])
  })

  test('has its types in the product’s own domain', () => {
    const own = strategyRuns('secrets', { dialect: dialects.svc })
    expect(own.createFaults({ type: 'svc.io/ssh-auth' })).toEqual([
      'data[ssh-privatekey]: Required value',
    ])
    expect(own.createFaults({ type: 'kubernetes.io/ssh-auth' })).toEqual([])
  })
})

describe('a ConfigMap', () => {
  const configMaps = strategyRuns('configMaps')

  test.each<[string, object, string[]]>([
    [
      'with a key in both parts',
      { data: { a: 'x' }, binaryData: { a: 'AA==' } },
      [
        'data[a]: Invalid value: "a": duplicate of key present in binaryData',
        'binaryData[a]: Invalid value: "a": duplicate of key present in data',
      ],
    ],
    [
      'with a key that climbs',
      { data: { '..a': 'x' } },
      ['data[..a]: Invalid value: "..a": must not start with \'..\''],
    ],
    [
      'above a mebibyte of both parts',
      { data: { a: 'x'.repeat(1024 * 1024) }, binaryData: { b: 'AA==' } },
      ['[]: Too long: may not be more than 1048576 bytes'],
    ],
    [
      'of just a mebibyte',
      { data: { a: 'x'.repeat(1024 * 1024 - 1) }, binaryData: { b: 'AA==' } },
      [],
    ],
  ])('%s', (_, map, faults) => {
    expect(configMaps.createFaults(map)).toEqual(faults)
  })

  test('that is immutable stays so', () => {
    const old = configMaps.created({ immutable: true, data: { a: 'x' } })
    const why = 'Forbidden: field is immutable when `immutable` is set'
    expect(configMaps.updateFaults(old, { immutable: true, data: { a: 'x' } })).toEqual([])
    expect(configMaps.updateFaults(old, { data: { a: 'y' }, binaryData: { b: 'AA==' } })).toEqual([
      `immutable: ${why}`,
      `data: ${why}`,
      `binaryData: ${why}`,
    ])
  })
})

describe('a Namespace', () => {
  const namespaces = strategyRuns('namespaces')
  const old = namespaces.created({})

  test('starts active, with finalizer and label', () => {
    expect(old).toMatchObject({
      metadata: { labels: { 'kubernetes.io/metadata.name': 'x' } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    })
  })

  test('has them in the product’s own names', () => {
    expect(strategyRuns('namespaces', { dialect: dialects.svc }).created({})).toMatchObject({
      metadata: { labels: { 'svc.io/metadata.name': 'x' } },
      spec: { finalizers: ['svc'] },
    })
  })

  test('is named by a label', () => {
    expect(namespaces.createFaults({ metadata: { name: 'a.b' } })).toEqual([
      'metadata.name: Invalid value: "a.b": must not contain dots',
    ])
  })

  test('loses its finalizer by the finalize sub-resource alone', () => {
    expect(namespaces.updated(old, { spec: { finalizers: [] } })['spec']).toEqual({
      finalizers: ['kubernetes'],
    })
    expect(namespaces.updated(old, {}, 'finalize')['spec'] ?? {}).toEqual({})
    expect(namespaces.updateFaults(old, { spec: { finalizers: ['x'] } }, 'finalize')).toEqual([
      'spec.finalizers: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified',
    ])
  })

  test('is terminating only while it is deleted', () => {
    const status = { phase: 'Terminating' }
    expect(namespaces.updateFaults(old, { status }, 'status')).toEqual([
      'status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty',
    ])
    const terminating = {
      ...old,
      metadata: { ...old.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    }
    expect(namespaces.updateFaults(terminating, { status }, 'status')).toEqual([])
  })
})

describe('a Node', () => {
  const nodes = strategyRuns('nodes')

  test('keeps the status it comes with, and can give out all it has', () => {
    const created = nodes.created({ status: { capacity: { cpu: '4' } } })
    expect(created['status']).toMatchObject({ capacity: { cpu: '4' }, allocatable: { cpu: '4' } })
  })

  test.each<[string, object, string[]]>([
    [
      'with a taint twice',
      {
        spec: {
          taints: [
            { key: 'a', effect: 'NoSchedule' },
            { key: 'a', effect: 'NoSchedule' },
          ],
        },
      },
      [
        'spec.taints[1]: Duplicate value: core.Taint{Key:"a", Value:"", Effect:"NoSchedule", TimeAdded:<nil>}: taints must be unique by key and effect pair',
      ],
    ],
    [
      'with an effect there is not',
      { spec: { taints: [{ key: 'a', effect: 'Sometimes' }, { key: 'b' }] } },
      [
        'spec.taints[0].effect: Unsupported value: "Sometimes": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
        'spec.taints[1].effect: Required value',
      ],
    ],
    [
      'with a range that is none',
      { spec: { podCIDR: '10.0.0.0' } },
      [
        'spec.podCIDRs[0]: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
      ],
    ],
    [
      'with two ranges of one family',
      { spec: { podCIDRs: ['10.0.0.0/24', '10.0.1.0/24'] } },
      [
        'spec.podCIDRs: Invalid value: []string{"10.0.0.0/24", "10.0.1.0/24"}: may specify no more than one CIDR for each IP family',
      ],
    ],
    [
      'with fewer Pods than none',
      { status: { capacity: { pods: '-1' } } },
      [
        'status.capacity[pods]: Invalid value: "-1": must be greater than or equal to 0',
        'status.allocatable[pods]: Invalid value: "-1": must be greater than or equal to 0',
      ],
    ],
  ])('%s', (_, node, faults) => {
    expect(nodes.createFaults(node)).toEqual(faults)
  })

  test('may be cordoned and tainted', () => {
    const old = nodes.created({ spec: { podCIDR: '10.0.0.0/24' } })
    expect(old['spec']).toEqual({ podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24'] })
    const spec = {
      ...(old['spec'] as object),
      unschedulable: true,
      taints: [{ key: 'a', effect: 'NoExecute' }],
    }
    expect(nodes.updateFaults(old, { spec })).toEqual([])
  })

  test('keeps its ranges and its identity with the provider', () => {
    const old = nodes.created({ spec: { podCIDR: '10.0.0.0/24', providerID: 'a' } })
    expect(nodes.updateFaults(old, { spec: { podCIDR: '10.0.1.0/24', providerID: 'b' } })).toEqual([
      'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
      'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
    ])
    expect(nodes.updateFaults(nodes.created({}), { spec: { podCIDR: '10.0.1.0/24' } })).toEqual([])
  })

  test('has its status changed by the sub-resource alone', () => {
    const old = nodes.created({ spec: { podCIDR: '10.0.0.0/24' } })
    const now = nodes.updated(
      old,
      { status: { addresses: [{ type: 'Hostname', address: 'x' }] } },
      'status',
    )
    expect(now).toMatchObject({ spec: old['spec'], status: { addresses: [{ address: 'x' }] } })
  })
})

const capacity = { storage: '1Gi' }
const accessModes = ['ReadWriteOnce']

describe('a PersistentVolume', () => {
  const volumes = strategyRuns('persistentVolumes')
  const spec = { capacity, accessModes, hostPath: { path: '/x' } }

  test('has defaults', () => {
    expect(volumes.created({ spec })).toMatchObject({
      spec: {
        persistentVolumeReclaimPolicy: 'Retain',
        volumeMode: 'Filesystem',
        hostPath: { type: '' },
      },
      status: { phase: 'Pending', lastPhaseTransitionTime: '2026-01-02T03:04:05Z' },
    })
    expect(volumes.createFaults({ spec })).toEqual([])
  })

  test.each<[string, object, string[]]>([
    [
      'with nothing',
      {},
      [
        'spec.accessModes: Required value',
        'spec.capacity: Required value',
        'spec.capacity: Unsupported value: core.ResourceList(nil): supported values: "storage"',
        'spec: Required value: must specify a volume type',
      ],
    ],
    [
      'with two sources',
      { ...spec, nfs: { server: 's', path: '/x' } },
      ['spec.nfs: Forbidden: may not specify more than 1 volume type'],
    ],
    [
      'of no size',
      { ...spec, capacity: { storage: '0' } },
      ['spec.capacity[storage]: Invalid value: "0": must be greater than zero'],
    ],
    [
      'on the whole disk, recycled',
      { ...spec, hostPath: { path: '/' }, persistentVolumeReclaimPolicy: 'Recycle' },
      [
        "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
      ],
    ],
    [
      'local to no node',
      { capacity, accessModes, local: { path: '/x' } },
      ['spec.nodeAffinity: Required value: Local volume requires node affinity'],
    ],
    [
      'of a driver without a handle',
      { capacity, accessModes, csi: { driver: 'd' } },
      ['spec.csi.volumeHandle: Required value'],
    ],
  ])('%s', (_, faulty, faults) => {
    expect(volumes.createFaults({ spec: faulty })).toEqual(faults)
  })

  test('stays what it is', () => {
    const old = volumes.created({ spec })
    const faults = volumes.updateFaults(old, { spec: { ...spec, hostPath: { path: '/y' } } })
    expect(faults).toHaveLength(1)
    expect(faults[0]).toContain(
      'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation',
    )
    expect(volumes.updateFaults(old, { spec: { ...spec, capacity: { storage: '2Gi' } } })).toEqual(
      [],
    )
  })
})

describe('a PersistentVolumeClaim', () => {
  const claims = strategyRuns('persistentVolumeClaims')
  const spec = { accessModes, resources: { requests: { storage: '2Gi' } } }

  test('has defaults', () => {
    expect(claims.created({ spec })).toMatchObject({
      spec: { volumeMode: 'Filesystem' },
      status: { phase: 'Pending' },
    })
    expect(claims.createFaults({ spec })).toEqual([])
  })

  test('names its source in the old and the new way', () => {
    const source = { kind: 'PersistentVolumeClaim', name: 'y' }
    expect(claims.created({ spec: { ...spec, dataSource: source } })['spec']).toMatchObject({
      dataSourceRef: source,
    })
    expect(claims.created({ spec: { ...spec, dataSourceRef: source } })['spec']).toMatchObject({
      dataSource: source,
    })
  })

  test('warns of half a byte', () => {
    const resources = { requests: { storage: '500m' } }
    expect(claims.warnings({ spec: { ...spec, resources } })).toContain(
      'spec.resources.requests[storage]: fractional byte value "500m" is invalid, must be an integer',
    )
  })

  test('leaves out sources of other namespaces and of other kinds, unless it has one already', () => {
    const sourcesOf = (object: KubeObject): unknown => {
      const { dataSource, dataSourceRef } = object['spec'] as Record<string, unknown>
      return { dataSource, dataSourceRef }
    }
    const source = { kind: 'PersistentVolumeClaim', name: 'y' }
    const none = { dataSource: undefined, dataSourceRef: undefined }
    const elsewhere = { ...source, namespace: 'other' }
    const populator = { apiGroup: 'example.com', kind: 'Data', name: 'd' }
    for (const given of [{ dataSourceRef: elsewhere }, { dataSource: populator }]) {
      expect(sourcesOf(claims.created({ spec: { ...spec, ...given } }))).toEqual(none)
      const old = claims.created({ spec })
      expect(sourcesOf(claims.updated(old, { spec: { ...spec, ...given } }))).toEqual(none)
    }
    const old = claims.created({ spec: { ...spec, dataSourceRef: populator } })
    const update = { spec: { ...spec, dataSource: populator } }
    const both = { dataSource: populator, dataSourceRef: populator }
    expect(sourcesOf(claims.updated(old, update))).toEqual(both)
  })

  test.each<[string, object, string[]]>([
    [
      'with nothing',
      {},
      [
        'spec.accessModes: Required value: at least 1 access mode is required',
        'spec.resources[storage]: Required value',
      ],
    ],
    [
      'for one Pod and for others',
      { ...spec, accessModes: ['ReadWriteOncePod', 'ReadWriteMany'] },
      ['spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes'],
    ],
    [
      'of no size',
      { accessModes, resources: { requests: { storage: '0' } } },
      ['spec.resources[storage]: Invalid value: "0": must be greater than zero'],
    ],
  ])('%s', (_, faulty, faults) => {
    expect(claims.createFaults({ spec: faulty })).toEqual(faults)
  })

  test('grows only while it is bound', () => {
    const old = claims.created({ spec })
    const more = { accessModes, resources: { requests: { storage: '3Gi' } } }
    expect(claims.updateFaults(old, { spec: more })[0]).toContain(
      'spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims',
    )
    const bound = { ...old, status: { phase: 'Bound', capacity: { storage: '2Gi' } } }
    expect(claims.updateFaults(bound, { spec: more })).toEqual([])
    const less = { accessModes, resources: { requests: { storage: '1Gi' } } }
    expect(claims.updateFaults(bound, { spec: less })).toEqual([
      'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
    ])
  })

  test('gets its volume and its class once', () => {
    const old = claims.created({ spec })
    const filled = { ...spec, volumeName: 'v', storageClassName: 'c' }
    expect(claims.updateFaults(old, { spec: filled })).toEqual([])
    const full = claims.created({ spec: filled })
    expect(claims.updateFaults(full, { spec: { ...filled, volumeName: 'w' } })).toHaveLength(1)
    expect(claims.updateFaults(full, { spec: { ...filled, storageClassName: 'd' } })).toHaveLength(
      1,
    )
  })
})

test.each<[string, object[], string[]]>([
  ['nothing', [], []],
  [
    'no address',
    [{ ports: [{ port: 80 }] }],
    ['subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`'],
  ],
  [
    'an address of the host itself',
    [{ addresses: [{ ip: '127.0.0.1' }] }],
    [
      'subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
  ],
  [
    'two ports without names',
    [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 1 }, { port: 2 }] }],
    ['subsets[0].ports[0].name: Required value', 'subsets[0].ports[1].name: Required value'],
  ],
])('Endpoints with %s', (_, subsets, faults) => {
  expect(strategyRuns('endpoints').createFaults({ subsets })).toEqual(faults)
})

describe('a ResourceQuota', () => {
  const quotas = strategyRuns('resourceQuotas')
  test.each<[string, object, string[]]>([
    [
      'that limits the usual',
      { hard: { pods: '10', 'requests.cpu': '4', 'count/jobs.batch': '5' } },
      [],
    ],
    [
      'of a scope that is there or not',
      {
        hard: { pods: '1' },
        scopeSelector: {
          matchExpressions: [{ scopeName: 'BestEffort', operator: 'DoesNotExist' }],
        },
      },
      [
        'spec.scopeSelector.matchExpressions.operator: Invalid value: "DoesNotExist": must be \'Exists\' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity',
      ],
    ],
    [
      'for what there is not',
      { hard: { color: '1' } },
      [
        'spec.hard[color]: Invalid value: color: must be a standard resource type or fully qualified',
        'spec.hard[color]: Invalid value: color: must be a standard resource for quota',
      ],
    ],
    [
      'of half a Pod',
      { hard: { pods: '500m' } },
      ['spec.hard[pods]: Invalid value: "500m": must be an integer'],
    ],
    [
      'for opposites',
      { scopes: ['BestEffort', 'NotBestEffort'], hard: { pods: '1' } },
      [
        'spec.scopes: Invalid value: []core.ResourceQuotaScope{"BestEffort", "NotBestEffort"}: conflicting scopes',
      ],
    ],
    [
      'for the compute of those without',
      { scopes: ['BestEffort'], hard: { cpu: '1' } },
      [
        'spec.scopes: Invalid value: []core.ResourceQuotaScope{"BestEffort"}: unsupported scope applied to resource',
      ],
    ],
  ])('%s', (_, spec, faults) => {
    expect(quotas.createFaults({ spec })).toEqual(faults)
  })

  test('keeps its scopes', () => {
    const old = quotas.created({ spec: { scopes: ['BestEffort'] } })
    expect(quotas.updateFaults(old, { spec: { scopes: ['Terminating'] } })).toEqual([
      'spec.scopes: Invalid value: []core.ResourceQuotaScope{"Terminating"}: field is immutable',
    ])
  })
})

describe('a LimitRange', () => {
  const ranges = strategyRuns('limitRanges')

  test('fills its defaults from its bounds', () => {
    const limits = [{ type: 'Container', max: { cpu: '2' }, min: { memory: '1Mi' } }]
    expect(ranges.created({ spec: { limits } })['spec']).toEqual({
      limits: [
        {
          type: 'Container',
          max: { cpu: '2' },
          min: { memory: '1Mi' },
          default: { cpu: '2' },
          defaultRequest: { cpu: '2', memory: '1Mi' },
        },
      ],
    })
  })

  test.each<[string, object[], string[]]>([
    [
      'with bounds the wrong way round',
      [{ type: 'Pod', max: { cpu: '1' }, min: { cpu: '2' } }],
      ['spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'],
    ],
    [
      'with defaults for Pods',
      [{ type: 'Pod', default: { cpu: '1' } }],
      ["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"],
    ],
    [
      'with a type twice',
      [{ type: 'Pod' }, { type: 'Pod' }],
      ['spec.limits[1].type: Duplicate value: "Pod"'],
    ],
    [
      'with a type there is not',
      [{ type: 'Cat' }],
      [
        'spec.limits[0].type: Invalid value: "Cat": must be a standard limit type or fully qualified',
      ],
    ],
    [
      'for claims of any size',
      [{ type: 'PersistentVolumeClaim' }],
      [
        'spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided',
      ],
    ],
    [
      'with a ratio that its bounds forbid',
      [{ type: 'Pod', min: { cpu: '1' }, max: { cpu: '2' }, maxLimitRequestRatio: { cpu: '3' } }],
      [
        'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000',
      ],
    ],
  ])('%s', (_, limits, faults) => {
    expect(ranges.createFaults({ spec: { limits } })).toEqual(faults)
  })
})

test('of the Secrets a ServiceAccount names only the names count', () => {
  const created = strategyRuns('serviceAccounts').created({
    secrets: [{ name: 's', namespace: 'other', uid: 'u' }],
  })
  expect(created['secrets']).toEqual([{ name: 's' }])
})

describe('amounts of resources', () => {
  const fine = { cpu: '0.0001', memory: '1500u', storage: '1e-4', 'ephemeral-storage': '100m' }
  const coarse = { cpu: '1m', memory: '2m', storage: '1e-3', 'ephemeral-storage': '100m' }
  const container = { name: 'c', image: 'i', resources: { limits: fine } }
  const max = (amounts: object) => ({ type: 'Pod', max: amounts, min: amounts })

  test.each([
    [
      'pods',
      { spec: { containers: [container], overhead: fine } },
      { spec: { containers: [{ resources: { limits: coarse, requests: coarse } }] } },
    ],
    ['pods', { spec: { containers: [container], overhead: fine } }, { spec: { overhead: coarse } }],
    ['limitRanges', { spec: { limits: [max(fine)] } }, { spec: { limits: [max(coarse)] } }],
    ['resourceQuotas', { spec: { hard: fine } }, { spec: { hard: coarse } }],
    ['nodes', { status: { capacity: fine } }, { status: { allocatable: coarse } }],
    ['persistentVolumes', { spec: { capacity: fine } }, { spec: { capacity: coarse } }],
    [
      'persistentVolumeClaims',
      { spec: { resources: { requests: fine } } },
      { spec: { resources: { requests: coarse } } },
    ],
    [
      'runtimeClasses',
      { handler: 'h', overhead: { podFixed: fine } },
      { overhead: { podFixed: coarse } },
    ],
  ] as const)('of %s are rounded up to thousandths', (kind, object, wanted) => {
    expect(strategyRuns(kind).created(object)).toMatchObject(wanted)
  })
})
