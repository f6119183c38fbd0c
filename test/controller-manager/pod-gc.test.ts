import { afterEach, describe, expect, it } from 'vitest'
import type { Pod } from '../../components/api/generated/types.ts'
import { podGarbageCollector } from '../../components/controller-manager/pod-gc.ts'
import { conflict } from '../../components/machinery/objects/status-error.ts'
import { addNode, podOn, report } from '../support/nodes.ts'
import { createReconcilerHarness } from '../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../support/reconciler-harness.ts'

let harness: ReconcilerHarness
afterEach(async () => {
  await harness.stop()
  expect(harness.complaints).toEqual([])
})

async function start(threshold: number, ...pods: Pod[]): Promise<void> {
  harness = createReconcilerHarness({ flags: { 'terminated-pod-gc-threshold': threshold } })
  addNode(harness.cluster, 'n')
  for (const pod of pods) harness.cluster.seed(harness.resources.pods, pod)
  await harness.start(podGarbageCollector)
  await harness.step()
}

const names = (): (string | undefined)[] =>
  harness.cluster.all(harness.resources.pods).map(({ metadata }) => metadata.name)

function finished(name: string, createdAt: string, reason?: string): Pod {
  const pod = podOn('n', name)
  return {
    ...pod,
    metadata: { ...pod.metadata, creationTimestamp: createdAt },
    status: { phase: 'Failed', ...(reason === undefined ? {} : { reason }) },
  }
}

describe('pod-garbage-collector-controller', () => {
  it('finished pods beyond the threshold go, evicted ones first, then the oldest', async () => {
    await start(
      2,
      finished('newest', '2024-01-04T00:00:00Z', 'Evicted'),
      finished('old', '2024-01-01T00:00:00Z'),
      finished('young', '2024-01-03T00:00:00Z'),
      finished('middle', '2024-01-02T00:00:00Z'),
      podOn('n', 'running'),
    )
    expect(names()).toEqual(['young', 'middle', 'running'])
  })

  it('pods of a node that is gone go after 40 s, marked failed with the reason', async () => {
    await start(0, podOn('gone', 'lost'), podOn('n', 'fine'))
    await harness.step(39_000)
    expect(names()).toEqual(['lost', 'fine'])
    await harness.step(21_000)
    expect(names()).toEqual(['fine'])
    const patch = harness.cluster.calls.find(({ verb }) => verb === 'patch')?.object as Pod
    expect(patch.status?.phase).toBe('Failed')
    expect(patch.status?.conditions?.at(-1)).toMatchObject({
      type: 'DisruptionTarget',
      reason: 'DeletionByPodGC',
      message: 'PodGC: node no longer exists',
    })
    expect(harness.cluster.calls.at(-1)?.object).toMatchObject({ gracePeriodSeconds: 0 })
  })

  it('reads no pod from the server: its role may not', async () => {
    await start(0, podOn('gone', 'lost'), podOn('gone', 'replaced'))
    const { pods } = harness.resources
    harness.cluster.react('patch', 'pods/status', ({ key }) => {
      if (!key.endsWith('replaced')) return
      harness.cluster.remove(pods, key)
      harness.cluster.seed(pods, podOn('n', 'replaced'))
      throw conflict(pods, 'replaced', 'the UID in the precondition does not match')
    })
    await harness.step(60_000)
    expect(names()).toEqual(['replaced'])
    expect(harness.cluster.calls.filter(({ verb }) => verb === 'get')).toEqual([
      expect.objectContaining({ resource: 'nodes', key: 'gone' }),
    ])
  })

  it('a node that comes back in time keeps its pods', async () => {
    await start(0, podOn('late', 'waiting'))
    await harness.step(30_000)
    addNode(harness.cluster, 'late')
    await harness.step(100_000)
    expect(names()).toEqual(['waiting'])
  })

  it('asks the server about a node that its cache does not have', async () => {
    await start(0, podOn('unseen', 'kept'))
    harness.cluster.react('get', 'nodes', () => ({ metadata: { name: 'unseen' } }))
    await harness.step(100_000)
    expect(names()).toEqual(['kept'])
  })

  it('pods deleted before they had a node go, and those of a node out of service', async () => {
    const going = { deletionTimestamp: '2024-12-31T23:59:00Z', finalizers: ['f'] }
    const { spec, status, metadata } = podOn('n', 'stuck')
    await start(
      0,
      { metadata: { ...metadata, name: 'unbound', ...going }, status: { phase: 'Pending' } },
      { metadata: { ...metadata, ...going }, spec: spec!, status: status! },
    )
    const deleted = (): string[] =>
      harness.cluster.writes.filter((write) => write.startsWith('delete'))
    expect(deleted()).toEqual(['delete pods default/unbound'])
    report(harness.cluster, 'n', { Ready: 'False' })
    harness.cluster.change(harness.resources.nodes, 'n', (node) => {
      node['spec'].taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }]
    })
    await harness.step(20_000)
    expect(deleted()).toContain('delete pods default/stuck')
  })
})

describe('the metrics of pod-garbage-collector-controller', () => {
  it('count the deleted pods by namespace and cause', async () => {
    await start(
      1,
      finished('old', '2024-01-01T00:00:00Z'),
      finished('young', '2024-01-03T00:00:00Z'),
      podOn('gone', 'lost'),
    )
    await harness.step(60_000)
    expect(names()).toEqual(['young'])
    expect(harness.shown('pod_gc_collector_force_delete_pods_total')).toEqual([
      '{namespace="default",reason="terminated"} 1',
      '{namespace="default",reason="orphaned"} 1',
    ])
    expect(harness.shown('pod_gc_collector_force_delete_pod_errors_total')).toEqual([])
  })
})
