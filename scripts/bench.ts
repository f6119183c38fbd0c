/**
 * `npm run bench`: the API server beside a bare HTTP/2 server that moves the same bytes, in the same run. Ratios are what
 * counts. BENCH_SECONDS (4) is the time of one measurement; BENCH_ONLY chooses: basics,access,collections,fan-out,cold-start,writes,
 * write-memory,etcd,create-cost,up,rest,workloads,scale,embedded,lab,console. BENCH_OBJECTS (100000) is how many the larger store of writes has, BENCH_WATCHERS (1000) how many
 * watch in fan-out, with an event each BENCH_EVERY_MS (20).
 * BENCH_PEER=URL,TOKEN,PID puts any other API server beside it: basics, fan-out, write-memory.
 * It has to let the token make pods in the namespace default, whose names begin with pod, kept or passing, and deletes them at the end.
 * Draws the charts of docs/performance.md for which it has all rows; BENCH_CHARTS is another folder for them.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { measureAccess } from './bench/access.ts'
import { measureBasics } from './bench/basics.ts'
import { drawCharts } from './bench/charts.ts'
import { measureColdStart } from './bench/cold-start.ts'
import { measureConsole } from './bench/console.ts'
import { measureCreateCost } from './bench/create-cost.ts'
import { measureEmbedded } from './bench/embedded.ts'
import { measureEtcd } from './bench/etcd.ts'
import { measureEtcdServers } from './bench/etcd-servers.ts'
import { measureEtcdStart } from './bench/etcd-start.ts'
import { measureFanOut } from './bench/fan-out.ts'
import { measureLab } from './bench/lab.ts'
import { measureLargeCollections } from './bench/large-collections.ts'
import { printRows, type Row } from './bench/rows.ts'
import { measureRest } from './bench/rest.ts'
import { measureScale } from './bench/scale.ts'
import { measureUp } from './bench/up.ts'
import { createWorld, type World } from './bench/world.ts'
import { measureWorkloads } from './bench/workloads.ts'
import { measureWriteMemory } from './bench/write-memory.ts'
import { measureWrites } from './bench/writes.ts'

const durationMs = Number(process.env['BENCH_SECONDS'] ?? '4') * 1000
const only = process.env['BENCH_ONLY']?.split(',')

const benches: Readonly<Record<string, (world: World) => Promise<Row[]>>> = {
  basics: (world) => measureBasics(world, durationMs),
  access: (world) => measureAccess(world, durationMs),
  collections: measureLargeCollections,
  'fan-out': (world) => measureFanOut(world, durationMs),
  'cold-start': measureColdStart,
  writes: (world) => measureWrites(world, durationMs),
  'write-memory': measureWriteMemory,
  etcd: async (world) => [
    ...(await measureEtcd(world, durationMs)),
    ...(await measureEtcdServers(world, durationMs)),
    ...(await measureEtcdStart(world.root)),
  ],
  'create-cost': measureCreateCost,
  up: (world) => measureUp(world.root),
  rest: measureRest,
  workloads: measureWorkloads,
  scale: measureScale,
  embedded: (world) => measureEmbedded(world.root),
  lab: async (world) => measureLab(world.root),
  console: measureConsole,
}

const world = await createWorld()
try {
  const rows: Row[] = []
  for (const [name, measure] of Object.entries(benches)) {
    if (only === undefined || only.includes(name)) rows.push(...(await measure(world)))
  }
  printRows(rows)
  const folder = process.env['BENCH_CHARTS'] ?? join(world.root, 'docs/charts')
  mkdirSync(folder, { recursive: true })
  for (const [name, svg] of drawCharts(rows)) writeFileSync(join(folder, name), svg)
} finally {
  await world.close()
}
