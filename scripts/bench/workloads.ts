/** Workloads on real clusters: how fast pods are scheduled, jobs finish and deployments become available, and what each process holds. */
import { performance } from 'node:perf_hooks'
import { startCluster, type Cluster } from '../../cluster/cluster.ts'
import type { ClusterSettings } from '../../cluster/launch.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Node } from '../../components/api/generated/types.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import { benchFolder, removeBenchFolder } from './leave-nothing.ts'
import { clusterProcesses } from './cluster-processes.ts'
import { usage } from './process.ts'
import { plainRow, type Row } from './rows.ts'

const namespace = 'default'
const inFlight = 32

/** Runs the work on 0 to count - 1, so many at a time. */
async function forEach(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
}

interface Watched {
  readonly client: Cluster['client']
  readonly resource: Resource
}

/** Resolves when as many objects of the namespace satisfy the condition, seen by one watch. Throws after ten minutes. */
async function untilCount<T extends KubeObject>(
  { client, resource }: Watched,
  count: number,
  holds: (object: T) => boolean,
): Promise<void> {
  const holding = new Set<string>()
  const objects = client.resource<T>(resource)
  const signal = AbortSignal.timeout(600_000)
  const list = await objects.list({ namespace })
  const note = (object: T, isThere: boolean): void => {
    const name = object.metadata.name ?? ''
    if (isThere && holds(object)) holding.add(name)
    else holding.delete(name)
  }
  for (const object of list.items) note(object, true)
  if (holding.size >= count) return
  const resourceVersion = list.metadata.resourceVersion ?? ''
  for await (const event of objects.watch({ namespace, resourceVersion }, signal)) {
    if (event.type === 'BOOKMARK') continue
    note(event.object, event.type !== 'DELETED')
    if (holding.size >= count) return
  }
  throw new Error(`the watch of ${resource.plural} ended with ${holding.size} of ${count}`)
}

/** Resolves when no object of the kind is left in the namespace. */
async function untilNone({ client, resource }: Watched): Promise<void> {
  const objects = client.resource(resource)
  for (;;) {
    const { items } = await objects.list({ namespace, limit: 1, metadataOnly: true })
    if (items.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const container = { name: 'main', image: 'example.com/app:1' }
const requests = { cpu: '10m', memory: '10Mi' }
const podSpec = { containers: [{ ...container, resources: { requests } }] }

function object(apiVersion: string, kind: string, name: string, spec: object): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace }, spec } as KubeObject
}

/** A Deployment, a StatefulSet or the like, with pods that carry the label `app`. */
function workload(kind: string, name: string, spec: object): KubeObject {
  const labels = { app: name }
  return object('apps/v1', kind, name, {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: podSpec },
    ...spec,
  })
}

function job(name: string, pods: number): KubeObject {
  const template = { spec: { ...podSpec, restartPolicy: 'Never' } }
  return object('batch/v1', 'Job', name, { completions: pods, parallelism: pods, template })
}

interface Status extends KubeObject {
  readonly spec?: { readonly nodeName?: string }
  readonly status?: {
    readonly phase?: string
    readonly availableReplicas?: number
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

const isComplete = ({ status }: Status): boolean =>
  status?.conditions?.some((one) => one.type === 'Complete' && one.status === 'True') ?? false

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return (performance.now() - startedAt) / 1000
}

const shown = (time: number): string => `${time.toFixed(time < 10 ? 2 : 0)} s`

/** Memory and processor time of each process of the cluster. */
function processRows(title: string, folder: string): Row[] {
  return clusterProcesses(folder).map(({ pid, program }) => {
    const { residentMb, peakMb, cpuMs } = usage(pid)
    const memory = `${residentMb.toFixed(0)} MB resident`
    return plainRow(
      `${title}: ${program}`,
      memory,
      `peak ${peakMb.toFixed(0)} MB, ${(cpuMs / 1000).toFixed(1)} s of processor time`,
    )
  })
}

/** How long a Deployment of three takes to be available; the median of five, in a cluster at rest. */
async function measureDeployment({ client }: Cluster): Promise<Row> {
  const { deployments } = resourcesOf(client.dialect)
  const taken: number[] = []
  for (let round = 0; round < 5; round += 1) {
    const made = workload('Deployment', `three-${round}`, { replicas: 3 })
    const available = ({ status }: Status): boolean => status?.availableReplicas === 3
    taken.push(
      await seconds(async () => {
        await client.resource(deployments).create(made)
        await untilCount<Status>({ client, resource: deployments }, round + 1, available)
      }),
    )
  }
  taken.sort((a, b) => a - b)
  return plainRow(
    'a Deployment of 3 until it is available',
    shown(taken[2] ?? 0),
    `best ${shown(taken[0] ?? 0)}`,
  )
}

/** Nodes without an agent: Ready, and with room for a hundred pods each. */
async function createNodes({ client }: Cluster, count: number): Promise<void> {
  const nodes = client.resource<Node>(resourcesOf(client.dialect).nodes)
  const room = { cpu: '8', memory: '32Gi', pods: '110' }
  await forEach(count, async (index) => {
    const made = await nodes.create({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `n-${index}` },
    } as Node)
    const now = new Date().toISOString().replace(/\.\d+/, '')
    const times = { lastHeartbeatTime: now, lastTransitionTime: now }
    const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', ...times }
    const status = { capacity: room, allocatable: room, conditions: [ready] }
    const { name = '' } = made.metadata
    const type = 'merge'
    await nodes.patch({ name }, { status }, { type, subresource: 'status' })
    await nodes.patch({ name }, { spec: { taints: null } }, { type })
  })
}

/** How fast 32 clients create pods and the scheduler binds them to nodes without an agent. */
async function measureScheduling(cluster: Cluster, count: number): Promise<Row> {
  const { client } = cluster
  const { pods } = resourcesOf(client.dialect)
  await createNodes(cluster, 500)
  const isBound = ({ spec }: Status): boolean => spec?.nodeName !== undefined
  const [bound] = await Promise.all([
    seconds(async () => await untilCount<Status>({ client, resource: pods }, count, isBound)),
    forEach(count, (index) =>
      client.resource(pods).create(object('v1', 'Pod', `p-${index}`, podSpec)),
    ),
  ])
  return plainRow(
    `${count} pods created, scheduled and bound on 500 nodes without agents`,
    `${Math.round(count / bound)}/s`,
    `all bound after ${shown(bound)}; aim 500/s`,
  )
}

/** 1,000 Jobs of ten pods that run for a second each. */
async function measureJobs({ client }: Cluster): Promise<Row> {
  const { jobs } = resourcesOf(client.dialect)
  const resource = client.resource(jobs)
  const time = await seconds(async () => {
    const done = untilCount<Status>({ client, resource: jobs }, 1000, isComplete)
    await forEach(1000, (index) => resource.create(job(`j-${index}`, 10)))
    await done
  })
  return plainRow('1,000 Jobs of 10 pods until all are Complete', shown(time), 'aim 120 s')
}

async function deleteJobs({ client }: Cluster): Promise<number> {
  const { jobs, pods } = resourcesOf(client.dialect)
  return await seconds(async () => {
    const options = { propagationPolicy: 'Background' } as const
    await client.resource(jobs).deleteCollection({ namespace }, options)
    await untilNone({ client, resource: pods })
  })
}

/** 10,000 pods of Deployments, StatefulSets and Jobs on 500 nodes: created until Running or finished, then deleted. */
async function measureMixed(cluster: Cluster, folder: string): Promise<Row[]> {
  const { client } = cluster
  const { deployments, statefulSets, jobs, pods } = resourcesOf(client.dialect)
  const watched = { client, resource: pods }
  const isUp = ({ status }: Status): boolean =>
    status?.phase === 'Running' || status?.phase === 'Succeeded'
  const created = await seconds(async () => {
    await forEach(50, async (index) => {
      const parallel = { replicas: 60, serviceName: 's', podManagementPolicy: 'Parallel' }
      await client
        .resource(deployments)
        .create(workload('Deployment', `d-${index}`, { replicas: 100 }))
      await client.resource(statefulSets).create(workload('StatefulSet', `s-${index}`, parallel))
      await client.resource(jobs).create(job(`m-${index}`, 40))
    })
    await untilCount<Status>(watched, 10_000, isUp)
    await untilCount<Status>({ client, resource: jobs }, 50, isComplete)
  })
  const rows = processRows('10,000 pods', folder)
  const deleted = await seconds(async () => {
    const options = { propagationPolicy: 'Background' } as const
    for (const resource of [deployments, statefulSets, jobs]) {
      await client.resource(resource).deleteCollection({ namespace }, options)
    }
    await untilNone(watched)
  })
  const [up, down] = [created, deleted].map(shown)
  const title = '10,000 pods of 50 Deployments, StatefulSets and Jobs on 500 nodes'
  return [plainRow(title, `${up} until they run`, `${down} until they are deleted`), ...rows]
}

/** Starts a cluster in a folder of its own, measures, and removes it. */
async function withCluster(
  settings: ClusterSettings,
  measure: (cluster: Cluster, folder: string) => Promise<Row[]>,
): Promise<Row[]> {
  const folder = benchFolder('workloads')
  try {
    const cluster = await startCluster({
      ...settings,
      name: 'bench',
      stateRoot: folder,
      port: 0,
      waitMs: 300_000,
    })
    try {
      return await measure(cluster, folder)
    } finally {
      await cluster[Symbol.asyncDispose]()
    }
  } finally {
    removeBenchFolder(folder)
  }
}

export async function measureWorkloads(): Promise<Row[]> {
  const small = await withCluster({ nodes: 3 }, async (cluster) => {
    await new Promise((resolve) => setTimeout(resolve, 3000))
    return [await measureDeployment(cluster)]
  })
  // Nodes without an agent stay Ready only as long as no controller looks at their heartbeats.
  const extraFlags = { 'controller-manager': { controllers: '*,-node-lifecycle-controller' } }
  const bare = await withCluster({ nodes: 0, extraFlags }, async (cluster, folder) => [
    await measureScheduling(cluster, 5000),
    ...processRows('5,000 bound pods', folder),
  ])
  const large = await withCluster({ nodes: 0, simulatedNodes: 500 }, async (cluster, folder) => {
    const jobs = await measureJobs(cluster)
    const deleted = await deleteJobs(cluster)
    const gone = plainRow('1,000 Jobs and their pods until they are deleted', shown(deleted))
    return [jobs, gone, ...(await measureMixed(cluster, folder))]
  })
  return [...small, ...bare, ...large]
}
