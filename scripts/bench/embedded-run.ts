/** One process that uses embedded clusters, as a test runner does: prints its figures as JSON. Run by embedded.ts on the built library. */
import { performance } from 'node:perf_hooks'
import { pathToFileURL } from 'node:url'
import type { Cluster, startCluster as StartCluster } from '../../library/index.ts'
import { quantile } from './rows.ts'

export interface EmbeddedFigures {
  /** `import`, and the first cluster of the process with a node. */
  readonly coldMs: number
  readonly warmMs: number
  /** Of a cluster of 5,000 objects. */
  readonly forkMs: number
  readonly hundredForksMs: number
  readonly resetMs: number
  /** A namespace made, a ConfigMap in it, and the namespace deleted. */
  readonly namespaceMs: number
  readonly idleMb: number
}

const [library = ''] = process.argv.slice(2)
const objects = 5000

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

async function median(times: number, work: () => Promise<unknown>): Promise<number> {
  const taken: number[] = []
  for (let at = 0; at < times; at += 1) taken.push(await timed(work))
  return quantile(taken, 0.5)
}

/** The median time to a cluster, without its end. */
async function medianStart(times: number, start: () => Promise<Cluster>): Promise<number> {
  const taken: number[] = []
  for (let at = 0; at < times; at += 1) {
    let cluster: Cluster | undefined
    taken.push(await timed(async () => (cluster = await start())))
    await cluster?.stop()
  }
  return quantile(taken, 0.5)
}

let startCluster!: typeof StartCluster
const residentMb = (): number => process.memoryUsage.rss() / 1e6
const beforeMb = residentMb()
let cluster!: Cluster
const coldMs = await timed(async () => {
  ;({ startCluster } = (await import(
    pathToFileURL(library).href
  )) as typeof import('../../library/index.ts'))
  cluster = await startCluster()
})
const idleMb = residentMb() - beforeMb
const warmMs = await medianStart(9, () => startCluster())
const api = cluster.client()
const namespaceMs = await median(21, async () => {
  const name = `test-${performance.now().toFixed()}`
  await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  await api.delete({ kind: 'Namespace', name })
})
const resetMs = await median(5, () => cluster.reset())
for (let at = 0; at < objects; at += 50) {
  const batch = Array.from({ length: 50 }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `object-${at + index}` },
    data: { text: 'x'.repeat(500) },
  }))
  await Promise.all(batch.map((object) => cluster.admin.create(object)))
}
const forkMs = await medianStart(9, () => cluster.fork())
const forks: Cluster[] = []
const hundredForksMs = await timed(async () => {
  for (let at = 0; at < 100; at += 1) forks.push(await cluster.fork())
})
await Promise.all(forks.map((fork) => fork.stop()))
await cluster.stop()
const figures: EmbeddedFigures = {
  coldMs,
  warmMs,
  forkMs,
  hundredForksMs,
  resetMs,
  namespaceMs,
  idleMb,
}
process.stdout.write(JSON.stringify(figures))
