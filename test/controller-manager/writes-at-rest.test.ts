/** All controllers beside one settled object of each workload, on a clock that the test steps: nothing is written but leases. */
import { afterEach, expect, test } from 'vitest'
import type { Pod } from '../../components/api/generated/types.ts'
import { timestamp } from '../../components/component-base/clock.ts'
import { controllers } from '../../components/controller-manager/controllers.ts'
import { targetNode } from '../../components/controller-manager/daemon-set/daemon-pods.ts'
import type { ResourceKey } from '../../components/api/resources.ts'
import { keyOf } from '../../components/machinery/objects/object.ts'
import { createHarness } from '../support/controller-harness.ts'
import type { Harness } from '../support/controller-harness.ts'
import { job } from '../support/job-story.ts'
import { addNode, renew } from '../support/nodes.ts'
import { claim, defaultClass } from '../support/volumes.ts'
import {
  daemonSet,
  deployment,
  replicaSet,
  runPods,
  statefulSet,
  template,
} from '../support/workloads.ts'

const nodes = ['n1', 'n2']
/** The nodes' agents renew their leases so often. */
const renewMs = 10_000

let harness: Harness
afterEach(async () => {
  await harness.stop()
})

function seedWorkloads(): void {
  const { cluster, resources } = harness
  for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease']) {
    const labels = { 'kubernetes.io/metadata.name': name }
    cluster.seed(resources.namespaces, {
      metadata: { name, labels },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    })
  }
  for (const name of nodes) addNode(cluster, name, { 'kubernetes.io/hostname': name })
  const [container] = template('web').spec!.containers
  const requests = { cpu: '100m' }
  const spec = { containers: [{ ...container!, resources: { requests } }] }
  cluster.seed(resources.deployments, deployment('web', { template: { ...template('web'), spec } }))
  cluster.seed(resources.replicaSets, replicaSet('bare', 1))
  cluster.seed(resources.statefulSets, statefulSet('db', { replicas: 2 }))
  cluster.seed(resources.daemonSets, daemonSet('log'))
  cluster.seed(resources.jobs, job('sum'))
  const jobTemplate = { metadata: {}, spec: { template: job('cron').spec!.template } }
  const schedule = { schedule: '0 0 1 7 *', concurrencyPolicy: 'Allow', suspend: false }
  cluster.seed(resources.cronJobs, {
    metadata: { name: 'yearly', namespace: 'default' },
    spec: { ...schedule, jobTemplate },
  })
  seedCompanions()
}

/** What is about the workloads rather than one of them. */
function seedCompanions(): void {
  const { cluster, resources } = harness
  const selector = { app: 'web' }
  cluster.seed(resources.services, {
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      type: 'ClusterIP',
      clusterIP: '10.0.0.7',
      clusterIPs: ['10.0.0.7'],
      ipFamilies: ['IPv4'],
      selector,
      ports: [{ name: 'http', port: 80, targetPort: 80, protocol: 'TCP' }],
    },
  })
  cluster.seed(resources.podDisruptionBudgets, {
    metadata: { name: 'web', namespace: 'default', generation: 1 },
    spec: { minAvailable: 2, selector: { matchLabels: selector } },
  })
  cluster.seed(resources.horizontalPodAutoscalers, {
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      minReplicas: 1,
      maxReplicas: 5,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
        },
      ],
    },
  })
  cluster.seed(resources.resourceQuotas, {
    metadata: { name: 'some', namespace: 'default' },
    spec: { hard: { pods: '20', services: '5' } },
  })
  cluster.seed(resources.storageClasses, defaultClass())
  cluster.seed(resources.persistentVolumeClaims, claim('data', { className: 'standard' }))
}

/** The Deployment's scale, and what each of its pods uses: as much as the autoscaler is to keep. */
function serveMetrics(): void {
  const { cluster, resources, clock } = harness
  cluster.react('get', 'deployments/scale', ({ key }) => {
    const { metadata, ...rest } = cluster.peek(resources.deployments, key)!
    const { replicas } = rest['spec'] as { replicas: number }
    const status = { replicas, selector: 'app=web' }
    return { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata, spec: { replicas }, status }
  })
  for (const { metadata } of cluster.all(resources.pods)) {
    cluster.change(resources.pods, keyOf({ metadata }), (pod) => {
      pod['status'] = { ...(pod['status'] as object), startTime: '2024-12-31T00:00:00Z' }
    })
    cluster.seed(resources.podMetrics, {
      metadata: { name: metadata.name!, namespace: 'default', labels: metadata.labels! },
      timestamp: timestamp(clock.now()),
      window: '30s',
      containers: [{ name: 'web', usage: { cpu: '50m', memory: '1Mi' } }],
    })
  }
}

/** The scheduler binds pods; the agents report that they run, and of the Job's pods that they have ended. */
function playAgents(): void {
  const { cluster, resources, clock } = harness
  for (const [at, pod] of cluster.all<Pod>(resources.pods).entries()) {
    if (pod.spec?.nodeName !== undefined) continue
    cluster.change(resources.pods, keyOf(pod), (object) => {
      const nodeName = targetNode(pod) ?? nodes[at % nodes.length]
      object['spec'] = { ...(object['spec'] as object), nodeName }
    })
  }
  for (const pod of cluster.all<Pod>(resources.pods)) {
    const isOfJob = pod.metadata.labels?.['batch.kubernetes.io/job-name'] !== undefined
    if (!isOfJob || pod.status?.phase === 'Succeeded') continue
    cluster.change(resources.pods, keyOf(pod), (object) => {
      const lastTransitionTime = timestamp(clock.now())
      const conditions = [{ type: 'Ready', status: 'False', lastTransitionTime }]
      object['status'] = { phase: 'Succeeded', conditions }
    })
  }
  runPods(cluster, { broken: ['busybox'] })
}

async function pass(ms: number, each: () => void = () => {}): Promise<void> {
  for (let passed = 0; passed < ms; passed += renewMs) {
    await harness.step(renewMs)
    renew(harness.cluster, ...nodes)
    each()
  }
}

/** What the statuses say: each controller has done its work. */
function summary(): Record<string, unknown> {
  const { cluster, resources } = harness
  const at = (key: ResourceKey, name: string, field: string): unknown =>
    cluster.peek(resources[key], name)?.['status']?.[field] as unknown
  return {
    deployment: at('deployments', 'default/web', 'availableReplicas'),
    bare: at('replicaSets', 'default/bare', 'availableReplicas'),
    set: at('statefulSets', 'default/db', 'availableReplicas'),
    daemons: at('daemonSets', 'default/log', 'numberAvailable'),
    job: at('jobs', 'default/sum', 'succeeded'),
    budget: at('podDisruptionBudgets', 'default/web', 'disruptionsAllowed'),
    scaler: at('horizontalPodAutoscalers', 'default/web', 'desiredReplicas'),
    quota: at('resourceQuotas', 'default/some', 'used'),
    claim: at('persistentVolumeClaims', 'default/data', 'phase'),
    slices: cluster.all(resources.endpointSlices).length,
  }
}
const settled: ReturnType<typeof summary> = {
  deployment: 3,
  bare: 1,
  set: 2,
  daemons: 2,
  job: 1,
  budget: 1,
  scaler: 3,
  quota: { pods: '8', services: '1' },
  claim: 'Bound',
  slices: 1,
}

/** Writes by object, without leases. */
function writesSince(mark: number): string[] {
  return harness.cluster.writes.slice(mark).filter((write) => !/ (leases|.*reviews) /.test(write))
}

test('an hour at rest takes no write but those of leases', async () => {
  harness = createHarness()
  seedWorkloads()
  for (const entry of controllers) await harness.start(entry)
  await pass(60_000, playAgents)
  serveMetrics()
  await pass(5 * 60_000)
  const { cluster, resources, events } = harness
  expect(summary()).toEqual(settled)
  expect(cluster.all(resources.pods)).toHaveLength(9)
  const mark = cluster.writes.length
  // It is no rest unless something has been written before.
  expect(mark).toBeGreaterThan(20)
  events.splice(0)
  await pass(60 * 60_000)
  expect(writesSince(mark)).toEqual([])
  expect(events).toEqual([])
}, 120_000)
