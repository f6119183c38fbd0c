/** The autoscaler's controller: metrics in, scales, conditions and events out. */
import { afterEach, describe, expect, it } from 'vitest'
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerBehavior,
  MetricSpec,
} from '../../../components/api/generated/types.ts'
import { timestamp } from '../../../components/component-base/clock.ts'
import { runHorizontalPodAutoscaler } from '../../../components/controller-manager/horizontal-pod-autoscaler/horizontal-pod-autoscaler.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import {
  internalError,
  objectModified,
} from '../../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

const periodMs = 15_000
let harness: ReconcilerHarness
afterEach(async () => {
  await harness.stop()
})

const cpu = (averageUtilization: number): MetricSpec => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
})

const deployment = () => harness.cluster.peek(harness.resources.deployments, 'default/web')!
const replicas = (): number => (deployment()['spec'] as { replicas: number }).replicas

/** Pods p0, p1, ... of the one container `c`, all ready for long. */
function addPods(count: number): void {
  const { cluster, resources, clock } = harness
  const longAgo = timestamp(clock.now() - 3_600_000)
  for (let i = cluster.all(resources.pods).length; i < count; i += 1) {
    cluster.seed(resources.pods, {
      metadata: { name: `p${i}`, namespace: 'default', labels: { app: 'web' } },
      spec: { containers: [{ name: 'c', resources: { requests: { cpu: '100m' } } }] },
      status: {
        phase: 'Running',
        startTime: longAgo,
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: longAgo }],
      },
    })
  }
}

/** Every pod uses so many thousandths of a processor. */
function use(milli: number): void {
  const { cluster, resources, clock } = harness
  for (const { metadata } of cluster.all(resources.podMetrics))
    cluster.remove(resources.podMetrics, `default/${metadata.name}`)
  for (const { metadata } of cluster.all(resources.pods)) {
    cluster.seed(resources.podMetrics, {
      metadata: { name: metadata.name!, namespace: 'default', labels: { app: 'web' } },
      timestamp: timestamp(clock.now()),
      window: '30s',
      containers: [{ name: 'c', usage: { cpu: `${milli}m`, memory: '1Mi' } }],
    })
  }
}

function answerScales(): void {
  const { cluster, resources } = harness
  cluster.react('get', 'deployments/scale', () => {
    const { metadata } = deployment()
    return {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata,
      spec: { replicas: replicas() },
      status: { replicas: replicas(), selector: 'app=web' },
    }
  })
  cluster.react('update', 'deployments/scale', ({ object }) => {
    const { replicas: wanted } = (object as { spec: { replicas: number } }).spec
    cluster.change(resources.deployments, 'default/web', (one) => {
      one['spec'] = { replicas: wanted }
    })
    return object
  })
}

function autoscaler(spec: object, name = 'web'): KubeObject {
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
  const metadata = { name, namespace: 'default' }
  return { metadata, spec: { scaleTargetRef, minReplicas: 1, maxReplicas: 10, ...spec } }
}

async function start(
  seed: { replicas?: number; usage?: number; spec?: object; others?: readonly KubeObject[] } = {},
): Promise<void> {
  harness = createReconcilerHarness()
  const { cluster, resources, context } = harness
  const count = seed.replicas ?? 2
  cluster.seed(resources.deployments, {
    metadata: { name: 'web', namespace: 'default' },
    spec: { replicas: count },
  })
  addPods(count)
  if (seed.usage !== undefined) use(seed.usage)
  answerScales()
  const own = autoscaler({ metrics: [cpu(50)], ...seed.spec })
  for (const one of [own, ...(seed.others ?? [])])
    cluster.seed(resources.horizontalPodAutoscalers, one)
  await harness.start({
    name: 'horizontal-pod-autoscaler-controller',
    start: (given, signal) =>
      runHorizontalPodAutoscaler(
        async () => ({ all: resources.all, preferred: [], failed: [] }),
        { ...context, ...given },
        signal,
      ),
  })
}

const look = async (times = 1): Promise<void> => {
  for (let i = 0; i < times; i += 1) await harness.step(periodMs)
}
const status = () =>
  harness.cluster.peek<HorizontalPodAutoscaler & KubeObject>(
    harness.resources.horizontalPodAutoscalers,
    'default/web',
  )!.status!
const conditions = (): string[] =>
  (status().conditions ?? []).map(({ type, status: is, reason }) => `${type} ${is} ${reason}`)

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
