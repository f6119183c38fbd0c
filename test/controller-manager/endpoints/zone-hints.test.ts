/** Hints of `topology-mode: Auto`. */
import { afterEach, describe, expect, it } from 'vitest'
import type { Endpoint, EndpointSlice, Node } from '../../../components/api/generated/types.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { endpointSliceController } from '../../../components/controller-manager/endpoints/endpoint-slices.ts'
import {
  hintByZones,
  isOverloaded,
  zoneSharesOf,
} from '../../../components/controller-manager/endpoints/zone-hints.ts'
import { addNode, podOn } from '../../support/nodes.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

const zoneLabel = 'topology.kubernetes.io/zone'

function node(zone: string | undefined, cpu: string, more: Record<string, string> = {}): Node {
  const labels = { ...(zone === undefined ? {} : { [zoneLabel]: zone }), ...more }
  return {
    metadata: { name: 'n', labels },
    status: { allocatable: { cpu }, conditions: [{ type: 'Ready', status: 'True' }] },
  }
}

const shares = (zones: Record<string, number>) => new Map(Object.entries(zones))
const half = shares({ a: 0.5, b: 0.5 })

/** `a a>b b! c` are endpoints: of zone a, of a with a hint for b, of b and not ready, of c. */
function endpoints(text: string): Endpoint[] {
  return text
    .split(' ')
    .filter((one) => one !== '')
    .map((one, index) => {
      const [, zone = '', hint, mark] = /^(\w)?(?:>(\w))?(!)?$/.exec(one) ?? []
      return {
        addresses: [`10.0.0.${index}`],
        conditions: { ready: mark === undefined },
        ...(zone === '' ? {} : { zone }),
        ...(hint === undefined ? {} : { hints: { forZones: [{ name: hint }] } }),
      }
    })
}

const slice = (text: string): EndpointSlice => ({
  metadata: { name: text },
  addressType: 'IPv4',
  endpoints: endpoints(text),
})

const hintsOf = (list: readonly Endpoint[]): string =>
  list.map(({ hints }) => hints?.forZones?.map(({ name }) => name).join('+') ?? '-').join(' ')

describe('zoneSharesOf', () => {
  it.each([
    ['in proportion to CPU', [node('b', '1'), node('a', '3')], { a: 0.75, b: 0.25 }],
    [
      'nodes of a zone together',
      [node('a', '1'), node('a', '1'), node('b', '2')],
      { a: 0.5, b: 0.5 },
    ],
    ['one zone alone is none', [node('a', '1')], undefined],
    [
      'a node without a zone ends it',
      [node('a', '1'), node('b', '1'), node(undefined, '1')],
      undefined,
    ],
    ['a node without CPU ends it', [node('a', '1'), node('b', '1'), node('b', '0')], undefined],
    [
      'nodes of the control plane do not count',
      [
        node('a', '1'),
        node('b', '1'),
        node('c', '9', { 'node-role.kubernetes.io/control-plane': '' }),
      ],
      { a: 0.5, b: 0.5 },
    ],
  ])('%s', (_, nodes, wanted) => {
    const found = zoneSharesOf(nodes, dialects.kubernetes)
    expect(found && Object.fromEntries(found)).toEqual(wanted)
  })

  it('nodes that are not ready do not count', () => {
    const down = node('c', '9')
    down.status = { ...down.status, conditions: [{ type: 'Ready', status: 'Unknown' }] }
    const found = zoneSharesOf([node('a', '1'), node('b', '1'), down], dialects.kubernetes)
    expect(found && [...found.keys()]).toEqual(['a', 'b'])
  })
})

describe('hintByZones', () => {
  it.each([
    ['each zone its own', 'a b', half, 'a b'],
    ['a zone without endpoints gets some', 'a a a a', half, 'b b a a'],
    ['as many as fit the CPU', 'a a a b b b', shares({ a: 0.75, b: 0.25 }), 'a a a a b b'],
    ['three zones', 'a a a a b c', shares({ a: 0.34, b: 0.33, c: 0.33 }), 'b c a a b c'],
    ['an endpoint that is not ready gets none', 'a b a!', half, 'a b -'],
  ])('%s', (_, text, given, wanted) => {
    const create = [{ ports: [], endpoints: endpoints(text) }]
    const outcome = hintByZones({ create, update: [], unchanged: [] }, given)
    expect(outcome).not.toHaveProperty('why')
    expect(outcome.changes.create.map((group) => hintsOf(group.endpoints))).toEqual([wanted])
  })

  it.each([
    [
      'a b',
      undefined,
      'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes',
    ],
    ['a', half, 'Insufficient number of endpoints (1 endpoints, 2 zones)'],
    [
      'a b',
      shares({ a: 0.9, b: 0.1 }),
      'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (2 endpoints, 2 zones)',
    ],
    ['a b !', half, undefined],
    ['a >a', half, 'One or more endpoints do not have a zone specified'],
  ])('of %j: %s', (text, given, why) => {
    const update = [{ slice: slice('a>a b>b'), to: { ports: [], endpoints: endpoints(text) } }]
    const outcome = hintByZones({ create: [], update, unchanged: [] }, given)
    expect('why' in outcome ? outcome.why : undefined).toBe(why)
    if (why !== undefined)
      for (const { to } of outcome.changes.update)
        expect(to.endpoints.every(({ hints }) => hints === undefined)).toBe(true)
  })

  it('slices that do not change keep their hints as long as they fit', () => {
    const fits = hintByZones({ create: [], update: [], unchanged: [slice('a>b b>a')] }, half)
    expect(fits.changes).toMatchObject({ create: [], update: [], unchanged: [{}] })
    const skewed = hintByZones({ create: [], update: [], unchanged: [slice('a>a b>a')] }, half)
    expect(skewed.changes.unchanged).toEqual([])
    expect(skewed.changes.update.map(({ to }) => hintsOf(to.endpoints))).toEqual(['a b'])
    const gone = hintByZones({ create: [], update: [], unchanged: [slice('a>a b>c')] }, half)
    expect(gone.changes.update.map(({ to }) => hintsOf(to.endpoints))).toEqual(['a b'])
  })

  it('without reason for hints takes them from slices that would not change', () => {
    const unchanged = [slice('a>a b>b'), slice('a b')]
    const { changes } = hintByZones({ create: [], update: [], unchanged }, undefined)
    expect(changes.unchanged).toEqual([unchanged[1]])
    expect(changes.update.map(({ to }) => hintsOf(to.endpoints))).toEqual(['- -'])
  })
})

describe('isOverloaded', () => {
  it.each([
    [{ a: 2, b: 2 }, half, false],
    [{ a: 3, b: 1 }, half, true],
    [{ a: 4 }, half, true],
    [{ a: 2, b: 2 }, undefined, true],
    [{}, undefined, false],
  ])('%j', (counts, given, wanted) => {
    expect(isOverloaded(new Map(Object.entries(counts)), given)).toBe(wanted)
  })
})

describe('endpointslice-controller with topology-mode: Auto', () => {
  let harness: ReconcilerHarness
  afterEach(() => harness.stop())

  function pod(name: string, on: string, ip: string) {
    const { metadata, spec, status } = podOn(on, name)
    return {
      metadata: { ...metadata, uid: `uid-${name}`, labels: { app: 'web' } },
      spec: spec!,
      status: { ...status, podIP: ip, podIPs: [{ ip }] },
    }
  }

  async function start(annotations: Record<string, string>, spec: object = {}): Promise<void> {
    harness = createReconcilerHarness()
    const { cluster, resources } = harness
    for (const zone of ['a', 'b']) {
      addNode(cluster, `n-${zone}`, { [zoneLabel]: zone })
      cluster.change(resources.nodes, `n-${zone}`, (one) => {
        one['status'].allocatable = { cpu: '2' }
      })
    }
    cluster.seed(resources.services, {
      metadata: { name: 'web', namespace: 'default', annotations },
      spec: { ipFamilies: ['IPv4'], selector: { app: 'web' }, ports: [{ port: 80 }], ...spec },
    })
    for (const [name, zone] of [
      ['p1', 'a'],
      ['p2', 'a'],
      ['p3', 'a'],
      ['p4', 'b'],
    ] as const)
      cluster.seed(resources.pods, pod(name, `n-${zone}`, `10.0.0.${name.slice(1)}`))
    await harness.start(endpointSliceController)
    await harness.step()
  }

  function hints(): Record<string, string> {
    const slices = harness.cluster.all<EndpointSlice>(harness.resources.endpointSlices)
    return Object.fromEntries(
      slices
        .flatMap(({ endpoints: all }) => all ?? [])
        .map((one) => [one.targetRef?.name, hintsOf([one])] as const)
        .toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)),
    )
  }

  it.each([
    [{ 'service.kubernetes.io/topology-mode': 'Auto' }, {}],
    [{ 'service.kubernetes.io/topology-aware-hints': 'auto' }, {}],
    [{ 'service.kubernetes.io/topology-mode': 'Auto' }, { trafficDistribution: 'PreferClose' }],
  ])('%j shares endpoints among zones, and then writes nothing', async (annotations, spec) => {
    await start(annotations, spec)
    const given = Object.values(hints()).toSorted()
    expect(given).toEqual(['a', 'a', 'b', 'b'])
    expect(harness.events).toEqual([
      'Normal TopologyAwareHintsEnabled Service default/web: Topology Aware Hints has been enabled, addressType: IPv4',
    ])
    const writes = harness.cluster.writes.length
    await harness.step(600_000)
    harness.cluster.change(harness.resources.services, 'default/web', (one) => {
      one.metadata.annotations = { ...one.metadata.annotations, other: 'x' }
    })
    await harness.step(600_000)
    expect(harness.cluster.writes.length).toBe(writes)
    expect(harness.complaints).toEqual([])
  })

  it('without the annotation they go again', async () => {
    await start({ 'service.kubernetes.io/topology-mode': 'Auto' })
    harness.cluster.change(harness.resources.services, 'default/web', (one) => {
      one.metadata.annotations = {}
    })
    await harness.step()
    expect(Object.values(hints())).toEqual(['-', '-', '-', '-'])
    expect(harness.events.at(-1)).toBe(
      'Warning TopologyAwareHintsDisabled Service default/web: Topology Aware Hints has been disabled, addressType: IPv4',
    )
  })

  it('when a zone loses its nodes they go, and come back with them', async () => {
    await start({ 'service.kubernetes.io/topology-mode': 'Auto' })
    harness.cluster.change(harness.resources.nodes, 'n-b', (one) => {
      one['status'].conditions = [{ type: 'Ready', status: 'False' }]
    })
    await harness.step()
    expect(Object.values(hints())).toEqual(['-', '-', '-', '-'])
    expect(harness.events.at(-1)).toContain('Insufficient Node information')
    harness.cluster.change(harness.resources.nodes, 'n-b', (one) => {
      one['status'].conditions = [{ type: 'Ready', status: 'True' }]
    })
    for (const name of ['p5', 'p6'])
      harness.cluster.seed(harness.resources.pods, pod(name, 'n-b', `10.0.0.${name.slice(1)}`))
    await harness.step()
    expect(Object.values(hints())).not.toContain('-')
  })
})
