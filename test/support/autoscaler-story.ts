/** An autoscaler of the Deployment `default/web` on a stepped clock: its pods, what they use, and its looks. */
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerStatus,
  MetricSpec,
} from '../../components/api/generated/types.ts'
import { timestamp } from '../../components/component-base/clock.ts'
import { runHorizontalPodAutoscaler } from '../../components/controller-manager/horizontal-pod-autoscaler/horizontal-pod-autoscaler.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import { createReconcilerHarness } from './reconciler-harness.ts'
import type { ReconcilerHarness } from './reconciler-harness.ts'

const periodMs = 15_000

/** A target in percent of the requests. */
export const cpu = (averageUtilization: number): MetricSpec => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
})

/** An autoscaler of the Deployment, from 1 to 10 replicas. */
export function autoscaler(spec: object, name = 'web'): KubeObject {
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
  const metadata = { name, namespace: 'default' }
  return { metadata, spec: { scaleTargetRef, minReplicas: 1, maxReplicas: 10, ...spec } }
}

export interface AutoscalerSeed {
  /** Default 2, each with a pod. */
  readonly replicas?: number
  /** Of each pod, in thousandths of a processor; without it there are no metrics. */
  readonly usage?: number
  /** Of the autoscaler `web`; default is a target of 50 % CPU. */
  readonly spec?: object
  readonly others?: readonly KubeObject[]
  /** Kinds that discovery shows besides the built-in ones. */
  readonly custom?: readonly Resource[]
}

export interface AutoscalerStory {
  readonly harness: ReconcilerHarness
  /** Of the Deployment. */
  replicas(): number
  /** Adds pods `p0`, `p1`, ... of the one container `c` until there are so many, all ready for an hour unless said otherwise. */
  addPods(count: number, readyForMs?: number): void
  /** Every pod uses so many thousandths of a processor, as measured at a time. */
  use(milli: number, atMs?: number): void
  /** Lets sync periods pass. */
  look(times?: number): Promise<void>
  /** Of the autoscaler `web`. */
  status(): HorizontalPodAutoscalerStatus
  /** `AbleToScale True SucceededGetScale`. */
  conditions(): string[]
}

/** Starts the controller on a new cluster. */
export async function startAutoscaler(seed: AutoscalerSeed = {}): Promise<AutoscalerStory> {
  const harness = createReconcilerHarness()
  const { cluster, clock, resources, context } = harness
  const count = seed.replicas ?? 2
  const story = createStory(harness)
  cluster.seed(resources.deployments, {
    metadata: { name: 'web', namespace: 'default' },
    spec: { replicas: count },
  })
  story.addPods(count)
  if (seed.usage !== undefined) story.use(seed.usage, clock.now())
  answerScales(harness, story.replicas)
  for (const one of [autoscaler({ metrics: [cpu(50)], ...seed.spec }), ...(seed.others ?? [])])
    cluster.seed(resources.horizontalPodAutoscalers, one)
  const all = [...resources.all, ...(seed.custom ?? [])]
  await harness.start({
    name: 'horizontal-pod-autoscaler-controller',
    start: (given, signal) =>
      runHorizontalPodAutoscaler(
        async () => ({ all, preferred: [], failed: [] }),
        { ...context, ...given },
        signal,
      ),
  })
  return story
}

function createStory(harness: ReconcilerHarness): AutoscalerStory {
  const { cluster, clock, resources } = harness
  const status = (): HorizontalPodAutoscalerStatus =>
    cluster.peek<HorizontalPodAutoscaler & KubeObject>(
      resources.horizontalPodAutoscalers,
      'default/web',
    )!.status!
  return {
    harness,
    replicas: () => {
      const deployment = cluster.peek(resources.deployments, 'default/web')!
      return (deployment['spec'] as { replicas: number }).replicas
    },
    addPods: (count, readyForMs = 3_600_000) => {
      const since = timestamp(clock.now() - readyForMs)
      for (let i = cluster.all(resources.pods).length; i < count; i += 1) {
        cluster.seed(resources.pods, {
          metadata: { name: `p${i}`, namespace: 'default', labels: { app: 'web' } },
          spec: { containers: [{ name: 'c', resources: { requests: { cpu: '100m' } } }] },
          status: {
            phase: 'Running',
            startTime: since,
            conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: since }],
          },
        })
      }
    },
    use: (milli, atMs = clock.now()) => {
      for (const { metadata } of cluster.all(resources.podMetrics))
        cluster.remove(resources.podMetrics, `default/${metadata.name}`)
      for (const { metadata } of cluster.all(resources.pods)) {
        cluster.seed(resources.podMetrics, {
          metadata: { name: metadata.name!, namespace: 'default', labels: { app: 'web' } },
          timestamp: timestamp(atMs),
          window: '30s',
          containers: [{ name: 'c', usage: { cpu: `${milli}m`, memory: '1Mi' } }],
        })
      }
    },
    look: async (times = 1) => {
      for (let i = 0; i < times; i += 1) await harness.step(periodMs)
    },
    status,
    conditions: () =>
      (status().conditions ?? []).map(({ type, status: is, reason }) => `${type} ${is} ${reason}`),
  }
}

/** The scale sub-resource, which the in-memory cluster lacks. */
function answerScales({ cluster, resources }: ReconcilerHarness, replicas: () => number): void {
  cluster.react('get', 'deployments/scale', () => {
    const { metadata } = cluster.peek(resources.deployments, 'default/web')!
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
