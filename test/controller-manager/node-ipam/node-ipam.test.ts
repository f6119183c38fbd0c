import { afterEach, describe, expect, it } from 'vitest'
import type { Node } from '../../../components/api/generated/types.ts'
import { nodeIpamController } from '../../../components/controller-manager/node-ipam/node-ipam.ts'
import type { ControllerManagerOptions } from '../../../components/controller-manager/options.ts'
import {
  internalError,
  notFound,
  tooManyRequests,
} from '../../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

type Flags = Partial<ControllerManagerOptions>

let harness: ReconcilerHarness
afterEach(async () => {
  await harness.stop()
})

const withRange = (...ranges: string[]): Flags => ({
  'allocate-node-cidrs': true,
  'cluster-cidr': ranges,
})

function node(name: string, ...podCIDRs: string[]): Node {
  return { metadata: { name }, spec: podCIDRs.length === 0 ? {} : { podCIDRs } }
}

async function start(flags: Flags, ...nodes: Node[]): Promise<void> {
  harness = createReconcilerHarness({ flags })
  for (const one of nodes) harness.cluster.seed(harness.resources.nodes, one)
  await harness.start(nodeIpamController)
  await harness.step()
}

const ranges = (): Record<string, readonly string[] | undefined> =>
  Object.fromEntries(
    harness.cluster
      .all<Node>(harness.resources.nodes)
      .map(({ metadata, spec }) => [metadata.name, spec?.podCIDRs]),
  )

describe('node-ipam-controller', () => {
  it('shows that it runs, and that it has stopped', async () => {
    await start(withRange('10.244.0.0/16'))
    const shown = (): string[] => harness.shown('running_managed_controllers')
    expect(shown()).toEqual(['{name="nodeipam",manager="kube-controller-manager"} 1'])
    await harness.stop()
    expect(shown()).toEqual(['{name="nodeipam",manager="kube-controller-manager"} 0'])
  })

  it('does not show that it runs when it gives nodes no ranges', async () => {
    await start({ 'allocate-node-cidrs': false })
    expect(harness.shown('running_managed_controllers')).toEqual([])
  })

  const cases: readonly [
    title: string,
    flags: Flags,
    nodes: readonly Node[],
    wanted: Record<string, readonly string[] | undefined>,
  ][] = [
    [
      'nodes get ranges of 256 addresses in turn',
      withRange('10.244.0.0/16'),
      [node('a'), node('b')],
      { a: ['10.244.0.0/24'], b: ['10.244.1.0/24'] },
    ],
    [
      'a node of two families gets one range of each, in the order of --cluster-cidr',
      withRange('fd00:10:244::/56', '10.244.0.0/16'),
      [node('a'), node('b')],
      {
        a: ['fd00:10:244::/64', '10.244.0.0/24'],
        b: ['fd00:10:244:1::/64', '10.244.1.0/24'],
      },
    ],
    [
      'what existing nodes carry is never given away, wherever they come in the list',
      withRange('10.244.0.0/22'),
      [node('a'), node('b', '10.244.0.0/24'), node('c', '10.244.2.0/24')],
      { a: ['10.244.1.0/24'], b: ['10.244.0.0/24'], c: ['10.244.2.0/24'] },
    ],
    [
      'ranges of services are left out',
      { ...withRange('10.0.0.0/22'), 'service-cluster-ip-range': '10.0.0.128/25' },
      [node('a')],
      { a: ['10.0.1.0/24'] },
    ],
    [
      'services elsewhere take nothing away',
      { ...withRange('10.244.0.0/16'), 'service-cluster-ip-range': '10.96.0.0/12' },
      [node('a')],
      { a: ['10.244.0.0/24'] },
    ],
    [
      '--node-cidr-mask-size sets the size',
      { ...withRange('10.244.0.0/16'), 'node-cidr-mask-size': 25 },
      [node('a'), node('b')],
      { a: ['10.244.0.0/25'], b: ['10.244.0.128/25'] },
    ],
    [
      'sizes by family set those of two families',
      {
        ...withRange('10.244.0.0/16', 'fd00::/112'),
        'node-cidr-mask-size-ipv4': 26,
        'node-cidr-mask-size-ipv6': 120,
      },
      [node('a'), node('b')],
      { a: ['10.244.0.0/26', 'fd00::/120'], b: ['10.244.0.64/26', 'fd00::100/120'] },
    ],
    [
      'a node that is going gets none',
      withRange('10.244.0.0/16'),
      [
        {
          metadata: { name: 'a', deletionTimestamp: '2025-01-01T00:00:00Z', finalizers: ['f'] },
          spec: {},
        },
      ],
      { a: undefined },
    ],
    ['without --allocate-node-cidrs nothing happens', {}, [node('a')], { a: undefined }],
  ]
  it.each(cases)('%s', async (_, flags, nodes, wanted) => {
    await start(flags, ...nodes)
    expect(ranges()).toEqual(wanted)
    expect(harness.complaints).toEqual([])
    const before = harness.cluster.writes.length
    await harness.step(600_000)
    expect(harness.cluster.writes.length - before).toBe(0)
  })

  const refused: readonly [flags: Flags, message: string][] = [
    [{ 'allocate-node-cidrs': true }, 'must specify --cluster-cidr'],
    [withRange('10.0.0.0'), '--cluster-cidr: invalid CIDR address: 10.0.0.0'],
    [withRange('10.0.0.0/16', '10.1.0.0/16'), 'not configured as dual stack'],
    [withRange('10.0.0.0/16', 'fd00::/56', '10.1.0.0/16'), 'more than max allowed of 2'],
    [
      { ...withRange('10.0.0.0/16', 'fd00::/56'), 'node-cidr-mask-size': 24 },
      'usage of --node-cidr-mask-size is not allowed with dual-stack clusters',
    ],
    [
      { ...withRange('10.0.0.0/16'), 'node-cidr-mask-size': 24, 'node-cidr-mask-size-ipv4': 24 },
      'is not allowed if --node-cidr-mask-size is set',
    ],
    [
      { ...withRange('10.0.0.0/16'), 'node-cidr-mask-size-ipv6': 64 },
      'usage of --node-cidr-mask-size-ipv6 is not allowed for a single-stack IPv4 cluster',
    ],
    [withRange('10.0.0.0/25'), 'mask size of cluster CIDR must be less than or equal to'],
    [withRange('fd00::/32'), 'the node CIDR size is too big'],
    [
      { ...withRange('10.0.0.0/16'), 'service-cluster-ip-range': '10.1.0.0/16,10.2.0.0/16' },
      'are not dualstack',
    ],
  ]
  it.each(refused)('flags %j end the start', async (flags, message) => {
    harness = createReconcilerHarness({ flags })
    const ended = nodeIpamController.start(harness.context, new AbortController().signal)
    await expect(ended).rejects.toThrow(message)
  })

  it('a range goes back when its node goes, and serves a node that found none', async () => {
    await start(withRange('10.244.0.0/23'), node('a'), node('b'), node('c'))
    expect(ranges()).toEqual({ a: ['10.244.0.0/24'], b: ['10.244.1.0/24'], c: undefined })
    expect(new Set(harness.events)).toEqual(
      new Set(['Normal CIDRNotAvailable Node c: Node c status is now: CIDRNotAvailable']),
    )
    harness.cluster.remove(harness.resources.nodes, 'a')
    await harness.step(1_000_000)
    expect(ranges()).toEqual({ b: ['10.244.1.0/24'], c: ['10.244.0.0/24'] })
  })

  it('of two families, a range of the first goes back when the second has none', async () => {
    await start(
      { ...withRange('10.244.0.0/22', 'fd00::/64'), 'node-cidr-mask-size-ipv6': 64 },
      node('a'),
      node('b'),
    )
    expect(ranges()).toEqual({ a: ['10.244.0.0/24', 'fd00::/64'], b: undefined })
    harness.cluster.remove(harness.resources.nodes, 'a')
    harness.cluster.seed(harness.resources.nodes, node('d', '10.244.0.0/24', 'fd00::/64'))
    await harness.step(1_000_000)
    harness.cluster.remove(harness.resources.nodes, 'd')
    await harness.step(1_000_000)
    expect(ranges()['b']).toEqual([expect.stringMatching(/^10\.244\.[0-3]\.0\/24$/), 'fd00::/64'])
  })

  it('two nodes that carry one range both have to go before it is given again', async () => {
    const both = '10.244.0.0/24'
    await start(withRange('10.244.0.0/24'), node('a', both), node('b', both))
    harness.cluster.remove(harness.resources.nodes, 'a')
    harness.cluster.seed(harness.resources.nodes, node('c'))
    await harness.step(60_000)
    expect(ranges()['c']).toBeUndefined()
    harness.cluster.remove(harness.resources.nodes, 'b')
    await harness.step(1_000_000)
    expect(ranges()['c']).toEqual([both])
  })

  it('a range outside the cluster is left alone and said', async () => {
    await start(withRange('10.244.0.0/16'), node('a', '192.168.0.0/24'), node('b'))
    expect(ranges()).toEqual({ a: ['192.168.0.0/24'], b: ['10.244.0.0/24'] })
    expect(harness.complaints).toEqual([
      expect.stringContaining('cidr 192.168.0.0/24 is out the range of cluster cidr 10.244.0.0/16'),
    ])
    harness.cluster.change(harness.resources.nodes, 'a', (one) => {
      one['status'] = { nodeInfo: {} }
    })
    await harness.step()
    expect(harness.complaints).toHaveLength(1)
  })

  it('a node that took the name of another gets a range of its own', async () => {
    await start(withRange('10.244.0.0/16'))
    const { cluster, resources } = harness
    const stop = cluster.react('patch', 'nodes', () => {
      stop()
      cluster.remove(resources.nodes, 'a')
      cluster.seed(resources.nodes, node('a', '10.244.9.0/24'))
    })
    cluster.seed(resources.nodes, node('a'))
    await harness.step(60_000)
    expect(ranges()).toEqual({ a: ['10.244.9.0/24'] })
  })

  it('a server that answers 429 and 500 for minutes gets one range in the end', async () => {
    await start(withRange('10.244.0.0/16'))
    let isBroken = true
    harness.cluster.react('patch', 'nodes', () => {
      if (isBroken) throw harness.clock.random() < 0.5 ? tooManyRequests() : internalError('broken')
    })
    harness.cluster.seed(harness.resources.nodes, node('a'))
    await harness.step(120_000)
    expect(harness.events).toContain(
      'Normal CIDRAssignmentFailed Node a: Node a status is now: CIDRAssignmentFailed',
    )
    isBroken = false
    await harness.step(1_000_000)
    harness.cluster.seed(harness.resources.nodes, node('b'))
    await harness.step()
    expect(ranges()).toEqual({ a: ['10.244.0.0/24'], b: ['10.244.1.0/24'] })
  })

  it('an answer that was lost leads to the same range again', async () => {
    await start(withRange('10.244.0.0/16'))
    const { nodes } = harness.resources
    const stop = harness.cluster.react('patch', 'nodes', ({ object }) => {
      stop()
      harness.cluster.change(nodes, 'a', (one) => {
        one['spec'] = (object as Node).spec
      })
      throw internalError('the answer was lost')
    })
    harness.cluster.seed(nodes, node('a'))
    await harness.step(60_000)
    expect(ranges()).toEqual({ a: ['10.244.0.0/24'] })
  })

  it('a manager that starts again gives no range twice', async () => {
    await start(withRange('10.244.0.0/16'), node('a'), node('b'))
    await harness.stop()
    const { cluster } = harness
    harness = createReconcilerHarness({ cluster, flags: withRange('10.244.0.0/16') })
    cluster.seed(harness.resources.nodes, node('c'))
    await harness.start(nodeIpamController)
    await harness.step()
    expect(ranges()).toEqual({ a: ['10.244.0.0/24'], b: ['10.244.1.0/24'], c: ['10.244.2.0/24'] })
  })

  it('a node that went before the write is forgotten', async () => {
    await start(withRange('10.244.0.0/24'))
    const { nodes } = harness.resources
    harness.cluster.react('patch', 'nodes', ({ key }) => {
      if (key !== 'a') return
      harness.cluster.remove(nodes, 'a')
      throw notFound(nodes, 'a')
    })
    harness.cluster.seed(nodes, node('a'))
    await harness.step(1000)
    harness.cluster.seed(nodes, node('b'))
    await harness.step(60_000)
    expect(ranges()).toEqual({ b: ['10.244.0.0/24'] })
    expect(harness.events).toEqual([])
    expect(harness.complaints).toEqual([])
  })
})

describe('the metrics of node-ipam-controller', () => {
  it('count the ranges of each range of the cluster', async () => {
    await start(withRange('10.244.0.0/16'), node('a'), node('b', '10.244.1.0/24'), node('c'))
    const shown = (name: string): string[] => harness.shown(`node_ipam_controller_${name}`)
    const label = '{clusterCIDR="10.244.0.0/16"}'
    expect(shown('cirdset_max_cidrs')).toEqual([`${label} 256`])
    expect(shown('cidrset_cidrs_allocations_total')).toEqual([`${label} 3`])
    expect(shown('cidrset_cidrs_releases_total')).toEqual([])
    expect(shown('cidrset_usage_cidrs')).toEqual([`${label} ${3 / 256}`])
    // The range of b was passed over once.
    expect(shown('cidrset_allocation_tries_per_request')).toEqual([`${label} 2, 1`])
    harness.cluster.remove(harness.resources.nodes, 'a')
    await harness.step()
    expect(shown('cidrset_cidrs_releases_total')).toEqual([`${label} 1`])
    expect(shown('cidrset_usage_cidrs')).toEqual([`${label} ${2 / 256}`])
  })
})
