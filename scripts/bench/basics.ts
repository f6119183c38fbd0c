/** Gets, durable creates and one event to many watchers, on a small store. */
import { performance } from 'node:perf_hooks'
import { answerOf, exchange, load, openSession, type Endpoint } from './load.ts'
import { podManifest } from './pod.ts'
import { usage } from './process.ts'
import { plainRow, quantile, rateRow, timeRow, type Row } from './rows.ts'
import { podsPath, type World } from './world.ts'

/** One event to many watchers: the time from the write's start until the last has it. */
async function fanOut(
  endpoint: Endpoint,
  options: { watchers: number; path: string; fire: () => Promise<unknown> },
): Promise<number> {
  const sessions = Array.from({ length: 10 }, () => openSession(endpoint))
  let arrived = 0
  let wake = (): void => {}
  const streams = Array.from({ length: options.watchers }, (_, at) => {
    const stream = sessions[at % sessions.length]!.request({ ':path': options.path })
    stream.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) arrived += 1
      if (arrived >= options.watchers) wake()
    })
    return stream
  })
  await Promise.all(
    streams.map((stream) => new Promise((resolve) => stream.once('response', resolve))),
  )
  const taken: number[] = []
  for (let round = 0; round < 9; round += 1) {
    arrived = 0
    const all = new Promise<void>((resolve) => (wake = resolve))
    const startedAt = performance.now()
    await options.fire()
    await all
    taken.push(performance.now() - startedAt)
  }
  for (const session of sessions) session.destroy()
  return quantile(taken, 0.5)
}

/** Both servers, and pods with names that count up. */
interface Basics {
  readonly ours: Endpoint
  readonly yardstick: Endpoint
  readonly durationMs: number
  readonly newPod: () => { method: 'POST'; path: string; body: Buffer }
}

const oneGet = { method: 'GET' as const, path: `${podsPath}/pod-1` }

async function getsAndCreates(
  { ours, yardstick, durationMs, newPod }: Basics,
  { connections, streams, podBytes }: { connections: number; streams: number; podBytes: number },
): Promise<Row[]> {
  const shape = { connections, streams, durationMs }
  const at = `${connections}×${streams}`
  await load(ours, { ...shape, durationMs: 1000, status: 200, next: () => oneGet })
  const gets = rateRow(
    `get ${podBytes} bytes, ${at} in flight`,
    await load(ours, { ...shape, status: 200, next: () => oneGet }),
    await load(yardstick, { ...shape, status: 200, next: () => oneGet }),
  )
  // Warm, like the gets: the path of a create is long, and is compiled while it runs.
  await load(ours, { ...shape, durationMs: 2000, status: 201, next: newPod })
  await load(yardstick, { ...shape, durationMs: 1000, status: 201, next: newPod })
  const creates = rateRow(
    `durable create, ${at} in flight`,
    await load(ours, { ...shape, status: 201, next: newPod }),
    await load(yardstick, { ...shape, status: 201, next: newPod }),
  )
  return [gets, creates]
}

async function events({ ours, yardstick, newPod }: Basics): Promise<Row[]> {
  const rows: Row[] = []
  const [session, bareSession] = [openSession(ours), openSession(yardstick)]
  const list = JSON.parse((await answerOf(session, `${podsPath}?limit=1`)).toString()) as {
    metadata: { resourceVersion: string }
  }
  for (const watchers of [100, 1000]) {
    rows.push(
      timeRow(
        `one event to ${watchers} watchers`,
        await fanOut(ours, {
          watchers,
          path: `${podsPath}?watch=1&resourceVersion=${list.metadata.resourceVersion}&fieldSelector=metadata.name!%3Dnone`,
          fire: () => exchange(session, newPod()),
        }),
        await fanOut(yardstick, {
          watchers,
          path: '/watch',
          fire: () => exchange(bareSession, { method: 'GET', path: '/send' }),
        }),
        'from the start of the write to the last delivery',
      ),
    )
  }
  session.close()
  bareSession.close()
  return rows
}

export async function measureBasics(world: World, durationMs: number): Promise<Row[]> {
  const rows: Row[] = []
  const server = await world.startServer('basics.db')
  const bare = await world.startBare()
  const idleMb = usage(server.pid).residentMb
  let count = 0
  const newPod: Basics['newPod'] = () => ({
    method: 'POST',
    path: podsPath,
    body: Buffer.from(JSON.stringify(podManifest(`pod-${(count += 1)}`))),
  })
  const basics = { ours: server.endpoint, yardstick: bare.endpoint, durationMs, newPod }
  const session = openSession(server.endpoint)
  await exchange(session, newPod())
  session.close()
  for (const inFlight of [8, 1]) {
    const load = { connections: inFlight, streams: inFlight, podBytes: world.pod.length }
    rows.push(...(await getsAndCreates(basics, load)))
  }
  const afterLoadMb = usage(server.pid).residentMb
  rows.push(...(await events(basics)), {
    ...plainRow('memory of the API server', `${idleMb.toFixed(0)} MB idle`),
    bare: `${usage(bare.pid).residentMb.toFixed(0)} MB`,
    note: `${afterLoadMb.toFixed(0)} MB after ${count} creates, ${usage(server.pid).peakMb.toFixed(0)} MB at most`,
  })
  await Promise.all([server.stop(), bare.stop()])
  return rows
}
