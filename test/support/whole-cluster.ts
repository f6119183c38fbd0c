/**
 * A cluster with one of every workload, all its controllers on a stepped clock, and stand-ins for the scheduler and the nodes'
 * agents: for what must come out the same whatever goes wrong in between.
 */
import type { Job, Node, Pod, ResourceQuota } from '../../components/api/generated/types.ts'
import { timestamp } from '../../components/component-base/clock.ts'
import type { Discover } from '../../components/client/server-resources.ts'
import type {
  ControllerContext,
  ControllerEntry,
} from '../../components/controller-manager/controller-context.ts'
import { controllers } from '../../components/controller-manager/controllers.ts'
import { runGarbageCollector } from '../../components/controller-manager/garbage-collector/garbage-collector.ts'
import { runHorizontalPodAutoscaler } from '../../components/controller-manager/horizontal-pod-autoscaler/horizontal-pod-autoscaler.ts'
import { runNamespaceController } from '../../components/controller-manager/namespace/namespace.ts'
import { runResourceQuota } from '../../components/controller-manager/resource-quota/resource-quota.ts'
import { isReady } from '../../components/controller-manager/pod-state.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { controllerOf, keyOf } from '../../components/machinery/objects/object.ts'
import type { Resources } from '../../components/api/resources.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import type { FakeCluster, RecordedCall } from './fake-client.ts'
import { job } from './job-story.ts'
import { addNode, renew, report } from './nodes.ts'
import { createReconcilerHarness } from './reconciler-harness.ts'
import type { ReconcilerHarness } from './reconciler-harness.ts'
import { staticResources } from './static-discovery.ts'
import { claim, storageClass } from './volumes.ts'
import { daemonSet, deployment, replicaSet, runPod, statefulSet, template } from './workloads.ts'

type Run = (discover: Discover, context: ControllerContext, signal: AbortSignal) => Promise<void>

/** They find kinds by discovery, which the in-memory cluster lacks. */
const byDiscovery: Readonly<Record<string, Run>> = {
  'garbage-collector-controller': runGarbageCollector,
  'namespace-controller': runNamespaceController,
  'horizontal-pod-autoscaler-controller': runHorizontalPodAutoscaler,
  'resourcequota-controller': runResourceQuota,
}

/** Every controller; discovery is one request, which can fail as others. */
function entriesOf({ cluster }: ReconcilerHarness): Pick<ControllerEntry, 'name' | 'start'>[] {
  cluster.react('get', '/apis', () => ({}))
  return controllers.map(({ name, start }) => {
    const run = byDiscovery[name]
    if (run === undefined) return { name, start }
    return {
      name,
      start: (context, signal) => {
        const discover = async () => {
          await context.client.rest.json({ method: 'GET', path: '/apis' })
          return staticResources(context.dialect)
        }
        return run(discover, context, signal)
      },
    }
  })
}

const nodes = ['n1', 'n2']
/** An undisturbed story takes a fifth. */
const mostCalls = 15_000
const service = (name: string, app: string, spec: object = {}): KubeObject => ({
  metadata: { name, namespace: 'default' },
  spec: {
    selector: { app },
    ports: [{ port: 80 }],
    ipFamilies: ['IPv4'],
    clusterIP: '10.0.0.9',
    ...spec,
  },
})
const ephemeralPod = (name: string): KubeObject => {
  const spec = { ...claim('unused', { className: 'standard' }).spec }
  return {
    metadata: { name, namespace: 'default' },
    spec: {
      containers: [],
      volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec } } }],
    },
  }
}
const finishing = (name: string, completions: number) =>
  job(name, { completions, parallelism: completions })

/** One of each owner, which users delete later. */
const deleted = (resources: Resources): readonly (readonly [Resource, KubeObject])[] => [
  [resources.deployments, deployment('gone') as KubeObject],
  [resources.replicaSets, replicaSet('gone', 2) as KubeObject],
  [resources.statefulSets, statefulSet('gone', { replicas: 2 }) as KubeObject],
  [resources.daemonSets, daemonSet('gone') as KubeObject],
  [resources.jobs, job('gone', { completions: 2, parallelism: 2, suspend: false }) as KubeObject],
  [resources.services, service('gone', 'grows')],
  [resources.pods, ephemeralPod('gone')],
]

function seedAll({ cluster, resources }: ReconcilerHarness): void {
  for (const name of nodes) addNode(cluster, name)
  const all: readonly (readonly [Resource, KubeObject])[] = [
    [resources.namespaces, { metadata: { name: 'default' }, status: { phase: 'Active' } }],
    [resources.storageClasses, storageClass('standard', {})],
    [resources.deployments, deployment('grows') as KubeObject],
    [resources.deployments, deployment('rolls') as KubeObject],
    ...deleted(resources),
    [resources.namespaces, { metadata: { name: 'ending' }, spec: { finalizers: ['kubernetes'] } }],
    [resources.configMaps, { metadata: { name: 'left', namespace: 'ending' } }],
    [resources.resourceQuotas, quota()],
    [resources.replicaSets, replicaSet('bare', 2) as KubeObject],
    [resources.replicationControllers, replicationController('older', 2)],
    [resources.statefulSets, statefulSet('named', withClaims) as KubeObject],
    [resources.daemonSets, daemonSet('each') as KubeObject],
    [resources.jobs, finishing('first', 3) as KubeObject],
    [resources.cronJobs, cronJob()],
    [resources.services, service('front', 'grows')],
    [resources.services, service('outside', 'bare', { type: 'LoadBalancer' })],
    [resources.podDisruptionBudgets, budget()],
    [resources.pods, ephemeralPod('lone')],
    [resources.persistentVolumeClaims, claim('early', { className: 'standard' }) as KubeObject],
  ]
  for (const [resource, object] of all) cluster.seed(resource, object)
}

const withClaims = {
  volumeClaimTemplates: [
    { metadata: { name: 'data' }, spec: { ...claim('unused', { className: 'standard' }).spec } },
  ],
} as Parameters<typeof statefulSet>[1] & object

function replicationController(name: string, replicas: number): KubeObject {
  return {
    metadata: { name, namespace: 'default' },
    spec: { replicas, selector: { app: name }, template: template(name) },
  }
}

function quota(): KubeObject {
  const hard = { pods: '100', persistentvolumeclaims: '20', 'count/deployments.apps': '5' }
  return { metadata: { name: 'all', namespace: 'default' }, spec: { hard } }
}

function budget(): KubeObject {
  const selector = { matchLabels: { app: 'grows' } }
  return { metadata: { name: 'kept', namespace: 'default' }, spec: { minAvailable: 1, selector } }
}

/** Every five minutes; its Jobs come with what the server would fill in. */
function cronJob(): KubeObject {
  const labels = { app: 'tick' }
  const { spec } = finishing('tick', 1)
  return {
    metadata: { name: 'tick', namespace: 'default' },
    spec: {
      schedule: '*/5 * * * *',
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
      jobTemplate: {
        metadata: { labels },
        spec: {
          ...spec,
          selector: { matchLabels: labels },
          template: { ...spec?.template, metadata: { labels } },
        },
      },
    },
  }
}

/** What users change while the trouble lasts. */
function changeAll({ cluster, resources }: ReconcilerHarness): void {
  const edit = (resource: Resource, name: string, by: (spec: any) => void): void => {
    cluster.change(resource, `default/${name}`, (object) => by(object['spec']))
  }
  const rolled = template('rolls', 'rolls:2')
  edit(resources.deployments, 'grows', (spec) => (spec.replicas = 5))
  edit(resources.deployments, 'rolls', (spec) => (spec.template = rolled))
  edit(resources.replicaSets, 'bare', (spec) => (spec.replicas = 4))
  edit(resources.replicationControllers, 'older', (spec) => (spec.replicas = 1))
  edit(resources.statefulSets, 'named', (spec) => (spec.replicas = 4))
  edit(resources.daemonSets, 'each', (spec) => (spec.template = template('each', 'each:2')))
  cluster.seed(resources.jobs, finishing('second', 4) as KubeObject)
  cluster.seed(resources.pods, ephemeralPod('late'))
  cluster.seed(
    resources.persistentVolumeClaims,
    claim('late', { className: 'standard' }) as KubeObject,
  )
  cluster.seed(resources.services, service('back', 'older'))
  for (const [resource] of deleted(resources)) cluster.remove(resource, 'default/gone')
  cluster.remove(resources.namespaces, 'ending')
}

export interface WholeCluster {
  readonly harness: ReconcilerHarness
  readonly cluster: FakeCluster
  /** Moves time on in steps, between which scheduler and agents act. */
  pass(ms: number, stepMs: number): Promise<void>
  /** Users change every workload. */
  change(): void
  /** What the controllers created, by the stems of names, sorted; no events, and nothing for owners that users delete. */
  created(): string[]
  /** What there is, without what differs from run to run. */
  shape(): Record<string, unknown>
}

/** Starts every controller, on a cluster with one of each workload. */
export async function startWholeCluster(): Promise<WholeCluster> {
  const harness = createReconcilerHarness({
    flags: { 'simulated-load-balancer-range': ['198.18.0.0/16'] as never },
  })
  const { cluster } = harness
  seedAll(harness)
  // A loop without a pause would never give the clock back.
  cluster.react('*', '*', () => {
    if (cluster.calls.length > mostCalls) throw new Error('the controllers spin')
  })
  await harness.start(...entriesOf(harness))
  return {
    harness,
    cluster,
    pass: async (ms, stepMs) => {
      for (let passed = 0; passed < ms; passed += stepMs) {
        await harness.step(stepMs)
        actOnNodes(harness)
        actOnPods(harness)
      }
    },
    change: () => changeAll(harness),
    created: () =>
      cluster.created
        .filter((one) => !one.startsWith('events ') && !one.includes('gone'))
        .map((one) => one.replaceAll(uuids, '*'))
        .toSorted(),
    shape: () => shapeOf(harness),
  }
}

/** What scheduler and agents do with each pod: bind it, run it, report it ready again if need be, and end that of a Job. */
function actOnPods({ cluster, resources }: ReconcilerHarness): void {
  for (const pod of cluster.all<Pod>(resources.pods)) {
    const { phase = 'Pending' } = pod.status ?? {}
    if (pod.spec?.nodeName === undefined) {
      const terms =
        pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
          ?.nodeSelectorTerms
      const nodeName = terms?.[0]?.matchFields?.[0]?.values?.[0] ?? 'n1'
      cluster.change(resources.pods, keyOf(pod), (one) => void (one['spec'].nodeName = nodeName))
    } else if (phase === 'Running' && controllerOf(pod)?.kind === 'Job') {
      cluster.change(resources.pods, keyOf(pod), (one) => {
        const terminated = { exitCode: 0, finishedAt: timestamp(cluster.clock.now()) }
        one['status'] = {
          phase: 'Succeeded',
          containerStatuses: [{ name: 'main', restartCount: 0, state: { terminated } }],
        }
      })
    } else if (phase === 'Pending' || (phase === 'Running' && !isReady(pod))) runPod(cluster, pod)
  }
}

/** What agents report of their nodes, and again when another says otherwise. */
function actOnNodes({ cluster, resources }: ReconcilerHarness): void {
  renew(cluster, ...nodes)
  for (const name of nodes) {
    const { status } = cluster.peek<Node & KubeObject>(resources.nodes, name) ?? {}
    const isGood = ({ type, status: is }: { type: string; status: string }): boolean =>
      is === (type === 'Ready' ? 'True' : 'False')
    if (status?.conditions?.every(isGood) !== true) report(cluster, name, sound)
  }
}

const sound = {
  Ready: 'True',
  MemoryPressure: 'False',
  DiskPressure: 'False',
  PIDPressure: 'False',
}

const uuids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** Names without what is generated. */
function plain({ metadata }: KubeObject): string {
  const { name = '', generateName } = metadata
  return (generateName === undefined ? name : `${generateName}*`).replaceAll(uuids, '*')
}

/** The numbers and words of a status; no times, no names. */
function summaryOf(object: KubeObject & { status?: Record<string, unknown> }): string {
  const { metadata, status } = object
  const conditions = (status?.['conditions'] ?? []) as { type: string; status: string }[]
  const entries = Object.entries(status ?? {})
    .filter(([name, value]) => typeof value === 'number' || name === 'phase')
    .map(([name, value]) =>
      name === 'observedGeneration' ? [name, value === metadata.generation] : [name, value],
    )
  return [
    ...entries.map(([name, value]) => `${String(name)}=${String(value)}`),
    ...conditions.map((one) => `${one.type}=${one.status}`),
  ]
    .toSorted()
    .join(' ')
}

function shapeOf({ cluster, resources }: ReconcilerHarness): Record<string, unknown> {
  const kinds = [
    resources.pods,
    resources.replicaSets,
    resources.replicationControllers,
    resources.deployments,
    resources.statefulSets,
    resources.daemonSets,
    resources.jobs,
    resources.controllerRevisions,
    resources.persistentVolumeClaims,
    resources.persistentVolumes,
    resources.podDisruptionBudgets,
    resources.services,
  ]
  const shape: Record<string, unknown> = {}
  for (const kind of kinds)
    shape[kind.plural] = cluster
      .all(kind)
      .map((object) => `${plain(object)}: ${summaryOf(object)}`)
      .toSorted()
  for (const kind of [resources.endpointSlices, resources.endpoints])
    shape[kind.plural] = cluster.all(kind).map(plain).toSorted()
  shape['namespaces'] = cluster.all(resources.namespaces).map(plain)
  shape['configmaps'] = cluster.all(resources.configMaps).map(keyOf)
  shape['used'] = cluster
    .all<ResourceQuota>(resources.resourceQuotas)
    .map(({ status }) => status?.used)
  shape['balanced'] = cluster
    .all(resources.services)
    .map((one) => (one['status'] as any)?.loadBalancer?.ingress?.length ?? 0)
  shape['succeeded'] = cluster
    .all<Job>(resources.jobs)
    .map(({ metadata, status }) => `${metadata.name} ${status?.succeeded}`)
    .toSorted()
  return shape
}

/** How often the busiest single call was made, and which. */
export function busiest(calls: readonly RecordedCall[]): { count: number; call: string } {
  const counts = new Map<string, number>()
  for (const { verb, resource, key } of calls) {
    const call = `${verb} ${resource} ${key}`
    counts.set(call, (counts.get(call) ?? 0) + 1)
  }
  let most = { count: 0, call: '' }
  for (const [call, count] of counts) if (count > most.count) most = { count, call }
  return most
}
