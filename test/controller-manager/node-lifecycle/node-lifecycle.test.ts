import { afterEach, describe, expect, it } from 'vitest'
import type { Node, Pod } from '../../../components/api/generated/types.ts'
import { dialects, labelKey } from '../../../components/api/dialect.ts'
import { describeFlags } from '../../../components/component-base/flags.ts'
import { controllerManagerFlags } from '../../../components/controller-manager/options.ts'
import { nodeLifecycleController } from '../../../components/controller-manager/node-lifecycle/node-lifecycle.ts'
import { addNode, podOn, renew, report } from '../../support/nodes.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

let harness: ReconcilerHarness
afterEach(async () => {
  await harness.stop()
  expect(harness.complaints.filter((text) => text.startsWith('error'))).toEqual([])
})

function node(name: string): Node {
  return harness.cluster.peek<Node>(harness.resources.nodes, name) as Node
}

function condition(name: string, type = 'Ready') {
  return node(name).status?.conditions?.find((one) => one.type === type)
}

function taints(name: string): string[] {
  return (node(name).spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`)
}

/** Seconds pass in which these nodes renew their leases every 10 s. */
async function pass(seconds: number, ...alive: string[]): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    if (second % 10 === 0) renew(harness.cluster, ...alive)
    await harness.step(1000)
  }
}

describe.each(Object.values(dialects))('node-lifecycle-controller ($name)', (dialect) => {
  const unreachable = labelKey(dialect, 'node', 'unreachable')
  const notReady = labelKey(dialect, 'node', 'not-ready')

  async function start(...names: string[]): Promise<void> {
    harness = createReconcilerHarness({ dialect })
    for (const name of names) addNode(harness.cluster, name)
    await harness.start(nodeLifecycleController)
    await harness.step()
  }

  it('[NODE-012] a node that the controller looks at every second becomes Unknown within the second after the 50th', async () => {
    harness = createReconcilerHarness({ dialect, flags: { 'node-monitor-period': 1000 } })
    addNode(harness.cluster, 'a')
    await harness.start(nodeLifecycleController)
    await harness.step()
    await pass(21, 'a')
    // The renewal of a second ago has been seen.
    await pass(49)
    expect(condition('a')?.status).toBe('True')
    await pass(2)
    expect(condition('a')?.status).toBe('Unknown')
  })

  it('[NODE-022] a node not heard of for 50 s becomes Unknown, and not before', async () => {
    await start('a', 'b')
    await pass(60, 'a', 'b')
    const readySince = condition('a')?.lastTransitionTime
    // Its last renewal was 10 s ago and is seen by now.
    await pass(40, 'b')
    expect(condition('a')?.status).toBe('True')
    await pass(10, 'b')
    expect(condition('a')).toMatchObject({
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
      message: 'Kubelet stopped posting node status.',
    })
    expect(condition('a')?.lastTransitionTime).not.toBe(readySince)
    for (const type of ['MemoryPressure', 'DiskPressure', 'PIDPressure'])
      expect(condition('a', type)?.status).toBe('Unknown')
    expect(condition('b')?.status).toBe('True')
    expect(harness.events).toContain(
      'Normal NodeNotReady Node a: Node a status is now: NodeNotReady',
    )
  })

  it('[LIM-008] the grace period is 50 s unless another is given', async () => {
    const help = describeFlags(controllerManagerFlags)
    expect(help).toMatch(/--node-monitor-grace-period\b.*\n?.*50s/)
    await start('a')
    expect(harness.context.options['node-monitor-grace-period']).toBe(50_000)
    await pass(60, 'a')
    // The last renewal was 10 s ago.
    await pass(39)
    expect(condition('a')?.status).toBe('True')
    await pass(11)
    expect(condition('a')?.status).toBe('Unknown')
  })

  it('a clock that is set, or a machine that slept, makes no node silent, and hides none', async () => {
    await start('a', 'b')
    await pass(30, 'a', 'b')
    let offsetMs = 0
    const now = harness.clock.now.bind(harness.clock)
    harness.clock.now = () => now() + offsetMs
    for (const jumpMs of [3_600_000, -7_200_000]) {
      offsetMs += jumpMs
      for (let second = 0; second < 10; second += 1) await harness.step(1000)
      expect(condition('a')?.status).toBe('True')
      await pass(20, 'a', 'b')
    }
    await pass(60, 'b')
    expect(condition('a')?.status).toBe('Unknown')
    expect(condition('b')?.status).toBe('True')
    expect(taints('a')).toContain(`${unreachable}:NoExecute`)
  })

  it('[NODE-018] renewals of the lease alone keep a node from being marked', async () => {
    await start('a', 'b')
    await pass(300, 'a')
    expect(condition('a')?.status).toBe('True')
    expect(condition('b')?.status).toBe('Unknown')
  })

  it('status reports alone do so too', async () => {
    await start('a', 'b')
    for (let round = 0; round < 10; round += 1) {
      report(harness.cluster, 'a', {})
      await pass(40, 'b')
    }
    expect(condition('a')?.status).toBe('True')
  })

  it('what a node’s own clock says does not matter, only that its lease changes', async () => {
    await start('a', 'b')
    const { cluster, resources } = harness
    for (let round = 0; round < 12; round += 1) {
      cluster.change(resources.leases, `${dialect.nodeLeaseNamespace}/a`, (lease) => {
        lease['spec'].renewTime = `1999-01-01T00:00:${10 + round}.000000Z`
      })
      await pass(10, 'b')
    }
    expect(condition('a')?.status).toBe('True')
    cluster.change(resources.leases, `${dialect.nodeLeaseNamespace}/a`, (lease) => {
      lease['spec'].renewTime = '2099-01-01T00:00:00.000000Z'
    })
    await pass(60, 'b')
    expect(condition('a')?.status).toBe('Unknown')
  })

  it('[NODE-023] a node that becomes Unknown is tainted unreachable, until it comes back', async () => {
    await start('a', 'b', 'c')
    await pass(70, 'b', 'c')
    expect(condition('a')?.status).toBe('Unknown')
    expect(taints('a')).toEqual([`${unreachable}:NoSchedule`, `${unreachable}:NoExecute`])
    expect(node('a').spec?.taints?.every(({ timeAdded }) => timeAdded !== undefined)).toBe(true)
    expect(taints('b')).toEqual([])
    report(harness.cluster, 'a', {
      Ready: 'True',
      MemoryPressure: 'False',
      DiskPressure: 'False',
      PIDPressure: 'False',
    })
    await pass(10, 'a', 'b', 'c')
    expect(taints('a')).toEqual([])
  })

  it('[NODE-024] a node that reports it is not ready stays False and is tainted not-ready', async () => {
    await start('a', 'b', 'c')
    report(harness.cluster, 'a', { Ready: 'False' })
    await pass(120, 'a', 'b', 'c')
    expect(condition('a')?.status).toBe('False')
    expect(taints('a')).toEqual([`${notReady}:NoSchedule`, `${notReady}:NoExecute`])
  })

  it('when a node that was not ready falls silent its taints change over', async () => {
    await start('a', 'b', 'c')
    report(harness.cluster, 'a', { Ready: 'False' })
    await pass(20, 'a', 'b', 'c')
    await pass(70, 'b', 'c')
    expect(taints('a')).toEqual([`${unreachable}:NoSchedule`, `${unreachable}:NoExecute`])
  })

  it.each([
    ['MemoryPressure', 'memory-pressure'],
    ['DiskPressure', 'disk-pressure'],
    ['PIDPressure', 'pid-pressure'],
  ])('%s gives the taint %s, which goes with it', async (type, name) => {
    await start('a')
    report(harness.cluster, 'a', { [type]: 'True' })
    await harness.step()
    expect(taints('a')).toEqual([`${labelKey(dialect, 'node', name)}:NoSchedule`])
    report(harness.cluster, 'a', { [type]: 'False' })
    await harness.step()
    expect(taints('a')).toEqual([])
  })

  it('a cordoned node is tainted, and other taints stay as they are', async () => {
    await start('a')
    const { cluster, resources } = harness
    cluster.change(resources.nodes, 'a', (object) => {
      object['spec'] = { unschedulable: true, taints: [{ key: 'own', effect: 'NoSchedule' }] }
    })
    await harness.step()
    expect(taints('a')).toEqual([
      'own:NoSchedule',
      `${labelKey(dialect, 'node', 'unschedulable')}:NoSchedule`,
    ])
    cluster.change(resources.nodes, 'a', (object) => {
      delete object['spec'].unschedulable
    })
    await harness.step()
    expect(taints('a')).toEqual(['own:NoSchedule'])
  })

  it('a joining node that others write to loses its taint with one patch', async () => {
    await start()
    const { cluster, resources } = harness
    const annotate = (annotation: string): void => {
      cluster.change(resources.nodes, 'a', ({ metadata }) => {
        metadata.annotations = { ...metadata.annotations, [annotation]: 'yes' }
      })
    }
    const stop = cluster.react('patch', 'nodes', () => annotate('while-the-patch-is-sent'))
    addNode(cluster, 'a')
    cluster.change(resources.nodes, 'a', (object) => {
      const taint = { key: notReady, effect: 'NoSchedule' }
      object['spec'] = { taints: [taint] }
    })
    const writes = cluster.writes.length
    await harness.step()
    stop()
    annotate('later')
    await harness.step()
    expect(taints('a')).toEqual([])
    expect(cluster.writes.slice(writes)).toEqual(['patch nodes a'])
  })

  it('a taint that came meanwhile is kept', async () => {
    await start('a')
    const { cluster, resources } = harness
    report(cluster, 'a', { MemoryPressure: 'True' })
    await harness.step()
    let isFirst = true
    cluster.react('patch', 'nodes', () => {
      if (!isFirst) return
      isFirst = false
      cluster.change(resources.nodes, 'a', (object) => {
        object['spec'].taints = [...object['spec'].taints, { key: 'own', effect: 'NoSchedule' }]
      })
    })
    report(cluster, 'a', { MemoryPressure: 'False' })
    await harness.step()
    expect(taints('a')).toEqual(['own:NoSchedule'])
  })
})

describe('node-lifecycle-controller', () => {
  async function start(
    count: number,
    seed?: (harness: ReconcilerHarness) => void,
  ): Promise<string[]> {
    harness = createReconcilerHarness()
    const names = Array.from({ length: count }, (_, index) => `n${index}`)
    for (const name of names) addNode(harness.cluster, name)
    seed?.(harness)
    await harness.start(nodeLifecycleController)
    await harness.step()
    return names
  }
  const evicting = (names: readonly string[]): string[] =>
    names.filter((name) => taints(name).some((taint) => taint.endsWith('NoExecute')))

  it('pods of a silent node are no longer ready', async () => {
    await start(3, ({ cluster, resources }) => {
      cluster.seed(resources.pods, podOn('n0', 'lost'))
      cluster.seed(resources.pods, podOn('n1', 'fine'))
    })
    await pass(60, 'n1', 'n2')
    const pod = (name: string): Pod | undefined =>
      harness.cluster.peek<Pod>(harness.resources.pods, `default/${name}`)
    expect(pod('lost')?.status?.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'False' })
    expect(pod('fine')?.status?.conditions?.[0]?.status).toBe('True')
    expect(harness.events).toContain('Warning NodeNotReady Pod default/lost: Node is not ready')
  })

  it('they are so too when somebody else changes them at that moment', async () => {
    await start(1, ({ cluster, resources }) => cluster.seed(resources.pods, podOn('n0', 'lost')))
    const { cluster, resources } = harness
    let isFirst = true
    cluster.react('patch', 'pods/status', () => {
      if (!isFirst) return
      isFirst = false
      cluster.change(resources.pods, 'default/lost', ({ metadata }) => {
        metadata.labels = { ...metadata.labels, changed: 'meanwhile' }
      })
    })
    await pass(60)
    expect(isFirst).toBe(false)
    const lost = cluster.peek<Pod>(resources.pods, 'default/lost')
    expect(lost?.metadata.labels).toMatchObject({ changed: 'meanwhile' })
    expect(lost?.status?.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'False' })
  })

  it('a node that never reports is marked so after 60 s', async () => {
    harness = createReconcilerHarness()
    harness.cluster.seed(harness.resources.nodes, { metadata: { name: 'new' } })
    addNode(harness.cluster, 'old')
    await harness.start(nodeLifecycleController)
    await pass(60, 'old')
    expect(node('new').status).toBeUndefined()
    await pass(6, 'old')
    expect(condition('new')).toMatchObject({
      status: 'Unknown',
      reason: 'NodeStatusNeverUpdated',
      message: 'Kubelet never posted node status.',
    })
    expect(taints('new')).toContain('node.kubernetes.io/unreachable:NoSchedule')
  })

  it('lets go of nodes one by one: the first at once, the next after 10 s', async () => {
    const names = await start(8)
    const alive = names.slice(3)
    await pass(60, ...alive)
    await pass(5, ...alive)
    expect(evicting(names)).toHaveLength(1)
    await pass(5, ...alive)
    expect(evicting(names)).toHaveLength(2)
    await pass(10, ...alive)
    expect(evicting(names)).toHaveLength(3)
    expect(evicting(alive)).toEqual([])
  })

  it('evicts nothing more in a small zone most of whose nodes are down', async () => {
    const names = await start(8)
    await pass(120, ...names.slice(6))
    expect(evicting(names)).toEqual([])
    expect(taints('n0')).toEqual(['node.kubernetes.io/unreachable:NoSchedule'])
  })

  it('evicts nothing while no node at all is heard of, and starts afresh when one is', async () => {
    const names = await start(4)
    await pass(10, ...names)
    await pass(120)
    expect(names.map((name) => condition(name)?.status)).toEqual(Array(4).fill('Unknown'))
    expect(evicting(names)).toEqual([])
    report(harness.cluster, 'n0', { Ready: 'True' })
    await pass(20, 'n0')
    expect(condition('n0')?.status).toBe('True')
  })

  it('after a restart every node has a whole grace period again', async () => {
    await start(2)
    await pass(40, 'n1')
    await harness.stop()
    harness = createReconcilerHarness({ cluster: harness.cluster })
    await harness.start(nodeLifecycleController)
    await pass(40, 'n1')
    expect(condition('n0')?.status).toBe('True')
    await pass(20, 'n1')
    expect(condition('n0')?.status).toBe('Unknown')
  })

  it('tells of nodes that come and go', async () => {
    await start(1)
    harness.cluster.remove(harness.resources.nodes, 'n0')
    await harness.step(5000)
    expect(harness.events).toEqual([
      'Normal RegisteredNode Node n0: Registered Node n0 in Controller',
      'Normal RemovingNode Node n0: Removing Node n0 from Controller',
    ])
  })
})

describe('the metrics of node-lifecycle-controller', () => {
  it('show the nodes of each zone, and count the nodes whose pods are evicted', async () => {
    harness = createReconcilerHarness()
    for (const name of ['a', 'b', 'c']) addNode(harness.cluster, name)
    addNode(harness.cluster, 'd', {
      'topology.kubernetes.io/region': 'r',
      'topology.kubernetes.io/zone': 'z',
    })
    await harness.start(nodeLifecycleController)
    await pass(70, 'a', 'b', 'd')
    const shown = (name: string): string[] => harness.shown(`node_collector_${name}`)
    const far = '{zone="r:\u0000:z"}'
    expect(shown('zone_size').toSorted()).toEqual(['{zone=""} 3', `${far} 1`])
    expect(shown('unhealthy_nodes_in_zone').toSorted()).toEqual(['{zone=""} 1', `${far} 0`])
    expect(shown('zone_health').toSorted()).toEqual([`{zone=""} ${(100 * 2) / 3}`, `${far} 100`])
    expect(shown('evictions_total').toSorted()).toEqual(['{zone=""} 1', `${far} 0`])
    const passes = Number(shown('update_all_nodes_health_duration_seconds')[0]?.split(', ')[0])
    const looks = Number(shown('update_node_health_duration_seconds')[0]?.split(', ')[0])
    expect(passes).toBeGreaterThan(10)
    expect(looks).toBe(4 * passes)
    harness.cluster.remove(harness.resources.nodes, 'd')
    await pass(5, 'a', 'b')
    expect(shown('zone_size').toSorted()).toEqual(['{zone=""} 3', `${far} 0`])
    expect(shown('zone_health')).toContain(`${far} 100`)
    expect(shown('unhealthy_nodes_in_zone')).toContain(`${far} 0`)
  })
})
