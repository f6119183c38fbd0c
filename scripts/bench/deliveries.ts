/** Events at a steady pace to many watchers of one object: how late each delivery is, and whether it gets later. */
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { answerOf, authorizationOf, exchange, openSession, type Endpoint } from './load.ts'
import { quantile } from './rows.ts'

const mark = Buffer.from('"seq":"')
const watchersOnConnection = 100
const maps = '/api/v1/namespaces/default/configmaps'

export interface Pace {
  readonly watchers: number
  readonly events: number
  /** From one event to the next, whatever has arrived by then. */
  readonly everyMs: number
}

export interface Lateness {
  readonly p50: number
  readonly p99: number
  /** p99 of the last third over that of the first: near 1 when no queue grows. */
  readonly growth: number
  readonly missing: number
}

interface Beat {
  readonly path: string
  readonly fire: (sequence: number) => Promise<unknown>
}

async function measure(
  endpoint: Endpoint,
  { path, fire }: Beat,
  { watchers, events, everyMs }: Pace,
): Promise<Lateness> {
  const connections = Math.ceil(watchers / watchersOnConnection)
  const sessions = Array.from({ length: connections }, () => openSession(endpoint))
  const sentAt: number[] = []
  const late: number[][] = Array.from({ length: events }, () => [])
  let arrived = 0
  const streams = Array.from({ length: watchers }, (_, at) => {
    const headers = { ':path': path, ...authorizationOf(endpoint) }
    const stream = sessions[at % connections]!.request(headers)
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

/** Patches of a ConfigMap of an API server, which is made for it and deleted afterwards; and its first bytes. */
export async function deliveriesOf(
  endpoint: Endpoint,
  pace: Pace,
): Promise<Lateness & { readonly object: string }> {
  const session = openSession(endpoint)
  const { token } = endpoint
  const manifest = { metadata: { name: 'beat' }, data: { seq: 'none', text: 'x'.repeat(300) } }
  const body = Buffer.from(JSON.stringify(manifest))
  await exchange(session, { method: 'POST', path: maps, body, token })
  const object = (await answerOf(session, `${maps}/beat`, token)).toString().trimEnd()
  const { metadata } = JSON.parse(object) as { metadata: { resourceVersion: string } }
  const fire = (sequence: number) =>
    exchange(session, {
      method: 'PATCH',
      path: `${maps}/beat`,
      contentType: 'application/merge-patch+json',
      body: Buffer.from(JSON.stringify({ data: { seq: String(sequence) } })),
      token,
    })
  const query = `watch=1&resourceVersion=${metadata.resourceVersion}&fieldSelector=metadata.name%3Dbeat`
  const lateness = await measure(endpoint, { path: `${maps}?${query}`, fire }, pace)
  await exchange(session, { method: 'DELETE', path: `${maps}/beat`, token })
  session.close()
  return { ...lateness, object }
}

/** The bare server sends the same bytes. */
export async function bareDeliveries(
  endpoint: Endpoint,
  object: string,
  pace: Pace,
): Promise<Lateness> {
  const session = openSession(endpoint)
  const fire = (sequence: number) => {
    const shown = object.replace('"seq":"none"', `"seq":"${sequence}"`)
    const body = Buffer.from(`{"type":"MODIFIED","object":${shown}}\n`)
    return exchange(session, { method: 'POST', path: '/frame', body })
  }
  const lateness = await measure(endpoint, { path: '/watch', fire }, pace)
  session.close()
  return lateness
}

export const shownLateness = ({ p50, p99 }: Lateness): string =>
  `p50 ${p50.toFixed(0)}, p99 ${p99.toFixed(0)} ms`

/** Notes on what differs from what is expected. */
export function lateNotes({ growth, missing }: Lateness): string[] {
  return [
    `p99 of the last third ${growth.toFixed(1)} times that of the first`,
    ...(missing > 0 ? [`${missing} deliveries missing`] : []),
  ]
}
