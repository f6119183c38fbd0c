import { afterEach, describe, expect, it } from 'vitest'
import type { Service, ServiceSpec } from '../../../components/api/generated/types.ts'
import { serviceLoadBalancerController } from '../../../components/controller-manager/service-lb/service-lb.ts'
import { changesOf } from '../../../components/controller-manager/service-lb/service-changes.ts'
import {
  internalError,
  tooManyRequests,
} from '../../../components/machinery/objects/status-error.ts'
import { addNode } from '../../support/nodes.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

const finalizer = 'service.kubernetes.io/load-balancer-cleanup'
const both = ['198.18.0.0/29', '2001:db8::/125']

let harness: ReconcilerHarness
afterEach(async () => {
  await harness?.stop()
})

function service(
  name: string,
  spec: Partial<ServiceSpec> = {},
  more: Partial<Service> = {},
): Service {
  return {
    metadata: { name, namespace: 'default', ...more.metadata },
    spec: { type: 'LoadBalancer', ipFamilies: ['IPv4'], ports: [{ port: 80 }], ...spec },
    status: more.status ?? { loadBalancer: {} },
  }
}

function balanced(name: string, ip: string): Service {
  return service(
    name,
    {},
    {
      metadata: { finalizers: [finalizer] },
      status: { loadBalancer: { ingress: [{ ip, ipMode: 'VIP' }] } },
    },
  )
}

async function start(ranges: readonly string[], ...services: Service[]): Promise<void> {
  harness = createReconcilerHarness({ flags: { 'simulated-load-balancer-range': ranges } })
  addNode(harness.cluster, 'n')
  for (const one of services) harness.cluster.seed(harness.resources.services, one)
  await harness.start(serviceLoadBalancerController)
  await harness.step()
}

const read = (name: string): Service | undefined =>
  harness.cluster.peek<Service>(harness.resources.services, `default/${name}`)
const addressesOf = (name: string): (string | undefined)[] =>
  (read(name)?.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip)
const reasons = (): string[] => harness.events.map((event) => event.split(' ')[1] ?? '')

describe('service-lb-controller', () => {
  it('shows that it runs, and that it has stopped', async () => {
    await start(both)
    const shown = (): string[] => harness.shown('running_managed_controllers')
    expect(shown()).toEqual(['{name="service",manager="kube-controller-manager"} 1'])
    await harness.stop()
    expect(shown()).toEqual(['{name="service",manager="kube-controller-manager"} 0'])
  })

  const cases: readonly [
    title: string,
    given: Service,
    addresses: readonly string[],
    finalizers: readonly string[] | undefined,
  ][] = [
    ['a Service of type LoadBalancer gets an address', service('a'), ['198.18.0.1'], [finalizer]],
    [
      'of IPv6, one of that family',
      service('a', { ipFamilies: ['IPv6'] }),
      ['2001:db8::1'],
      [finalizer],
    ],
    [
      'of both families, one of each in its order',
      service('a', { ipFamilies: ['IPv6', 'IPv4'] }),
      ['2001:db8::1', '198.18.0.1'],
      [finalizer],
    ],
    [
      'the one it asks for, if that is free',
      service('a', { loadBalancerIP: '198.18.0.5' }),
      ['198.18.0.5'],
      [finalizer],
    ],
    [
      'other finalizers stay',
      service('a', {}, { metadata: { finalizers: ['other'] } }),
      ['198.18.0.1'],
      ['other', finalizer],
    ],
    ['a class is another controller’s', service('a', { loadBalancerClass: 'x/y' }), [], undefined],
    ['a ClusterIP gets none', service('a', { type: 'ClusterIP' }), [], undefined],
    ['a NodePort gets none', service('a', { type: 'NodePort' }), [], undefined],
    ['what it has it keeps', balanced('a', '198.18.0.3'), ['198.18.0.3'], [finalizer]],
    [
      'a Service that is no LoadBalancer any more is cleaned up',
      {
        ...balanced('a', '198.18.0.3'),
        spec: { type: 'ClusterIP' },
        status: { loadBalancer: {} },
      },
      [],
      [],
    ],
  ]
  it.each(cases)('%s', async (_, given, addresses, finalizers) => {
    await start(both, given)
    expect(addressesOf('a')).toEqual(addresses)
    expect(read('a')?.metadata.finalizers).toEqual(finalizers)
    expect(harness.complaints).toEqual([])
    const [writes, events] = [harness.cluster.writes.length, harness.events.length]
    await harness.step(600_000)
    expect(harness.cluster.writes.length - writes).toBe(0)
    expect(harness.events.length - events).toBe(0)
  })

  it('tells what it does in upstream’s words', async () => {
    await start(both, service('a'))
    expect(harness.events).toEqual([
      'Normal EnsuringLoadBalancer Service default/a: Ensuring load balancer',
      'Normal EnsuredLoadBalancer Service default/a: Ensured load balancer',
    ])
    expect(read('a')?.status?.loadBalancer?.ingress).toEqual([{ ip: '198.18.0.1', ipMode: 'VIP' }])
    harness.events.length = 0
    harness.cluster.remove(harness.resources.services, 'default/a')
    await harness.step()
    expect(harness.events).toEqual([
      'Normal DeletingLoadBalancer Service default/a: Deleting load balancer',
      'Normal DeletedLoadBalancer Service default/a: Deleted load balancer',
    ])
    expect(read('a')).toBeUndefined()
  })

  it('without a range nothing is written', async () => {
    await start([], service('a'))
    expect(harness.cluster.writes).toEqual([])
    expect(harness.events).toEqual([])
  })

  it.each([
    [['198.18.0.0'], 'invalid CIDR address: 198.18.0.0'],
    [['198.18.0.0/16', '198.19.0.0/16'], 'two ranges of IPv4'],
  ])('the ranges %j end the start', async (ranges, message) => {
    harness = createReconcilerHarness({ flags: { 'simulated-load-balancer-range': ranges } })
    const ended = serviceLoadBalancerController.start(harness.context, new AbortController().signal)
    await expect(ended).rejects.toThrow(`--simulated-load-balancer-range: ${message}`)
  })

  it('gives no address twice, and a free one to who waits', async () => {
    const names = ['b', 'c', 'd', 'e', 'f', 'g', 'h']
    await start(both, balanced('a', '198.18.0.1'), ...names.map((name) => service(name)))
    const given = ['a', ...names].flatMap(addressesOf)
    expect(new Set(given).size).toBe(7)
    const [waiting = ''] = names.filter((name) => addressesOf(name).length === 0)
    expect(harness.events).toContain(
      `Warning SyncLoadBalancerFailed Service default/${waiting}: Error syncing load balancer: failed to ensure load balancer: no IPv4 address of the load balancer is free`,
    )
    harness.cluster.remove(harness.resources.services, 'default/a')
    await harness.step(1_000_000)
    expect(addressesOf(waiting)).toEqual(['198.18.0.1'])
  })

  it.each([
    ['198.18.0.1', 'requested address 198.18.0.1 is already in use'],
    ['192.0.2.1', 'requested address 192.0.2.1 is not in the range of the load balancer'],
  ])('asked for %s it says why not', async (loadBalancerIP, why) => {
    await start(both, balanced('a', '198.18.0.1'), service('b', { loadBalancerIP }))
    expect(addressesOf('b')).toEqual([])
    expect(harness.events.at(-1)).toContain(`failed to ensure load balancer: ${why}`)
    harness.cluster.change(harness.resources.services, 'default/b', (one) => {
      one['spec'].loadBalancerIP = '198.18.0.4'
    })
    await harness.step(600_000)
    expect(addressesOf('b')).toEqual(['198.18.0.4'])
    expect(reasons()).toContain('LoadbalancerIP')
  })

  it('a family without a range is named', async () => {
    await start(['198.18.0.0/29'], service('a', { ipFamilies: ['IPv6'] }))
    expect(harness.events.at(-1)).toContain('the simulated load balancer has no range of IPv6')
  })

  it('without a node that can serve it warns, and gives an address all the same', async () => {
    harness = createReconcilerHarness({ flags: { 'simulated-load-balancer-range': both } })
    addNode(harness.cluster, 'n', {
      'node.kubernetes.io/exclude-from-external-load-balancers': '',
    })
    harness.cluster.seed(harness.resources.services, service('a'))
    await harness.start(serviceLoadBalancerController)
    await harness.step()
    expect(harness.events).toContain(
      'Warning UnAvailableLoadBalancer Service default/a: There are no available nodes for LoadBalancer',
    )
    expect(addressesOf('a')).toEqual(['198.18.0.1'])
  })

  it('a server that answers 429 and 500 for minutes leads to one address in the end', async () => {
    await start(both)
    let isBroken = true
    harness.cluster.react('patch', 'services/status', () => {
      if (isBroken) throw harness.clock.random() < 0.5 ? tooManyRequests() : internalError('broken')
    })
    harness.cluster.seed(harness.resources.services, service('a'))
    await harness.step(180_000)
    expect(addressesOf('a')).toEqual([])
    isBroken = false
    await harness.step(1_000_000)
    expect(addressesOf('a')).toEqual(['198.18.0.1'])
    harness.cluster.seed(harness.resources.services, service('b'))
    await harness.step()
    expect(addressesOf('b')).toEqual(['198.18.0.2'])
  })

  it('a wish that comes while an address is written is granted', async () => {
    await start(both)
    const { cluster, resources } = harness
    const stop = cluster.react('patch', 'services/status', () => {
      stop()
      cluster.change(resources.services, 'default/a', (one) => {
        one['spec'].loadBalancerIP = '198.18.0.5'
      })
    })
    cluster.seed(resources.services, service('a'))
    await harness.step()
    expect(addressesOf('a')).toEqual(['198.18.0.5'])
  })

  it('an address is taken while the cache still shows the one before', async () => {
    await start(both, balanced('a', '198.18.0.1'))
    const { cluster, resources } = harness
    const answered = cluster.react('patch', 'services/status', ({ object }) => {
      answered()
      const now = structuredClone(read('a') as Service)
      Object.assign(now.metadata, { resourceVersion: '9999' })
      return { ...now, status: (object as Service).status }
    })
    cluster.change(resources.services, 'default/a', (one) => {
      one['spec'].loadBalancerIP = '198.18.0.5'
    })
    await harness.step()
    cluster.change(resources.services, 'default/a', ({ metadata }) => {
      metadata.labels = { a: 'b' }
    })
    cluster.seed(resources.services, service('b', { loadBalancerIP: '198.18.0.5' }))
    await harness.step()
    expect(addressesOf('b')).toEqual([])
    expect(harness.events.at(-1)).toContain('requested address 198.18.0.5 is already in use')
  })

  it('an address stays taken until the status no longer shows it', async () => {
    await start(both, balanced('a', '198.18.0.1'))
    const { cluster, resources } = harness
    const stop = cluster.react('patch', 'services/status', ({ key }) => {
      if (key === 'default/a') throw internalError('broken')
    })
    cluster.change(resources.services, 'default/a', (one) => {
      one['spec'].type = 'ClusterIP'
    })
    await harness.step()
    cluster.seed(resources.services, service('b', { loadBalancerIP: '198.18.0.1' }))
    await harness.step()
    expect(addressesOf('b')).toEqual([])
    stop()
    await harness.step(1_000_000)
    expect(addressesOf('b')).toEqual(['198.18.0.1'])
  })

  it('addresses of Services that go before they get them are free again', async () => {
    await start(both)
    const { cluster, resources } = harness
    const stop = cluster.react('patch', 'services/status', ({ key }) => {
      const gone = read(key.slice('default/'.length)) as Service
      cluster.remove(resources.services, key)
      return gone
    })
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
      cluster.seed(resources.services, service(name))
      await harness.step()
    }
    stop()
    for (const name of ['h', 'i', 'j', 'k', 'l', 'm', 'n']) {
      cluster.seed(resources.services, service(name))
    }
    await harness.step()
    expect(['h', 'i', 'j', 'k', 'l', 'm', 'n'].flatMap(addressesOf)).toHaveLength(7)
  })

  it('a Service that is made anew need not wait', async () => {
    await start(both, service('a'))
    const { cluster, resources } = harness
    cluster.remove(resources.services, 'default/a')
    await harness.step()
    expect(read('a')).toBeUndefined()
    cluster.seed(resources.services, service('a'))
    await harness.step()
    expect(addressesOf('a')).toHaveLength(1)
  })

  it('a manager that ends between finalizer and address goes on where it was', async () => {
    await start(both, balanced('b', '198.18.0.2'))
    const stop = harness.cluster.react('patch', 'services/status', ({ object }) => {
      if ((object as Service).status !== undefined) throw internalError('gone')
    })
    harness.cluster.seed(harness.resources.services, service('a'))
    await harness.step()
    await harness.stop()
    stop()
    expect(read('a')?.metadata.finalizers).toEqual([finalizer])
    const { cluster } = harness
    harness = createReconcilerHarness({
      cluster,
      flags: { 'simulated-load-balancer-range': both },
    })
    await harness.start(serviceLoadBalancerController)
    await harness.step()
    expect(addressesOf('a')).toEqual(['198.18.0.1'])
    expect(addressesOf('b')).toEqual(['198.18.0.2'])
  })
})

describe('changesOf', () => {
  const cases: readonly [
    title: string,
    before: Partial<ServiceSpec>,
    after: Partial<ServiceSpec>,
    events: readonly string[] | undefined,
  ][] = [
    ['nothing', {}, {}, undefined],
    ['the selector', {}, { selector: { a: 'b' } }, undefined],
    ['a port', {}, { ports: [{ port: 81 }] }, []],
    ['the type', { type: 'ClusterIP' }, {}, ['Type: ClusterIP -> LoadBalancer']],
    ['between types without one', { type: 'ClusterIP' }, { type: 'NodePort' }, undefined],
    [
      'source ranges',
      {},
      { loadBalancerSourceRanges: ['10.0.0.0/8', '11.0.0.0/8'] },
      ['LoadBalancerSourceRanges: [] -> [10.0.0.0/8 11.0.0.0/8]'],
    ],
    ['the wish', {}, { loadBalancerIP: '1.2.3.4' }, ['LoadbalancerIP:  -> 1.2.3.4']],
    ['more external addresses', {}, { externalIPs: ['1.2.3.4'] }, ['ExternalIP: Count: 0 -> 1']],
    [
      'another external address',
      { externalIPs: ['1.2.3.4'] },
      { externalIPs: ['1.2.3.5'] },
      ['ExternalIP: Added: 1.2.3.5'],
    ],
    [
      'the traffic policy',
      { externalTrafficPolicy: 'Cluster' },
      { externalTrafficPolicy: 'Local', healthCheckNodePort: 30_000 },
      ['ExternalTrafficPolicy: Cluster -> Local', 'HealthCheckNodePort: 0 -> 30000'],
    ],
  ]
  it.each(cases)('%s', (_, before, after, wanted) => {
    const events = changesOf(service('a', before), service('a', after))
    expect(events?.map(({ reason, message }) => `${reason}: ${message}`)).toEqual(wanted)
  })
})
