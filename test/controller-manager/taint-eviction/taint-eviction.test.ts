import { afterEach, describe, expect, it } from 'vitest'
import type { Pod, Taint, Toleration } from '../../../components/api/generated/types.ts'
import { evictionDelayMs } from '../../../components/controller-manager/taint-eviction/eviction-delay.ts'
import { taintEvictionController } from '../../../components/controller-manager/taint-eviction/taint-eviction.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { addNode, podOn } from '../../support/nodes.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

const down: Taint = { key: 'down', effect: 'NoExecute' }
const forever: Toleration = { key: 'down', operator: 'Exists', effect: 'NoExecute' }

describe('how long a pod may stay', () => {
  it.each<[string, Taint[], Toleration[], number]>([
    ['without taints for good', [], [], Infinity],
    ['with taints of other effects for good', [{ key: 'x', effect: 'NoSchedule' }], [], Infinity],
    ['without a toleration not at all', [down], [], 0],
    ['with a toleration for good', [down], [forever], Infinity],
    ['as long as the toleration says', [down], [{ ...forever, tolerationSeconds: 30 }], 30_000],
    ['a negative toleration is none', [down], [{ ...forever, tolerationSeconds: -1 }], 0],
    ['a toleration of everything counts', [down], [{ operator: 'Exists' }], Infinity],
    ['the value must match', [{ ...down, value: 'a' }], [{ key: 'down', value: 'b' }], 0],
    ['an equal value matches', [{ ...down, value: 'a' }], [{ key: 'down', value: 'a' }], Infinity],
    ['another effect does not count', [down], [{ ...forever, effect: 'NoSchedule' }], 0],
    [
      'the shortest of those used counts',
      [down, { key: 'hot', effect: 'NoExecute' }],
      [
        { ...forever, tolerationSeconds: 60 },
        { key: 'hot', operator: 'Exists', tolerationSeconds: 20 },
      ],
      20_000,
    ],
    [
      'one taint that is not tolerated is enough',
      [down, { key: 'hot', effect: 'NoExecute' }],
      [forever],
      0,
    ],
  ])('%s', (_, taints, tolerations, delayMs) => {
    expect(evictionDelayMs(taints, tolerations)).toBe(delayMs)
  })
})

describe('taint-eviction-controller', () => {
  let harness: ReconcilerHarness
  afterEach(async () => {
    await harness.stop()
    expect(harness.complaints).toEqual([])
  })

  async function start(...pods: Pod[]): Promise<void> {
    harness = createReconcilerHarness()
    addNode(harness.cluster, 'n')
    for (const pod of pods) harness.cluster.seed(harness.resources.pods, pod)
    await harness.start(taintEvictionController)
  }
  async function taint(...taints: Taint[]): Promise<void> {
    harness.cluster.change(harness.resources.nodes, 'n', (node) => {
      node['spec'].taints = taints
    })
    await harness.step()
  }
  const names = (): (string | undefined)[] =>
    harness.cluster.all(harness.resources.pods).map(({ metadata }) => metadata.name)

  it('[NODE-025] NoExecute evicts the pods that do not tolerate it, and no others', async () => {
    await start(
      podOn('n', 'plain'),
      podOn('n', 'tolerant', { tolerations: [forever] }),
      podOn('other', 'elsewhere'),
    )
    await taint(down)
    expect(names()).toEqual(['tolerant', 'elsewhere'])
    expect(harness.events).toEqual([
      'Normal TaintManagerEviction Pod default/plain: Marking for deletion Pod default/plain',
    ])
  })

  it('says why in the pod before it deletes it', async () => {
    await start(podOn('n', 'plain'))
    await taint(down)
    expect(harness.cluster.writes).toEqual([
      'patch pods/status default/plain',
      'delete pods default/plain',
    ])
    const patch = harness.cluster.calls.find(({ verb }) => verb === 'patch')?.object as Pod
    expect(patch.status?.conditions?.at(-1)).toMatchObject({
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByTaintManager',
      message: 'Taint manager: deleting due to NoExecute taint',
    })
  })

  it('a toleration with seconds runs out; taking the taint away in time saves the pod', async () => {
    const tolerations = [{ ...forever, tolerationSeconds: 30 }]
    await start(podOn('n', 'patient', { tolerations }))
    await taint(down)
    await harness.step(29_000)
    expect(names()).toEqual(['patient'])
    await taint()
    await harness.step(60_000)
    expect(names()).toEqual(['patient'])
    expect(harness.events).toEqual([
      'Normal TaintManagerEviction Pod default/patient: Cancelling deletion of Pod default/patient',
    ])
    await taint(down)
    await harness.step(29_000)
    expect(names()).toEqual(['patient'])
    await harness.step(1000)
    expect(names()).toEqual([])
  })

  it('a heartbeat does not start the time again, and a new taint can shorten it', async () => {
    const tolerations = [
      { ...forever, tolerationSeconds: 300 },
      { key: 'hot', operator: 'Exists', tolerationSeconds: 40 },
    ]
    await start(podOn('n', 'patient', { tolerations }))
    await taint(down)
    await harness.step(30_000)
    harness.cluster.change(harness.resources.nodes, 'n', (node) => {
      node.metadata.annotations = { changed: 'yes' }
    })
    await taint(down, { key: 'hot', effect: 'NoExecute' })
    await harness.step(9000)
    expect(names()).toEqual(['patient'])
    await harness.step(1000)
    expect(names()).toEqual([])
  })

  it('a pod that comes to a tainted node goes at once', async () => {
    await start()
    await taint(down)
    harness.cluster.seed(harness.resources.pods, podOn('n', 'late'))
    await harness.step()
    expect(names()).toEqual([])
  })

  it('another pod of the same name is not the one that was to go', async () => {
    const tolerations = [{ ...forever, tolerationSeconds: 30 }]
    await start(podOn('n', 'web', { tolerations }))
    await taint(down)
    await harness.step(20_000)
    harness.cluster.remove(harness.resources.pods, 'default/web')
    harness.cluster.seed(harness.resources.pods, podOn('n', 'web', { tolerations }))
    await harness.step(20_000)
    expect(names()).toEqual(['web'])
    await harness.step(10_000)
    expect(names()).toEqual([])
  })
})

describe('the metrics of taint-eviction-controller', () => {
  it('count the pods that were deleted, and how long after their time', async () => {
    const harness = createReconcilerHarness()
    const { cluster, resources } = harness
    addNode(cluster, 'n')
    cluster.change(resources.nodes, 'n', (node) => {
      node['spec'].taints = [down]
    })
    cluster.seed(resources.pods, podOn('n', 'at-once'))
    cluster.seed(
      resources.pods,
      podOn('n', 'late', { tolerations: [{ ...forever, tolerationSeconds: 30 }] }),
    )
    const wellAgainMs = Date.parse('2025-01-01T00:00:40Z')
    cluster.react('delete', 'pods', ({ key }) => {
      if (key === 'default/late' && harness.clock.now() < wellAgainMs)
        throw new StatusError('InternalError', 'not now')
    })
    await harness.start(taintEvictionController)
    const shown = (name: string): string[] => harness.shown(`taint_eviction_controller_${name}`)
    expect(shown('pod_deletions_total')).toEqual(['1'])
    expect(shown('pod_deletion_duration_seconds')).toEqual(['1, 0'])
    await harness.step(300_000)
    expect(shown('pod_deletions_total')).toEqual(['2'])
    const [line = ''] = shown('pod_deletion_duration_seconds')
    expect(Number(line.split(', ')[1])).toBeGreaterThanOrEqual(10)
    await harness.stop()
  })
})
