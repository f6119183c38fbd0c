import { afterEach, describe, expect, it } from 'vitest'
import type {
  Endpoints,
  EndpointSlice,
  Pod,
  Service,
  ServiceSpec,
} from '../../../components/api/generated/types.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { endpointSliceController } from '../../../components/controller-manager/endpoints/endpoint-slices.ts'
import { endpointsController } from '../../../components/controller-manager/endpoints/endpoints.ts'
import { endpointSliceMirroringController } from '../../../components/controller-manager/endpoints/slice-mirroring.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { addNode, podOn } from '../../support/nodes.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

let harness: ReconcilerHarness
afterEach(() => harness.stop())

function service(spec: Partial<ServiceSpec> = {}): Service {
  return {
    metadata: { name: 'web', namespace: 'default', labels: { team: 'a' } },
    spec: {
      clusterIP: '10.96.0.10',
      ipFamilies: ['IPv4'],
      selector: { app: 'web' },
      ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }],
      ...spec,
    },
  }
}

function pod(name: string, ip: string, isReady = true): Pod {
  const { metadata, spec, status } = podOn('n', name)
  return {
    metadata: { ...metadata, uid: `uid-${name}`, labels: { app: 'web' } },
    spec: {
      ...spec,
      containers: [{ name: 'c', ports: [{ name: 'web', containerPort: 9090 }] }],
    },
    status: {
      ...status,
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
    },
  }
}

async function start(object: Service, ...pods: Pod[]): Promise<void> {
  harness = createReconcilerHarness()
  const { cluster, resources } = harness
  addNode(cluster, 'n', { 'topology.kubernetes.io/zone': 'z1' })
  cluster.seed(resources.services, object)
  for (const one of pods) cluster.seed(resources.pods, one)
  await harness.start(
    endpointSliceController,
    endpointsController,
    endpointSliceMirroringController,
  )
  await harness.step()
}

const slices = (): EndpointSlice[] =>
  harness.cluster.all<EndpointSlice>(harness.resources.endpointSlices)
const endpoints = (): Endpoints | undefined =>
  harness.cluster.peek<Endpoints>(harness.resources.endpoints, 'default/web')

describe('endpointslice-controller', () => {
  it('shows the Service’s pods, with all a proxy needs to know', async () => {
    await start(service(), pod('a', '10.0.0.1'), pod('b', '10.0.0.2', false))
    expect(slices()).toHaveLength(1)
    const [slice] = slices()
    const { uid } = harness.cluster.peek(harness.resources.services, 'default/web')?.metadata ?? {}
    expect(slice).toMatchObject({
      metadata: {
        namespace: 'default',
        labels: {
          team: 'a',
          'kubernetes.io/service-name': 'web',
          'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        },
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Service', name: 'web', uid, controller: true },
        ],
      },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    })
    expect(slice?.metadata.name).toMatch(/^web-/)
    expect(slice?.endpoints).toEqual([
      {
        addresses: ['10.0.0.1'],
        conditions: { ready: true, serving: true, terminating: false },
        targetRef: { kind: 'Pod', namespace: 'default', name: 'a', uid: 'uid-a' },
        nodeName: 'n',
        zone: 'z1',
      },
      expect.objectContaining({
        addresses: ['10.0.0.2'],
        conditions: { ready: false, serving: false, terminating: false },
      }),
    ])
  })

  it('follows pods that come, change and go', async () => {
    await start(service())
    const { cluster, resources } = harness
    expect(slices()).toMatchObject([{ endpoints: [], ports: [] }])
    cluster.seed(resources.pods, pod('a', '10.0.0.1'))
    await harness.step()
    expect(slices()).toMatchObject([{ endpoints: [{ addresses: ['10.0.0.1'] }] }])
    cluster.change(resources.pods, 'default/a', (object) => {
      object.metadata.finalizers = ['agent']
    })
    cluster.remove(resources.pods, 'default/a')
    await harness.step()
    expect(slices()[0]?.endpoints[0]?.conditions).toEqual({
      ready: false,
      serving: true,
      terminating: true,
    })
    cluster.change(resources.pods, 'default/a', (object) => {
      object.metadata.labels = { app: 'other' }
    })
    await harness.step()
    expect(slices()).toMatchObject([{ endpoints: [] }])
  })

  it('finds named ports in each pod, and keeps pods apart whose numbers differ', async () => {
    const other = pod('b', '10.0.0.2')
    const [container] = other.spec?.containers ?? []
    if (container) container.ports = [{ name: 'web', containerPort: 7070 }]
    await start(
      service({ ports: [{ name: 'http', port: 80, targetPort: 'web', protocol: 'TCP' }] }),
      pod('a', '10.0.0.1'),
      other,
    )
    const shown = slices().map(({ ports, endpoints: list }) => [ports?.[0]?.port, list.length])
    expect(new Map(shown as [number, number][])).toEqual(
      new Map([
        [9090, 1],
        [7070, 1],
      ]),
    )
  })

  it('a headless Service without ports still shows its pods’ addresses and names', async () => {
    const named = pod('a', '10.0.0.1')
    await start(service({ clusterIP: 'None', ports: [] }), {
      ...named,
      spec: { ...named.spec, containers: [], hostname: 'first', subdomain: 'web' },
    })
    const [slice] = slices()
    expect(slice?.metadata.labels?.['service.kubernetes.io/headless']).toBe('')
    expect(slice).toMatchObject({ ports: [], endpoints: [{ hostname: 'first' }] })
  })

  it('shows a pod that has none of the Service’s ports, without ports', async () => {
    await start(
      service({ ports: [{ name: 'http', port: 80, targetPort: 'other', protocol: 'TCP' }] }),
      pod('a', '10.0.0.1'),
    )
    expect(slices()).toMatchObject([{ ports: [], endpoints: [{ addresses: ['10.0.0.1'] }] }])
    expect(endpoints()?.subsets ?? []).toEqual([])
  })

  it('puts nothing into a slice that is being deleted', async () => {
    await start(service(), pod('a', '10.0.0.1'))
    const { cluster, resources } = harness
    const key = `default/${slices()[0]?.metadata.name}`
    cluster.change(resources.endpointSlices, key, (slice) => {
      slice.metadata.finalizers = ['example.com/held']
    })
    cluster.remove(resources.endpointSlices, key)
    await harness.step()
    const kept = slices().filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    expect(kept).toMatchObject([{ endpoints: [{ addresses: ['10.0.0.1'] }] }])
  })

  it('leaves out a pod whose node does not exist, until it does', async () => {
    const lost = pod('a', '10.0.0.1')
    await start(service(), { ...lost, spec: { ...lost.spec, containers: [], nodeName: 'late' } })
    expect(slices()).toMatchObject([{ endpoints: [] }])
    addNode(harness.cluster, 'late')
    await harness.step(5000)
    expect(slices()).toMatchObject([{ endpoints: [{ nodeName: 'late' }] }])
  })

  it('never makes a slice twice while its informer lags behind', async () => {
    harness = createReconcilerHarness()
    const { cluster, resources } = harness
    addNode(cluster, 'n')
    cluster.seed(resources.services, service())
    cluster.react('watch', 'endpointslices', () => {
      throw new StatusError('ServiceUnavailable', 'not now')
    })
    await harness.start(endpointSliceController)
    for (let round = 1; round <= 5; round += 1) {
      cluster.seed(resources.pods, pod(`p${round}`, `10.0.0.${round}`))
      await harness.step(10)
    }
    expect(slices()).toHaveLength(1)
  })

  it('speaks the other dialect', async () => {
    harness = createReconcilerHarness({ dialect: dialects.svc })
    harness.cluster.seed(harness.resources.services, service())
    await harness.start(endpointSliceController)
    expect(slices()[0]?.metadata.labels).toEqual({
      team: 'a',
      'svc.io/service-name': 'web',
      'endpointslice.svc.io/managed-by': 'endpointslice-controller.svc.io',
    })
  })

  it('splits many endpoints into slices of a hundred', async () => {
    const pods = Array.from({ length: 250 }, (_, index) =>
      pod(`p${index}`, `10.0.${Math.floor(index / 250)}.${index}`),
    )
    await start(service(), ...pods)
    const sizes = slices().map(({ endpoints: list }) => list.length)
    expect(sizes.toSorted((a, b) => b - a)).toEqual([100, 100, 50])
  })
})

describe('endpoints-controller', () => {
  it('shows the same in the old form, those not ready apart', async () => {
    await start(service(), pod('a', '10.0.0.2'), pod('b', '10.0.0.1'), pod('c', '10.0.0.3', false))
    expect(endpoints()?.metadata.labels).toEqual({ team: 'a' })
    expect(endpoints()?.subsets).toMatchObject([
      {
        addresses: [
          { ip: '10.0.0.1', nodeName: 'n', targetRef: { kind: 'Pod', name: 'b' } },
          { ip: '10.0.0.2' },
        ],
        notReadyAddresses: [{ ip: '10.0.0.3' }],
        ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
      },
    ])
    // They have slices of their own already.
    expect(slices()).toHaveLength(1)
  })

  it('goes with its Service', async () => {
    await start(service(), pod('a', '10.0.0.1'))
    harness.cluster.remove(harness.resources.services, 'default/web')
    await harness.step()
    expect(endpoints()).toBeUndefined()
  })

  it('removes at its start what a Service that went meanwhile has left, but no leader’s record', async () => {
    harness = createReconcilerHarness()
    const { cluster, resources } = harness
    cluster.seed(resources.endpoints, { metadata: { name: 'gone', namespace: 'default' } })
    cluster.seed(resources.endpoints, {
      metadata: {
        name: 'leader',
        namespace: 'default',
        annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' },
      },
    })
    await harness.start(endpointsController)
    await harness.step()
    // What somebody writes by hand later is theirs.
    cluster.seed(resources.endpoints, { metadata: { name: 'later', namespace: 'default' } })
    await harness.step()
    const left = cluster.all(resources.endpoints).map(({ metadata }) => metadata.name)
    expect(left).toEqual(['leader', 'later'])
  })

  it('leaves the Endpoints of a Service without a selector to whoever writes them', async () => {
    harness = createReconcilerHarness()
    const { cluster, resources } = harness
    const { spec, metadata } = service()
    const { selector: _, ...rest } = spec!
    cluster.seed(resources.services, { metadata, spec: rest })
    cluster.seed(resources.endpoints, {
      metadata: { name: 'web', namespace: 'default' },
      subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80, protocol: 'TCP' }] }],
    })
    await harness.start(endpointsController, endpointSliceController)
    await harness.step(10_000)
    expect(cluster.writes).toEqual([])
  })
})

describe('endpointslice-mirroring-controller', () => {
  it('mirrors Endpoints written by hand, follows them, and cleans up after them', async () => {
    const { selector: _, ...spec } = service().spec!
    await start({ ...service(), spec })
    const { cluster, resources } = harness
    cluster.seed(resources.endpoints, {
      metadata: { name: 'web', namespace: 'default' },
      subsets: [
        {
          addresses: [{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }],
          ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
        },
      ],
    })
    await harness.step()
    const shown = slices().map(({ addressType, endpoints: list }) => [
      addressType,
      list[0]?.addresses[0],
    ])
    expect(new Map(shown as [string, string][])).toEqual(
      new Map([
        ['IPv4', '192.0.2.1'],
        ['IPv6', '2001:db8::1'],
      ]),
    )
    expect(slices()[0]?.metadata.labels?.['endpointslice.kubernetes.io/managed-by']).toBe(
      'endpointslicemirroring-controller.k8s.io',
    )
    cluster.change(resources.endpoints, 'default/web', (object) => {
      object['subsets'][0].addresses = [{ ip: '192.0.2.2' }]
    })
    await harness.step()
    expect(slices()).toMatchObject([{ endpoints: [{ addresses: ['192.0.2.2'] }] }])
    cluster.change(resources.endpoints, 'default/web', (object) => {
      object.metadata.labels = { 'endpointslice.kubernetes.io/skip-mirror': 'true' }
    })
    await harness.step()
    expect(slices()).toEqual([])
  })
})

describe('the metrics of EndpointSlices', () => {
  it('count endpoints, slices and their changes', async () => {
    await start(
      service({ trafficDistribution: 'PreferClose' }),
      pod('a', '10.0.0.1'),
      pod('b', '10.0.0.2'),
    )
    await harness.step(5000)
    const shown = (name: string): string[] => harness.shown(`endpoint_slice_controller_${name}`)
    const sumOf = (name: string): number => Number(shown(name)[0]?.split(', ')[1])
    expect(shown('endpoints_desired')).toEqual(['2'])
    expect(shown('num_endpoint_slices')).toEqual(['1'])
    expect(shown('desired_endpoint_slices')).toEqual(['1'])
    expect(shown('changes')).toEqual(['{operation="create"} 1'])
    expect(sumOf('endpoints_added_per_sync')).toBe(2)
    expect(sumOf('endpoints_removed_per_sync')).toBe(0)
    expect(shown('endpointslices_changed_per_sync')[0]).toMatch(
      /^\{topology="Disabled",traffic_distribution="PreferClose"\} \d+, 1$/,
    )
    expect(shown('services_count_by_traffic_distribution')).toEqual([
      '{traffic_distribution="PreferClose"} 1',
    ])
    expect(shown('syncs')[0]).toMatch(/^\{result="success"\} [1-9]/)
    harness.cluster.remove(harness.resources.pods, 'default/a')
    await harness.step(5000)
    expect(shown('endpoints_desired')).toEqual(['1'])
    expect(shown('changes')).toEqual(['{operation="create"} 1', '{operation="update"} 1'])
    expect(sumOf('endpoints_removed_per_sync')).toBe(1)
    harness.cluster.remove(harness.resources.services, 'default/web')
    await harness.step(5000)
    expect(shown('endpoints_desired')).toEqual(['0'])
    expect(shown('num_endpoint_slices')).toEqual(['0'])
    expect(shown('services_count_by_traffic_distribution')).toEqual([
      '{traffic_distribution="PreferClose"} 0',
    ])
  })

  it('count what was mirrored, and what was too much', async () => {
    const { selector: _, ...spec } = service().spec!
    await start({ ...service(), spec })
    const addresses = Array.from({ length: 1002 }, (_value, index) => ({
      ip: `10.${Math.floor(index / 250)}.0.${(index % 250) + 1}`,
    }))
    harness.cluster.seed(harness.resources.endpoints, {
      metadata: { name: 'web', namespace: 'default' },
      subsets: [{ addresses, ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }],
    })
    await harness.step()
    const name = 'endpoint_slice_mirroring_controller_'
    const sumOf = (metric: string): number =>
      Number(harness.shown(`${name}${metric}`)[0]?.split(', ')[1])
    expect(harness.shown(`${name}endpoints_desired`)).toEqual(['1000'])
    expect(harness.shown(`${name}num_endpoint_slices`)).toEqual(['10'])
    expect(harness.shown(`${name}desired_endpoint_slices`)).toEqual(['10'])
    expect(harness.shown(`${name}changes`)).toEqual(['{operation="create"} 10'])
    expect(sumOf('endpoints_added_per_sync')).toBe(1000)
    const syncs = Number(harness.shown(`${name}addresses_skipped_per_sync`)[0]?.split(', ')[0])
    expect(sumOf('addresses_skipped_per_sync')).toBe(2 * syncs)
    expect(sumOf('endpoints_updated_per_sync')).toBe(0)
  })
})
