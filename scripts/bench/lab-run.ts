/** One process that advances embedded clusters: prints the processor time of all of its threads as JSON. Run by lab.ts on the built library. */
import { pathToFileURL } from 'node:url'
import type { Cluster, startCluster as StartCluster } from '../../library/index.ts'

export interface LabFigures {
  readonly graceMs: number
  readonly hourMs: number
  readonly cronWeekMs: number
  /** Real time of the same. */
  readonly cronWeekTookMs: number
}

const [library = ''] = process.argv.slice(2)
const { startCluster } = (await import(pathToFileURL(library).href)) as {
  startCluster: typeof StartCluster
}

async function spentMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

async function measureRest(): Promise<Pick<LabFigures, 'graceMs' | 'hourMs'>> {
  const cluster: Cluster = await startCluster({ nodes: 3 })
  const graceMs = await spentMs(() => cluster.clock.advance('40s'))
  // The first hour also compiles.
  await cluster.clock.advance('1h')
  const hourMs = await spentMs(() => cluster.clock.advance('1h'))
  await cluster.stop()
  return { graceMs, hourMs }
}

/** A week of a CronJob whose Jobs complete, each hour. */
async function measureCronJob(): Promise<Pick<LabFigures, 'cronWeekMs' | 'cronWeekTookMs'>> {
  const cluster: Cluster = await startCluster({ nodes: 1 })
  const template = {
    metadata: { annotations: { 'skiff.dev/exit-after': '5s' } },
    spec: { restartPolicy: 'Never', containers: [{ name: 'work', image: 'work:1' }] },
  }
  await cluster.admin.create({
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'hourly', namespace: 'default' },
    spec: { schedule: '0 * * * *', jobTemplate: { spec: { template } } },
  })
  await cluster.clock.advance('1h')
  const startMs = performance.now()
  const cronWeekMs = await spentMs(() => cluster.clock.advance('168h'))
  const cronWeekTookMs = performance.now() - startMs
  const [cronJob] = await cluster.admin.list({ kind: 'CronJob', namespace: 'default' })
  const { lastSuccessfulTime } = cronJob?.status as { lastSuccessfulTime?: string }
  const idleMs = cluster.clock.now().getTime() - Date.parse(lastSuccessfulTime ?? '')
  if (!(idleMs < 3_600_000)) throw new Error('the Jobs of the last hour have not completed')
  await cluster.stop()
  return { cronWeekMs, cronWeekTookMs }
}

const figures: LabFigures = { ...(await measureRest()), ...(await measureCronJob()) }
process.stdout.write(JSON.stringify(figures))
