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

export async function measureBasics(world: World, durationMs: number): Promise<Row[]> {
  const rows: Row[] = []
  const server = await world.startServer('basics.db')
  const bare = await world.startBare()
  const [ours, yardstick] = [server.endpoint, bare.endpoint]
  const idleMb = usage(server.pid).residentMb
  let count = 0
  const newPod = () => ({
    method: 'POST' as const,
    path: podsPath,
    body: Buffer.from(JSON.stringify(podManifest(`pod-${(count += 1)}`))),
  })
  const session = openSession(ours)
  await exchange(session, newPod())
  const oneGet = { method: 'GET' as const, path: `${podsPath}/pod-1` }
  for (const [connections, streams] of [
    [8, 8],
    [1, 1],
  ] as const) {
    const shape = { connections, streams, durationMs }
    const at = `${connections}×${streams}`
    await load(ours, { ...shape, durationMs: 1000, status: 200, next: () => oneGet })
    rows.push(
      rateRow(
        `get ${world.pod.length} bytes, ${at} in flight`,
        await load(ours, { ...shape, status: 200, next: () => oneGet }),
        await load(yardstick, { ...shape, status: 200, next: () => oneGet }),
      ),
    )
    // Warm, like the gets: the way of a create is long, and is compiled as it is walked.
    await load(ours, { ...shape, durationMs: 2000, status: 201, next: newPod })
    await load(yardstick, { ...shape, durationMs: 1000, status: 201, next: newPod })
    rows.push(
      rateRow(
        `durable create, ${at} in flight`,
        await load(ours, { ...shape, status: 201, next: newPod }),
        await load(yardstick, { ...shape, status: 201, next: newPod }),
      ),
    )
  }
  const afterLoadMb = usage(server.pid).residentMb
  const bareSession = openSession(yardstick)
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
  rows.push({
    ...plainRow('memory of the API server', `${idleMb.toFixed(0)} MB idle`),
    bare: `${usage(bare.pid).residentMb.toFixed(0)} MB`,
    note: `${afterLoadMb.toFixed(0)} MB after ${count} creates, ${usage(server.pid).peakMb.toFixed(0)} MB at most`,
  })
  await Promise.all([server.stop(), bare.stop()])
  return rows
}
