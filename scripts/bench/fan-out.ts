/** A thousand watchers, or BENCH_WATCHERS, and fifty events a second: how late each delivery is, and whether it gets later. */
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { answerOf, exchange, openSession, type Endpoint } from './load.ts'
import { usage } from './process.ts'
import { quantile, type Row } from './rows.ts'
import type { World } from './world.ts'

const watchers = Number(process.env['BENCH_WATCHERS'] ?? '1000')
const connections = Math.ceil(watchers / 100)
const everyMs = Number(process.env['BENCH_EVERY_MS'] ?? '20')
const mark = Buffer.from('"seq":"')
const maps = '/api/v1/namespaces/default/configmaps'

interface Lateness {
  readonly p50: number
  readonly p99: number
  /** p99 of the last third over that of the first: near 1 when no queue grows. */
  readonly growth: number
  readonly missing: number
}

/** Sends `events` events, one each `everyMs`, whatever has arrived by then. */
async function measure(
  endpoint: Endpoint,
  options: { path: string; events: number; fire: (sequence: number) => Promise<unknown> },
): Promise<Lateness> {
  const { path, events, fire } = options
  const sessions = Array.from({ length: connections }, () => openSession(endpoint))
  const sentAt: number[] = []
  const late: number[][] = Array.from({ length: events }, () => [])
  let arrived = 0
  const streams = Array.from({ length: watchers }, (_, at) => {
    const stream = sessions[at % connections]!.request({ ':path': path })
    stream.on('data', (chunk: Buffer) => {
      const nowMs = performance.now()
      for (let at = chunk.indexOf(mark); at >= 0; at = chunk.indexOf(mark, at + 1)) {
        const sequence = Number.parseInt(chunk.toString('latin1', at + 7, at + 14), 10)
        const sent = sentAt[sequence]
        if (sent === undefined) continue
        late[sequence]?.push(nowMs - sent)
        arrived += 1
      }
    })
    return stream
  })
  await Promise.all(
    streams.map((stream) => new Promise((resolve) => stream.once('response', resolve))),
  )
  const startedAt = performance.now()
  const writes: Promise<unknown>[] = []
  for (let sequence = 0; sequence < events; sequence += 1) {
    await delay(Math.max(0, startedAt + sequence * everyMs - performance.now()))
    sentAt[sequence] = performance.now()
    writes.push(fire(sequence))
  }
  await Promise.all(writes)
  const patience = performance.now() + 10_000
  while (arrived < events * watchers && performance.now() < patience) await delay(10)
  for (const session of sessions) session.destroy()
  const third = Math.floor(events / 3)
  const p99Of = (some: number[][]): number => quantile(some.flat(), 0.99)
  const all = late.flat()
  return {
    p50: quantile(all, 0.5),
    p99: quantile(all, 0.99),
    growth: p99Of(late.slice(-third)) / p99Of(late.slice(0, third)),
    missing: events * watchers - arrived,
  }
}

export async function measureFanOut(world: World, durationMs: number): Promise<Row[]> {
  const events = Math.max(50, Math.round((durationMs * 2) / everyMs))
  const server = await world.startServer('fan-out.db')
  const bare = await world.startBare()
  const session = openSession(server.endpoint)
  const bareSession = openSession(bare.endpoint)
  const manifest = { metadata: { name: 'beat' }, data: { seq: 'none', text: 'x'.repeat(300) } }
  await exchange(session, {
    method: 'POST',
    path: maps,
    body: Buffer.from(JSON.stringify(manifest)),
  })
  const object = (await answerOf(session, `${maps}/beat`)).toString()
  const { metadata } = JSON.parse(object) as { metadata: { resourceVersion: string } }
  const patch = (sequence: number) => ({
    method: 'PATCH' as const,
    path: `${maps}/beat`,
    contentType: 'application/merge-patch+json',
    body: Buffer.from(JSON.stringify({ data: { seq: String(sequence) } })),
  })
  const ours = await measure(server.endpoint, {
    path: `${maps}?watch=1&resourceVersion=${metadata.resourceVersion}`,
    events,
    fire: (sequence) => exchange(session, patch(sequence)),
  })
  const yardstick = await measure(bare.endpoint, {
    path: '/watch',
    events,
    fire: (sequence) => {
      const shown = object.replace('"seq":"none"', `"seq":"${sequence}"`).trimEnd()
      const body = Buffer.from(`{"type":"MODIFIED","object":${shown}}\n`)
      return exchange(bareSession, { method: 'POST', path: '/frame', body })
    },
  })
  const { peakMb } = usage(server.pid)
  session.close()
  bareSession.close()
  await Promise.all([server.stop(), bare.stop()])
  const shown = ({ p50, p99 }: Lateness): string =>
    `p50 ${p50.toFixed(0)}, p99 ${p99.toFixed(0)} ms`
  const note = [
    `${events} events of ${object.length} bytes`,
    `at most ${peakMb.toFixed(0)} MB resident`,
    `p99 of the last third ${ours.growth.toFixed(1)} times that of the first`,
    ...(ours.missing > 0 ? [`${ours.missing} deliveries missing`] : []),
  ].join(', ')
  const ratio = `${Math.round((yardstick.p99 / ours.p99) * 100)} %`
  const name = `delivery to ${watchers} watchers at ${1000 / everyMs} events/s`
  return [{ name, skiff: shown(ours), bare: shown(yardstick), ratio, note }]
}
