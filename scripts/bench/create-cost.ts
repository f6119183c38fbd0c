/**
 * What one create costs the server: processor time of its main thread and of all its threads, and what it allocates on the
 * JavaScript heap. The servers take turns, so that whatever else the machine does meets all of them. BENCH_BEFORE names the dist
 * folder of another build to measure beside this one.
 */
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { etcdProgram, startEtcd } from './etcd-process.ts'
import { openLoad } from './load.ts'
import { podCreates } from './pod.ts'
import { mainThreadUs, processorUs } from './process.ts'
import { plainRow, quantile, type Row } from './rows.ts'
import type { Running, World } from './world.ts'

/** Creates before the first measurement: the path of a create is long, and is compiled while it runs. */
const warmUp = 16_000
const rounds = 5
const perRound = 4000

interface Cost {
  readonly perSecond: number
  readonly mainUs: number
  readonly allUs: number
  readonly allocatedKb: number
}

interface Candidate {
  readonly name: string
  readonly server: Running
  readonly costs: Cost[]
}

const newPod = podCreates()

async function costOf({ server }: Candidate, requests: number): Promise<Cost> {
  const { pid, allocatedBytes, endpoint } = server
  // New connections each time, since servers close those that are idle; their handshakes are not measured.
  const load = openLoad(endpoint, { connections: 8, streams: 8, status: 201, next: newPod })
  await load.run(200)
  const before = [mainThreadUs(pid), processorUs(pid), allocatedBytes()] as const
  const perSecond = await load.run(requests)
  load.close()
  return {
    perSecond,
    mainUs: (mainThreadUs(pid) - before[0]) / requests,
    allUs: (processorUs(pid) - before[1]) / requests,
    allocatedKb: (allocatedBytes() - before[2]) / requests / 1024,
  }
}

async function inTurn(candidates: readonly Candidate[]): Promise<void> {
  for (const one of candidates) await costOf(one, warmUp)
  for (let round = 0; round < rounds; round += 1) {
    for (const one of candidates) one.costs.push(await costOf(one, perRound))
  }
}

function rowsOf(candidates: readonly Candidate[]): Row[] {
  const middle = (costs: readonly Cost[], of: (cost: Cost) => number): number =>
    quantile(costs.map(of), 0.5)
  const bareRate = middle(candidates.at(-1)?.costs ?? [], ({ perSecond }) => perSecond)
  return candidates.map(({ name, costs }) => {
    const rate = middle(costs, ({ perSecond }) => perSecond)
    const shown = `${Math.round(middle(costs, ({ mainUs }) => mainUs))} µs`
    const all = Math.round(middle(costs, ({ allUs }) => allUs))
    const kb = middle(costs, ({ allocatedKb }) => allocatedKb).toFixed(1)
    const note = `all threads ${all} µs, ${kb} KB allocated, ${Math.round(rate)}/s`
    return {
      ...plainRow(`main thread of a create, ${name}`, shown, note),
      ratio: `${Math.round((rate / bareRate) * 100)} %`,
    }
  })
}

/** Creates with 64 in flight, on one kind of store; the bare server comes last. Each server has an etcd of its own. */
async function onStore(world: World, isOnEtcd: boolean): Promise<Row[]> {
  const store = isOnEtcd ? 'etcd' : 'SQLite'
  const before = process.env['BENCH_BEFORE']
  const started: { stop(): Promise<void> }[] = []
  const candidates: Candidate[] = []
  const add = async (name: string, start: (etcdUrl?: string) => Promise<Running>) => {
    const etcd = isOnEtcd ? await startEtcd(world.file(name)) : undefined
    const server = await start(etcd?.url)
    started.unshift(server, ...(etcd === undefined ? [] : [etcd]))
    candidates.push({ name, server, costs: [] })
  }
  const startServer = (folder: string) => async (etcdUrl?: string) => {
    const flags = etcdUrl === undefined ? [] : [`--store=etcd:${etcdUrl}`]
    const program = join(folder, 'api-server.js')
    return await world.startServer(`${basename(folder)}-create-cost.db`, flags, program)
  }
  if (before !== undefined) await add(`${store}, before`, startServer(before))
  await add(store, startServer('dist'))
  await add(`${store}, bare server`, world.startBare)
  await inTurn(candidates)
  for (const one of started) await one.stop()
  return rowsOf(candidates)
}

export async function measureCreateCost(world: World): Promise<Row[]> {
  const rows = await onStore(world, false)
  return existsSync(etcdProgram) ? [...rows, ...(await onStore(world, true))] : rows
}
