/** The autoscaler's controller: metrics in, scales, conditions and events out. */
import { afterEach, describe, expect, it } from 'vitest'
import type {
  HorizontalPodAutoscalerBehavior,
  MetricSpec,
} from '../../../components/api/generated/types.ts'
import { timestamp } from '../../../components/component-base/clock.ts'
import {
  internalError,
  objectModified,
} from '../../../components/machinery/objects/status-error.ts'
import { autoscaler, cpu, startAutoscaler } from '../../support/autoscaler-story.ts'
import type { AutoscalerSeed, AutoscalerStory } from '../../support/autoscaler-story.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

let story: AutoscalerStory
let harness: ReconcilerHarness
afterEach(async () => {
  await harness.stop()
})

async function start(seed: AutoscalerSeed = {}): Promise<void> {
  story = await startAutoscaler(seed)
  harness = story.harness
}
const replicas = () => story.replicas()
const addPods = (count: number) => story.addPods(count)
const use = (milli: number) => story.use(milli)
const look = (times?: number) => story.look(times)
const status = () => story.status()
const conditions = () => story.conditions()

describe('an autoscaler of CPU', () => {
  it('scales up after a sync period, says why, and then writes nothing more', async () => {
    await start({ usage: 100 })
    expect(harness.cluster.writes).toEqual([])
    await look()
    expect(replicas()).toBe(4)
    expect(status()).toMatchObject({
      currentReplicas: 2,
      desiredReplicas: 4,
      lastScaleTime: timestamp(harness.clock.now()),
      currentMetrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', current: { averageUtilization: 100, averageValue: '100m' } },
        },
      ],
    })
    expect(conditions()).toEqual([
      'AbleToScale True SucceededRescale',
      'ScalingActive True ValidMetricFound',
      'ScalingLimited False DesiredWithinRange',
    ])
    expect(harness.events).toEqual([
      'Normal SuccessfulRescale HorizontalPodAutoscaler default/web: New size: 4; reason: cpu resource utilization (percentage of request) above target',
    ])
    addPods(4)
    use(50)
    await look(2)
    const writes = harness.cluster.writes.length
    await look(5)
    expect(harness.cluster.writes).toHaveLength(writes)
    expect(harness.complaints).toEqual([])
  })

  it('scales down only when no recommendation of five minutes was higher', async () => {
    await start({ replicas: 4, usage: 10 })
    await look(2)
    expect(replicas()).toBe(4)
    expect(conditions()).toContain('AbleToScale True ScaleDownStabilized')
    await look(20)
    expect(replicas()).toBe(1)
    expect(harness.events.at(-1)).toContain('New size: 1; reason: All metrics below target')
  })

  it.each<[string, object, number, string]>([
    ['its maximum', { maxReplicas: 3 }, 3, 'ScalingLimited True TooManyReplicas'],
    ['twice the replicas, or four', {}, 4, 'ScalingLimited True ScaleUpLimit'],
    [
      'its policies',
      { behavior: { scaleUp: { policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }] } } },
      3,
      'ScalingLimited True ScaleUpLimit',
    ],
    [
      'nothing while scaling up is disabled',
      { behavior: { scaleUp: { selectPolicy: 'Disabled' } } },
      2,
      'ScalingLimited True ScaleUpLimit',
    ],
  ])('scales no further than %s', async (_, spec, wanted, condition) => {
    await start({ usage: 1000, spec })
    await look()
    expect(replicas()).toBe(wanted)
    expect(conditions()).toContain(condition)
  })

  it('keeps to a policy over its period', async () => {
    const policies = [{ type: 'Pods', value: 1, periodSeconds: 60 }]
    const behavior: HorizontalPodAutoscalerBehavior = { scaleUp: { policies } }
    await start({ usage: 1000, spec: { behavior } })
    await look(3)
    expect(replicas()).toBe(3)
    await look(2)
    expect(replicas()).toBe(4)
  })

  it('scales down at once without a window, by its policies', async () => {
    const policies = [{ type: 'Percent', value: 50, periodSeconds: 60 }]
    const scaleDown = { stabilizationWindowSeconds: 0, policies }
    await start({ replicas: 8, usage: 1, spec: { behavior: { scaleDown } } })
    await look()
    expect(replicas()).toBe(4)
    expect(conditions()).toContain('ScalingLimited True ScaleDownLimit')
  })

  it.each<[string, number, number]>([
    ['above its maximum', 12, 10],
    ['below its minimum', 1, 2],
    ['at zero', 0, 0],
  ])('a workload %s needs no metrics', async (_, count, wanted) => {
    await start({ replicas: count, spec: { minReplicas: 2 } })
    await look()
    expect(replicas()).toBe(wanted)
    expect(harness.complaints).toEqual([])
  })

  it('scales nothing without metrics, and says so once a period', async () => {
    await start()
    await look()
    expect(replicas()).toBe(2)
    const why =
      'failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API'
    expect(status().conditions?.at(-1)).toMatchObject({
      type: 'ScalingActive',
      status: 'False',
      reason: 'FailedGetResourceMetric',
      message: `the HPA was unable to compute the replica count: ${why}`,
    })
    expect(harness.events).toEqual([
      `Warning FailedGetResourceMetric HorizontalPodAutoscaler default/web: ${why}`,
      `Warning FailedComputeMetricsReplicas HorizontalPodAutoscaler default/web: invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: ${why}`,
    ])
    const writes = harness.cluster.writes.length
    await look(4)
    expect(harness.cluster.writes).toHaveLength(writes)
  })

  it('survives a scale that cannot be read or written, and scales when it can', async () => {
    await start({ usage: 100 })
    const ends = ['get', 'update'].map((verb) =>
      harness.cluster.react(verb, 'deployments/scale', () => {
        throw internalError(objectModified)
      }),
    )
    await look()
    expect(conditions()).toEqual(['AbleToScale False FailedGetScale'])
    ends[0]!()
    await look()
    expect(conditions()).toContain('AbleToScale False FailedUpdateScale')
    expect(status().currentMetrics).toMatchObject([
      { resource: { current: { averageUtilization: 100 } } },
    ])
    expect(harness.events.at(-1)).toContain('Warning FailedRescale')
    ends[1]!()
    await look()
    expect(replicas()).toBe(4)
  })

  it('leaves pods of two autoscalers alone', async () => {
    await start({ usage: 100, others: [autoscaler({ metrics: [cpu(10)] }, 'again')] })
    await look()
    const before = replicas()
    await look(2)
    expect(replicas()).toBe(before)
    expect(conditions()).toContain('ScalingActive False AmbiguousSelector')
    const why =
      'pods by selector app=web are controlled by multiple HPAs: [default/again default/web]'
    expect(status().conditions).toContainEqual(expect.objectContaining({ message: why }))
    expect(harness.events).toContain(
      `Warning AmbiguousSelector HorizontalPodAutoscaler default/web: ${why}`,
    )
    harness.cluster.remove(harness.resources.horizontalPodAutoscalers, 'default/again')
    await look()
    expect(conditions()).toContain('ScalingActive True ValidMetricFound')
  })
})

const custom = '/apis/custom.metrics.k8s.io/v1beta2/namespaces/default'
const external = '/apis/external.metrics.k8s.io/v1beta1/namespaces/default'
const metric = { name: 'load' }
const values = (...all: string[]) => ({
  items: all.map((value, i) => ({
    describedObject: { name: `p${i}` },
    timestamp: '2025-01-01T00:00:00Z',
    value,
  })),
})

describe('other metrics', () => {
  it.each<[string, MetricSpec, string, object, number]>([
    [
      'of one container',
      {
        type: 'ContainerResource',
        containerResource: {
          name: 'cpu',
          container: 'c',
          target: { type: 'Utilization', averageUtilization: 40 },
        },
      },
      '',
      {},
      3,
    ],
    [
      'of pods',
      { type: 'Pods', pods: { metric, target: { type: 'AverageValue', averageValue: '10' } } },
      `${custom}/pods/*/load`,
      values('12', '17'),
      3,
    ],
    [
      'of an object',
      {
        type: 'Object',
        object: {
          metric,
          describedObject: { apiVersion: 'v1', kind: 'Service', name: 'front' },
          target: { type: 'Value', value: '10' },
        },
      },
      `${custom}/services/front/load`,
      values('15'),
      3,
    ],
    [
      'of elsewhere',
      {
        type: 'External',
        external: { metric, target: { type: 'AverageValue', averageValue: '5' } },
      },
      `${external}/load`,
      values('10', '5'),
      3,
    ],
    [
      'of elsewhere, by their sum for all pods,',
      { type: 'External', external: { metric, target: { type: 'Value', value: '10' } } },
      `${external}/load`,
      values('10', '5'),
      3,
    ],
    [
      'of an object, divided by its pods,',
      {
        type: 'Object',
        object: {
          metric,
          describedObject: { apiVersion: 'v1', kind: 'Service', name: 'front' },
          target: { type: 'AverageValue', averageValue: '5' },
        },
      },
      `${custom}/services/front/load`,
      values('15'),
      3,
    ],
  ])('%s scale', async (_, spec, path, answer, wanted) => {
    await start({ usage: 60, spec: { metrics: [spec] } })
    if (path !== '') harness.cluster.react('get', path, () => answer)
    await look()
    expect(harness.events).toHaveLength(1)
    expect(replicas()).toBe(wanted)
    expect(status().currentMetrics).toMatchObject([{ type: spec.type }])
    expect(harness.complaints).toEqual([])
  })

  it('that fail keep the others from scaling down, not from scaling up', async () => {
    const target = { type: 'Value', value: '1' }
    const failing: MetricSpec = { type: 'External', external: { metric, target } }
    const scaleDown = { stabilizationWindowSeconds: 0 }
    await start({ usage: 1, spec: { metrics: [failing, cpu(50)], behavior: { scaleDown } } })
    await look()
    expect(replicas()).toBe(2)
    expect(conditions()).toContain('ScalingActive False FailedGetExternalMetric')
    use(100)
    await look()
    expect(replicas()).toBe(4)
  })
})
