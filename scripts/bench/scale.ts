/**
 * Simulated nodes and pods by the thousand: how long they take to be Ready, Running and deleted, and what each process takes
 * for it. SCALE_SIZES is a list of nodes/pods (500/10000), SCALE_REST_SECONDS (60) how long the nodes are watched at rest.
 */
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { startCluster, type Cluster } from '../../cluster/cluster.ts'
import type { Deployment } from '../../components/api/generated/types.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { benchFolder, removeBenchFolder } from './leave-nothing.ts'
import { clusterProcesses } from './cluster-processes.ts'
import { usage } from './process.ts'
import { plainRow, type Row } from './rows.ts'

const namespace = 'default'
const podsPerDeployment = 500
const restMs = Number(process.env['SCALE_REST_SECONDS'] ?? '60') * 1000
/** Nodes whose start leaves the processes busy settle meanwhile. */
const settleMs = 20_000
const patienceMs = 3_600_000

interface Size {
  readonly nodes: number
  readonly pods: number
}

function sizes(): Size[] {
  return (process.env['SCALE_SIZES'] ?? '500/10000').split(',').map((text) => {
    const [nodes = 0, pods = 0] = text.split('/').map(Number)
    return { nodes, pods }
  })
}

/** What all processes of one program hold and have used. */
interface Use {
  count: number
  residentMb: number
  peakMb: number
  cpuMs: number
}

function usesOf(folder: string): Map<string, Use> {
  const uses = new Map<string, Use>()
  for (const { pid, program } of clusterProcesses(folder)) {
    const { residentMb, peakMb, cpuMs } = usage(pid)
    const so = uses.get(program) ?? { count: 0, residentMb: 0, peakMb: 0, cpuMs: 0 }
    uses.set(program, {
      count: so.count + 1,
      residentMb: so.residentMb + residentMb,
      peakMb: so.peakMb + peakMb,
      cpuMs: so.cpuMs + cpuMs,
    })
  }
  return uses
}

const shown = (seconds: number): string => `${seconds.toFixed(seconds < 10 ? 2 : 0)} s`

interface PhaseOptions {
  readonly folder: string
  /** What the processor time is divided by, and what that is. */
  readonly per: readonly [number, string]
  /** Processor time in ms per second of each program at rest, which is not counted. */
  readonly rest?: ReadonlyMap<string, number>
}

interface Phase {
  readonly rows: Row[]
  /** Processor time in ms per second of each program. */
  readonly rate: ReadonlyMap<string, number>
}

/** Runs a phase; its rows tell its time, and what each program held after it and used in it. */
async function phase(
  title: string,
  { folder, per, rest }: PhaseOptions,
  work: () => Promise<unknown>,
): Promise<Phase> {
  const before = usesOf(folder)
  const startedAt = performance.now()
  await work()
  const seconds = (performance.now() - startedAt) / 1000
  const [count, unit] = per
  const rate = new Map<string, number>()
  const rows = [...usesOf(folder)].map(([program, use]) => {
    const usedMs = use.cpuMs - (before.get(program)?.cpuMs ?? 0)
    rate.set(program, usedMs / seconds)
    const countedMs = Math.max(0, usedMs - (rest?.get(program) ?? 0) * seconds)
    const each = `${((countedMs * 1000) / count).toFixed(0)} µs ${unit}`
    const name = use.count > 1 ? `${use.count} × ${program}` : program
    const memory = `${use.residentMb.toFixed(0)} MB resident, peak ${use.peakMb.toFixed(0)} MB`
    return plainRow(`  ${name}`, `${(usedMs / 1000).toFixed(1)} s`, `${each}; ${memory}`)
  })
  const without = rest === undefined ? '' : ', per pod without what rest costs'
  const told = [plainRow(title, shown(seconds), `below: processor time${without}; memory`), ...rows]
  // A size takes minutes: what is known is shown at once.
  for (const { name, skiff, note } of told) console.log(`${name}: ${skiff} (${note})`)
  return { rows: told, rate }
}

function deployment(index: number, replicas: number): Deployment {
  const labels = { app: `scale-${index}` }
  const resources = { requests: { cpu: '10m', memory: '10Mi' } }
  const container = { name: 'main', image: 'example.com/app:1', resources }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: `scale-${index}`, namespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  } as Deployment
}

/** Creates Deployments of so many pods, and resolves when all of these are ready. */
async function runPods({ client }: Cluster, pods: number): Promise<void> {
  const deployments = client.resource<Deployment>(resourcesOf(client.dialect).deployments)
  for (let made = 0, index = 0; made < pods; index += 1) {
    const replicas = Math.min(podsPerDeployment, pods - made)
    await deployments.create(deployment(index, replicas))
    made += replicas
  }
  await until(async () => {
    const { items } = await deployments.list({ namespace })
    return items.reduce((sum, { status }) => sum + (status?.readyReplicas ?? 0), 0) >= pods
  })
}

async function deletePods({ client }: Cluster): Promise<void> {
  const { deployments, pods } = resourcesOf(client.dialect)
  const options = { propagationPolicy: 'Background' } as const
  await client.resource(deployments).deleteCollection({ namespace }, options)
  await until(async () => {
    const page = { namespace, limit: 1, metadataOnly: true }
    return (await client.resource(pods).list(page)).items.length === 0
  })
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + patienceMs
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error('not done within an hour')
    await delay(250)
  }
}

async function measureSize({ nodes, pods }: Size): Promise<Row[]> {
  const folder = benchFolder('scale')
  const size = `${nodes} nodes, ${pods} pods`
  const perNode = { folder, per: [nodes, 'a node'] } as const
  let cluster: Cluster | undefined
  try {
    const { rows } = await phase(`${size}: all nodes Ready`, perNode, async () => {
      const [name, stateRoot] = ['bench', folder]
      const from = {
        name,
        stateRoot,
        nodes: 0,
        simulatedNodes: nodes,
        port: 0,
        lifetime: 'owner',
      } as const
      cluster = await startCluster({ ...from, waitMs: 1_200_000 })
    })
    if (cluster === undefined) throw new Error('the cluster did not start')
    const running = cluster
    await delay(settleMs)
    const heartbeats = [Math.round((nodes * restMs) / 10_000), 'a heartbeat'] as const
    const rest = await phase(`${size}: at rest`, { folder, per: heartbeats }, () => delay(restMs))
    const perPod = { folder, per: [pods, 'a pod'], rest: rest.rate } as const
    const made = await phase(`${size}: all Running`, perPod, () => runPods(running, pods))
    const gone = await phase(`${size}: all deleted`, perPod, () => deletePods(running))
    return [rows, rest.rows, made.rows, gone.rows].flat()
  } finally {
    await cluster?.[Symbol.asyncDispose]()
    removeBenchFolder(folder)
  }
}

export async function measureScale(): Promise<Row[]> {
  const rows: Row[] = []
  for (const size of sizes()) rows.push(...(await measureSize(size)))
  return rows
}
