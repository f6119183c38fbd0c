import { describe, expect, test } from 'vitest'
import { dialects } from '../../../../components/api/dialect.ts'
import type { Service } from '../../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../../components/api/resources.ts'
import type { AllocationRequest } from '../../../../components/api-server/kinds/core/reservations.ts'
import { createServiceAllocator } from '../../../../components/api-server/kinds/core/service-allocator.ts'
import { createMetrics, type Metrics } from '../../../../components/component-base/metrics.ts'
import type { KubeObject } from '../../../../components/machinery/objects/object.ts'
import { isStatusError } from '../../../../components/machinery/objects/status-error.ts'
import { FakeReader } from '../../../support/fake-reader.ts'
import { strategyRuns } from '../../../support/strategy-runs.ts'

const { services } = resourcesOf(dialects.kubernetes)
const ports = [{ port: 80 }]
const selector = { app: 'x' }

function cluster(
  options: { clusterIpRange?: string; nodePortRange?: string; metrics?: Metrics } = {},
) {
  const reader = new FakeReader()
  const serviceAllocator = createServiceAllocator({ reader, services, ...options })
  const runs = strategyRuns('services', { serviceAllocator })
  return {
    runs,
    create: (name: string, spec: object) =>
      reader.put(services, runs.created({ metadata: { name }, spec })) as Service,
    remove: (name: string) => reader.remove(services, 'ns', name),
    update: (old: Service, spec: object) => runs.updated(old as KubeObject, { spec }) as Service,
    faults: (old: Service, spec: object) => runs.updateFaults(old as KubeObject, { spec }),
  }
}

/** The causes of a 422 thrown while values are given out. */
function refusal(run: () => unknown): string[] {
  try {
    run()
  } catch (error) {
    if (!isStatusError(error, 'Invalid')) throw error
    return (error.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`)
  }
  return []
}

describe('defaults', () => {
  test('of the least a Service can be', () => {
    const { create } = cluster()
    const { spec, status } = create('x', { selector, ports })
    expect(spec).toMatchObject({
      type: 'ClusterIP',
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
    })
    expect(spec?.clusterIP).toMatch(/^10\.96\.\d+\.\d+$/)
    expect(spec?.clusterIPs).toEqual([spec?.clusterIP])
    expect(status).toEqual({ loadBalancer: {} })
  })

  test('of a NodePort', () => {
    const { spec } = cluster().create('x', { type: 'NodePort', selector, ports })
    expect(spec?.externalTrafficPolicy).toBe('Cluster')
    expect(spec?.ports?.[0]?.nodePort).toBeGreaterThanOrEqual(30_000)
    expect(spec?.ports?.[0]?.nodePort).toBeLessThanOrEqual(32_767)
  })

  test('of a LoadBalancer that checks health on each node', () => {
    const { spec } = cluster().create('x', {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      selector,
      ports,
    })
    expect(spec).toMatchObject({ allocateLoadBalancerNodePorts: true })
    expect(spec?.healthCheckNodePort).toBeGreaterThanOrEqual(30_000)
    expect(spec?.healthCheckNodePort).not.toBe(spec?.ports?.[0]?.nodePort)
  })

  test('of sticky sessions', () => {
    const { spec } = cluster().create('x', { sessionAffinity: 'ClientIP', selector, ports })
    expect(spec?.sessionAffinityConfig).toEqual({ clientIP: { timeoutSeconds: 10_800 } })
  })

  test('of a headless Service without a selector leave both families open', () => {
    const { spec } = cluster().create('x', { clusterIP: 'None' })
    expect(spec).toMatchObject({
      clusterIPs: ['None'],
      ipFamilies: ['IPv4', 'IPv6'],
      ipFamilyPolicy: 'RequireDualStack',
    })
  })

  test('of another name for something outside', () => {
    const { spec } = cluster().create('x', { type: 'ExternalName', externalName: 'example.com' })
    expect(spec).toEqual({
      type: 'ExternalName',
      externalName: 'example.com',
      sessionAffinity: 'None',
    })
  })
})

test.each<[object]>([
  [{ selector, ports }],
  [{ type: 'NodePort', selector, ports }],
  [
    {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      ports,
      loadBalancerSourceRanges: ['10.0.0.0/8'],
    },
  ],
  [{ type: 'ExternalName', externalName: 'example.com.' }],
  [{ clusterIP: 'None', selector }],
  [
    {
      selector,
      ports: [{ name: 'a', port: 80, targetPort: 'http', appProtocol: 'example.com/x' }],
    },
  ],
])('a Service with %j passes', (spec) => {
  expect(cluster().runs.createFaults({ spec })).toEqual([])
})

describe('a new Service is refused', () => {
  const { runs } = cluster()
  test.each<[string, object, string[]]>([
    ['without ports', { selector }, ['spec.ports: Required value']],
    [
      'with unnamed ports',
      { ports: [{ port: 80 }, { name: 'b', port: 81 }] },
      ['spec.ports[0].name: Required value'],
    ],
    [
      'with a port twice',
      {
        ports: [
          { name: 'a', port: 80 },
          { name: 'b', port: 80 },
        ],
      },
      [
        'spec.ports[1]: Duplicate value: core.ServicePort{Name:"", Protocol:"TCP", AppProtocol:(*string)(nil), Port:80, TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}',
      ],
    ],
    [
      'with a port out of range',
      { ports: [{ port: 0, targetPort: 1 }] },
      ['spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive'],
    ],
    [
      'with a node port it cannot have',
      { ports: [{ port: 80, nodePort: 30_080 }] },
      ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    ],
    [
      'of a type there is not',
      { type: 'Magic', ports },
      [
        'spec.type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
      ],
    ],
    [
      'headless on every node',
      { type: 'NodePort', clusterIP: 'None', ports },
      [
        'spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for NodePort services',
      ],
    ],
    ['as a name of nothing', { type: 'ExternalName' }, ['spec.externalName: Required value']],
    [
      'with an outside address that is the host’s own',
      { ports, externalIPs: ['127.0.0.1'] },
      [
        'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
      ],
    ],
    [
      'with rules for a balancer it has not',
      { ports, loadBalancerSourceRanges: ['10.0.0.0/8'], loadBalancerClass: 'example.com/x' },
      [
        "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
        "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
      ],
    ],
    [
      'with a policy for traffic from outside that cannot come',
      { ports, externalTrafficPolicy: 'Local' },
      [
        'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
      ],
    ],
  ])('%s', (_, spec, faults) => {
    expect(runs.createFaults({ spec })).toEqual(faults)
  })

  test('with a name that starts with a digit', () => {
    expect(runs.createFaults({ metadata: { name: '1x' }, spec: { ports } }).join()).toContain(
      'metadata.name: Invalid value: "1x": a DNS-1035 label must consist of',
    )
  })
})

describe('addresses', () => {
  test('asked for are given once', () => {
    const { create, runs } = cluster()
    const spec = { ports, clusterIP: '10.96.0.50' }
    expect(create('x', spec).spec?.clusterIPs).toEqual(['10.96.0.50'])
    expect(refusal(() => runs.created({ metadata: { name: 'y' }, spec }))).toEqual([
      'spec.clusterIPs: Invalid value: []string{"10.96.0.50"}: failed to allocate IP 10.96.0.50: provided IP is already allocated',
    ])
  })

  test('must be in the range', () => {
    const spec = { ports, clusterIP: '10.97.0.1' }
    expect(refusal(() => cluster().runs.created({ spec }))).toEqual([
      'spec.clusterIPs: Invalid value: []string{"10.97.0.1"}: failed to allocate IP 10.97.0.1: the provided IP (10.97.0.1) is not in the valid range. The range of valid IPs is 10.96.0.0/16',
    ])
  })

  test('of another family are refused', () => {
    const spec = { ports, ipFamilies: ['IPv6'] }
    expect(refusal(() => cluster().runs.created({ spec }))).toEqual([
      'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ])
    const both = { ports, ipFamilyPolicy: 'RequireDualStack' }
    expect(refusal(() => cluster().runs.created({ spec: both }))).toEqual([
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    ])
  })

  test('are all different, and end when the range does', () => {
    const { create, runs, remove } = cluster({ clusterIpRange: '10.1.0.0/29' })
    const given = new Set<string | undefined>()
    for (let i = 0; i < 6; i += 1) given.add(create(`s${i}`, { ports }).spec?.clusterIP)
    expect([...given].toSorted()).toEqual([1, 2, 3, 4, 5, 6].map((n) => `10.1.0.${n}`))
    expect(() => runs.created({ metadata: { name: 'late' }, spec: { ports } })).toThrow(
      'failed to allocate a serviceIP: range is full',
    )
    remove('s3')
    expect(given).toContain(create('late', { ports }).spec?.clusterIP)
  })

  test('of a request that runs are taken until it ends; those of a dry run are not', () => {
    const reader = new FakeReader()
    const { addresses } = createServiceAllocator({ reader, services })
    const request = (name: string, dryRun = false): AllocationRequest => ({
      draft: { metadata: { namespace: 'ns', name } },
      dryRun,
      random: () => 0,
    })
    const [a, b, dry] = [request('a'), request('b'), request('c', true)]
    expect(addresses.take('10.96.0.9', a)).toBeUndefined()
    expect(addresses.take('10.96.0.9', a)).toBeUndefined()
    expect(addresses.take('10.96.0.9', b)).toBe('provided IP is already allocated')
    addresses.release(a.draft)
    expect(addresses.take('10.96.0.9', b)).toBeUndefined()
    addresses.release(a.draft)
    expect(addresses.take('10.96.0.9', a)).toBe('provided IP is already allocated')
    expect(addresses.take('10.96.0.8', dry)).toBeUndefined()
    expect(addresses.take('10.96.0.8', b)).toBeUndefined()
  })

  test('of a large range can all be asked for', () => {
    const { create } = cluster({ clusterIpRange: '10.96.0.0/12' })
    const spec = { ports, clusterIP: '10.111.255.9' }
    expect(create('x', spec).spec?.clusterIPs).toEqual(['10.111.255.9'])
  })

  // The examples of the documentation of Kubernetes: the first addresses are left to those who name theirs.
  test.each([
    ['10.96.0.0/20', '10.96.1.1'],
    ['10.96.0.0/24', '10.96.0.17'],
    ['10.96.0.0/28', '10.96.0.1'],
  ])('of %s are given from %s on', (clusterIpRange, first) => {
    const { addresses } = createServiceAllocator({
      reader: new FakeReader(),
      services,
      clusterIpRange,
    })
    const draft = { metadata: { name: 'x' } }
    expect(addresses.next({ draft, dryRun: false, random: () => 0 })).toBe(first)
  })

  test('never change, and come back when left out', () => {
    const { create, update, faults } = cluster()
    const old = create('x', { ports, selector })
    expect(update(old, { ports, selector }).spec).toMatchObject({
      clusterIP: old.spec?.clusterIP,
      clusterIPs: old.spec?.clusterIPs,
    })
    expect(faults(old, { ...old.spec, clusterIP: '10.96.0.77' })).toEqual([
      'spec.clusterIPs[0]: Invalid value: []string{"10.96.0.77"}: may not change once set',
    ])
    expect(faults(old, { ports, selector, clusterIP: '10.96.0.77' })).toEqual([
      'spec.clusterIPs[0]: Invalid value: []string{"10.96.0.77"}: may not change once set',
    ])
  })
})

describe('families', () => {
  test('of one Service are not two without a policy for two', () => {
    const spec = { ports, ipFamilies: ['IPv4', 'IPv6'] }
    expect(refusal(() => cluster().runs.created({ spec }))).toEqual([
      "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
    ])
  })

  test('keep the policy that an update leaves out', () => {
    const { create, update } = cluster()
    const old = create('x', { ports, selector, ipFamilyPolicy: 'PreferDualStack' })
    expect(update(old, { ports, selector }).spec?.ipFamilyPolicy).toBe('PreferDualStack')
  })

  test('of a Service that becomes single-stack lose the second', () => {
    const { create, update, runs } = cluster()
    const old = create('x', { clusterIP: 'None' })
    expect(old.spec?.ipFamilies).toEqual(['IPv4', 'IPv6'])
    const single = update(old, { ...old.spec, ipFamilyPolicy: 'SingleStack' })
    expect(single.spec?.ipFamilies).toEqual(['IPv4'])
    const spec = { ...old.spec, ipFamilies: ['IPv4'] }
    expect(refusal(() => runs.updated(old as KubeObject, { spec }))).toEqual([
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": must be \'SingleStack\' to release the secondary IP family',
    ])
  })

  test('of a Service that prefers two stay when the cluster has another one', () => {
    const { update, faults } = cluster()
    const old: Service = {
      metadata: { name: 'x', namespace: 'ns' },
      spec: {
        type: 'ClusterIP',
        selector,
        ports: [{ port: 80, protocol: 'TCP' }],
        clusterIP: '10.96.0.5',
        clusterIPs: ['10.96.0.5', 'fd00::5'],
        ipFamilies: ['IPv4', 'IPv6'],
        ipFamilyPolicy: 'PreferDualStack',
      },
    }
    const spec = { ...old.spec, sessionAffinity: 'ClientIP' }
    expect(faults(old, spec)).toEqual([])
    expect(update(old, spec).spec?.clusterIPs).toEqual(['10.96.0.5', 'fd00::5'])
  })
})

describe('node ports', () => {
  test('that a load balancer without allocation names are its own', () => {
    const { create, update, runs } = cluster()
    const asked = (nodePort?: number) => ({
      type: 'LoadBalancer',
      allocateLoadBalancerNodePorts: false,
      ports: [{ port: 80, ...(nodePort && { nodePort }) }],
    })
    const taken = [
      'spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated',
    ]
    expect(create('x', asked(30_080)).spec?.ports?.[0]?.nodePort).toBe(30_080)
    expect(refusal(() => runs.created({ metadata: { name: 'y' }, spec: asked(30_080) }))).toEqual(
      taken,
    )
    const other = create('y', asked())
    expect(other.spec?.ports?.[0]?.nodePort).toBeUndefined()
    expect(refusal(() => update(other, asked(30_080)))).toEqual(taken)
  })

  test('of a dry run are all different, and stay free', () => {
    const reader = new FakeReader()
    const allocator = createServiceAllocator({ reader, services })
    const { nodePorts } = allocator
    const dry = { draft: { metadata: { name: 'x' } }, dryRun: true, random: () => 0 }
    const [one, other] = [nodePorts.next(dry), nodePorts.next(dry)]
    expect(one).not.toBe(other)
    expect(nodePorts.next({ draft: { metadata: {} }, dryRun: false, random: () => 0 })).toBe(one)
  })

  test('asked for are given once and in range', () => {
    const { create, runs } = cluster()
    const asked = (nodePort: number) => ({ type: 'NodePort', ports: [{ port: 80, nodePort }] })
    create('x', asked(30_080))
    expect(refusal(() => runs.created({ metadata: { name: 'y' }, spec: asked(30_080) }))).toEqual([
      'spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated',
    ])
    expect(refusal(() => runs.created({ metadata: { name: 'y' }, spec: asked(80) }))).toEqual([
      'spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
    ])
  })

  test('are shared by one port over two protocols', () => {
    const { spec } = cluster().create('x', {
      type: 'NodePort',
      ports: [
        { name: 'a', port: 53, protocol: 'UDP' },
        { name: 'b', port: 53, protocol: 'TCP' },
        { name: 'c', port: 54 },
      ],
    })
    const given = spec?.ports?.map(({ nodePort }) => nodePort)
    expect(given?.[0]).toBe(given?.[1])
    expect(given?.[2]).not.toBe(given?.[0])
  })

  test('come with the type and go with it', () => {
    const { create, update } = cluster()
    const plain = create('x', { ports, selector })
    const open = update(plain, { ...plain.spec, type: 'NodePort' })
    expect(open.spec?.ports?.[0]?.nodePort).toBeGreaterThanOrEqual(30_000)
    const closed = update(open, { ...open.spec, type: 'ClusterIP' })
    expect(closed.spec?.ports?.[0]?.nodePort).toBeUndefined()
    expect(closed.spec?.externalTrafficPolicy).toBeUndefined()
    expect(closed.spec?.clusterIP).toBe(plain.spec?.clusterIP)
  })

  test('stay with a port that is described anew', () => {
    const { create, update } = cluster()
    const old = create('x', { type: 'NodePort', ports })
    const now = update(old, { type: 'NodePort', ports: [{ port: 8080 }] })
    expect(now.spec?.ports?.[0]?.nodePort).toBe(old.spec?.ports?.[0]?.nodePort)
  })
})

test('a Service that becomes a name loses its addresses', () => {
  const { create, update } = cluster()
  const old = create('x', { ports, selector })
  const now = update(old, { ...old.spec, type: 'ExternalName', externalName: 'example.com' })
  expect(now.spec?.clusterIP).toBeUndefined()
  expect(now.spec?.clusterIPs).toBeUndefined()
  expect(now.spec?.ipFamilies).toBeUndefined()
})

describe('warnings', () => {
  const { runs } = cluster({ clusterIpRange: 'fd00::/112' })
  const headless = { clusterIP: 'None', selector }
  const balanced = { type: 'LoadBalancer', ports }
  const zero = 'was accepted, but will be invalid in a future Kubernetes release'
  test.each<[object, string[]]>([
    [{ ports }, []],
    [
      { ports, clusterIP: 'fd00:0::5' },
      [
        'spec.clusterIPs[0]: IPv6 address "fd00:0::5" is not in RFC 5952 canonical format ("fd00::5"), which may cause controller apply-loops',
      ],
    ],
    [
      { ports, externalIPs: ['192.0.2.1', '192.000.2.1'] },
      [
        `spec.externalIPs[1]: IP address ${zero}: ParseAddr("192.000.2.1"): IPv4 field has octet with leading zero`,
      ],
    ],
    [
      { ...balanced, loadBalancerIP: '010.0.0.1' },
      [
        `spec.loadBalancerIP: IP address ${zero}: ParseAddr("010.0.0.1"): IPv4 field has octet with leading zero`,
      ],
    ],
    [
      { ...balanced, loadBalancerSourceRanges: ['010.0.0.0/8', 'FD00::/8'] },
      [
        `spec.loadBalancerSourceRanges[0]: IP prefix ${zero}: netip.ParsePrefix("010.0.0.0/8"): ParseAddr("010.0.0.0"): IPv4 field has octet with leading zero`,
        'spec.loadBalancerSourceRanges[1]: IPv6 prefix "FD00::/8" is not in RFC 5952 canonical format ("fd00::/8"), which may cause controller apply-loops',
      ],
    ],
    [
      { ...headless, sessionAffinity: 'ClientIP', externalIPs: ['192.0.2.1'] },
      [
        'spec.externalIPs is ignored for headless services',
        'spec.SessionAffinity is ignored for headless services',
      ],
    ],
    [
      { type: 'ExternalName', externalName: 'example.com', externalIPs: ['192.0.2.1'] },
      ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
    ],
    [
      { ports, externalName: 'example.com' },
      ['spec.externalName is ignored when spec.type is not "ExternalName"'],
    ],
  ])('about %j', (spec, expected) => {
    expect(runs.warnings({ spec })).toEqual(expected)
  })

  test('about the older annotation of topology hints', () => {
    const annotations = { 'service.kubernetes.io/topology-aware-hints': 'auto' }
    expect(runs.warnings({ metadata: { annotations }, spec: { ports } })).toEqual([
      'annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead',
    ])
  })
})

test('metrics count the addresses and ports that Services have, and how they got them', () => {
  const metrics = createMetrics({ release: '1.32' })
  const ranges = { clusterIpRange: '10.0.0.0/29', nodePortRange: '30000-30003' }
  const { create, remove, runs } = cluster({ ...ranges, metrics })
  create('named', { selector, ports, clusterIP: '10.0.0.1' })
  create('given', { selector, ports: [{ port: 80, nodePort: 30001 }], type: 'NodePort' })
  create('other', { selector, ports, type: 'NodePort' })
  remove('other')
  expect(() =>
    runs.created({ metadata: { name: 'lost' }, spec: { ports, clusterIP: '10.0.0.1' } }),
  ).toThrow('provided IP is already allocated')
  const lines = metrics
    .text()
    .split('\n')
    .filter((line) => line.startsWith('kube_apiserver_'))
  const [ips, nodePorts] = ['clusterip', 'nodeport'].map(
    (kind) => `kube_apiserver_${kind}_allocator`,
  )
  const cidr = 'cidr="10.0.0.0/29"'
  expect(lines).toEqual([
    `${ips}_allocated_ips{${cidr}} 2`,
    `${ips}_allocation_errors_total{${cidr},scope="static"} 1`,
    `${ips}_allocation_total{${cidr},scope="static"} 1`,
    `${ips}_allocation_total{${cidr},scope="dynamic"} 2`,
    `${ips}_available_ips{${cidr}} 4`,
    `${nodePorts}_allocated_ports 1`,
    `${nodePorts}_allocation_total{scope="static"} 1`,
    `${nodePorts}_allocation_total{scope="dynamic"} 1`,
    `${nodePorts}_available_ports 3`,
  ])
})
