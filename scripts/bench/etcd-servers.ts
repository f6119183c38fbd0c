/** Gets over three API servers on one etcd beside the same gets over one: what each costs, with what it costs etcd. */
import { existsSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { etcdProgram, startEtcd } from './etcd-process.ts'
import { answerOf, exchange, openLoad, openSession, type SteadyLoad } from './load.ts'
import { podManifest, podsPath } from './pod.ts'
import { processorUs, settled } from './process.ts'
import { plainRow, quantile, type Row } from './rows.ts'
import { type Running, type World } from './world.ts'

const servers = 3
/** To one server. */
const most = 6
const streams = 8
/** Requests in a portion; both sides take turns, so that other work on the machine concerns both. */
const portion = 3000
const pods = 100
/** Gets of each server before it is measured: until then its code becomes faster. */
const warmUps = 15_000

interface Side {
  readonly name: string
  readonly loads: readonly SteadyLoad[]
  readonly running: readonly Running[]
  readonly rates: number[]
  readonly serverUs: number[]
  readonly etcdUs: number[]
}

async function fill({ endpoint }: Running): Promise<void> {
  const session = openSession(endpoint)
  for (let at = 0; at < pods; at += 1) {
    const body = Buffer.from(JSON.stringify(podManifest(`pod-${at}`)))
    await exchange(session, { method: 'POST', path: podsPath, body })
  }
  await answerOf(session, `${podsPath}?limit=1`)
  session.close()
}

function sideOf(
  name: string,
  by: { running: readonly Running[]; query: string; connections: number },
): Side {
  const { running, query, connections } = by
  let at = 0
  const next = () => ({
    method: 'GET' as const,
    path: `${podsPath}/pod-${(at = (at + 1) % pods)}${query}`,
  })
  const shape = { connections: connections / running.length, streams, status: 200, next }
  const loads = running.map(({ endpoint }) => openLoad(endpoint, shape))
  return { name, loads, running, rates: [], serverUs: [], etcdUs: [] }
}

async function measurePortion(side: Side, etcdPid: number): Promise<void> {
  const { loads, running } = side
  const used = (): number => running.reduce((sum, { pid }) => sum + processorUs(pid), 0)
  const [server, etcd] = [used(), processorUs(etcdPid)]
  const startedMs = performance.now()
  await Promise.all(loads.map((load) => load.run(portion / loads.length)))
  side.rates.push(portion / ((performance.now() - startedMs) / 1000))
  side.serverUs.push((used() - server) / portion)
  side.etcdUs.push((processorUs(etcdPid) - etcd) / portion)
}

function rowOf(what: string, { name, rates, serverUs, etcdUs }: Side): { row: Row; us: number } {
  const [rate, ofServers, ofEtcd] = [rates, serverUs, etcdUs].map((one) => quantile(one, 0.5)) as [
    number,
    number,
    number,
  ]
  const us = ofServers + ofEtcd
  const note = `a get takes ${us.toFixed(0)} µs of a processor: ${ofServers.toFixed(0)} of API servers, ${ofEtcd.toFixed(0)} of etcd`
  return { row: plainRow(`${what}, ${name}`, `${Math.round(rate)}/s`, note), us }
}

export async function measureEtcdServers(world: World, durationMs: number): Promise<Row[]> {
  if (!existsSync(etcdProgram)) {
    return [plainRow('API servers on etcd', '', `not measured: there is no ${etcdProgram}`)]
  }
  const etcd = await startEtcd(world.file('etcd-of-servers'))
  const flag = `--store=etcd:${etcd.url}`
  const running: Running[] = []
  for (let at = 0; at < servers; at += 1) running.push(await world.startServer('', [flag]))
  await fill(running[0] as Running)
  for (const { pid } of running) await settled(pid)
  const rows: Row[] = []
  const kinds = { 'consistent get': '', 'get at resourceVersion=0': '?resourceVersion=0' }
  for (const [what, query] of Object.entries(kinds)) {
    const sides = [
      sideOf('one API server', { running: running.slice(0, 1), query, connections: most }),
      sideOf('three API servers', { running, query, connections: most }),
      sideOf('three API servers, each with as many in flight', {
        running,
        query,
        connections: servers * most,
      }),
    ]
    for (const { loads } of sides) for (const one of loads) await one.run(warmUps)
    for (const endMs = performance.now() + 2 * durationMs; performance.now() < endMs;) {
      for (const side of sides) await measurePortion(side, etcd.pid)
    }
    const [one, ...others] = sides.map((side) => rowOf(`${what} on etcd`, side))
    if (one === undefined) continue
    rows.push(one.row)
    for (const { row, us } of others) {
      const more = `${Math.round((us / one.us - 1) * 100)} % more than over one`
      rows.push({ ...row, note: `${row.note}; ${more}` })
    }
    for (const { loads } of sides) for (const load of loads) load.close()
  }
  await Promise.all(running.map((one) => one.stop()))
  await etcd.stop()
  return rows
}
