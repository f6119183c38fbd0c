/** Gets, durable creates and one event to many watchers, on a small store. */
import { performance } from 'node:perf_hooks'
import { answerOf, authorizationOf, exchange, load, openSession, type Endpoint } from './load.ts'
import { comparedRows, measuredLoad, type MeasuredLoad, type Subject } from './measured-load.ts'
import { podCreates, podsPath } from './pod.ts'
import { usage } from './process.ts'
import { plainRow, quantile, timeRow, type Row } from './rows.ts'
import type { World } from './world.ts'

interface FanOut {
  readonly watchers: number
  readonly path: string
  readonly fire: () => Promise<unknown>
}

/** One event to many watchers: the time from the write's start until the last has it. */
async function fanOut(endpoint: Endpoint, { watchers, path, fire }: FanOut): Promise<number> {
  const sessions = Array.from({ length: 10 }, () => openSession(endpoint))
  let arrived = 0
  let wake = (): void => {}
  const streams = Array.from({ length: watchers }, (_, at) => {
    const headers = { ':path': path, ...authorizationOf(endpoint) }
    const stream = sessions[at % sessions.length]!.request(headers)
    stream.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) arrived += 1
      if (arrived >= watchers) wake()
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
    await fire()
    await all
    taken.push(performance.now() - startedAt)
  }
  for (const session of sessions) session.destroy()
  return quantile(taken, 0.5)
}

/** The servers, and pods with names that count up. */
interface Basics {
  readonly ours: Subject
  readonly yardstick: Subject
  readonly peer: Subject | undefined
  readonly durationMs: number
  readonly newPod: ReturnType<typeof podCreates>
}

/** The same on each server, one after the other. */
async function onEach<T>(
  { ours, yardstick, peer }: Basics,
  run: (subject: Subject) => Promise<T>,
): Promise<{ ours: T; bare: T; peer: T | undefined }> {
  return {
    ours: await run(ours),
    bare: await run(yardstick),
    peer: peer === undefined ? undefined : await run(peer),
  }
}

async function getsAndCreates(
  basics: Basics,
  { inFlight, podBytes }: { inFlight: number; podBytes: number },
): Promise<Row[]> {
  const { durationMs, newPod } = basics
  const shape = { connections: inFlight, streams: inFlight, durationMs }
  const at = `${inFlight}×${inFlight} in flight`
  const oneGet = { method: 'GET' as const, path: `${podsPath}/pod-1` }
  const gets = { ...shape, status: 200, next: () => oneGet }
  const creates = { ...shape, status: 201, next: newPod }
  // Warm: the path of a create is long, and is compiled while it runs.
  const warm = async (subject: Subject, options: typeof gets | typeof creates) => {
    await load(subject.endpoint, { ...options, durationMs: 2000 })
    return await measuredLoad(subject, options)
  }
  const compared = async (options: typeof gets | typeof creates) =>
    await onEach<MeasuredLoad>(basics, (subject) => warm(subject, options))
  return [
    ...comparedRows(`get ${podBytes} bytes, ${at}`, await compared(gets)),
    ...comparedRows(`durable create, ${at}`, await compared(creates)),
  ]
}

/** How long one event takes to all watchers of an API server. */
async function eventTime({ endpoint }: Subject, watchers: number, newPod: Basics['newPod']) {
  const session = openSession(endpoint)
  const { token } = endpoint
  const list = JSON.parse((await answerOf(session, `${podsPath}?limit=1`, token)).toString()) as {
    metadata: { resourceVersion: string }
  }
  const query = `watch=1&resourceVersion=${list.metadata.resourceVersion}`
  const path = `${podsPath}?${query}&fieldSelector=metadata.name!%3Dnone`
  const fire = () => exchange(session, { ...newPod(), token })
  const time = await fanOut(endpoint, { watchers, path, fire })
  session.close()
  return time
}

async function events({ ours, yardstick, peer, newPod }: Basics): Promise<Row[]> {
  const rows: Row[] = []
  const bareSession = openSession(yardstick.endpoint)
  const fire = () => exchange(bareSession, { method: 'GET', path: '/send' })
  for (const watchers of [100, 1000]) {
    const bareMs = await fanOut(yardstick.endpoint, { watchers, path: '/watch', fire })
    const note = 'from the start of the write to the last delivery'
    const name = `one event to ${watchers} watchers`
    const row = timeRow(name, await eventTime(ours, watchers, newPod), bareMs, note)
    if (peer === undefined) rows.push(row)
    else rows.push({ ...row, peer: `${(await eventTime(peer, watchers, newPod)).toFixed(0)} ms` })
  }
  bareSession.close()
  return rows
}

export async function measureBasics(world: World, durationMs: number): Promise<Row[]> {
  const rows: Row[] = []
  const server = await world.startServer('basics.db')
  const bare = await world.startBare()
  const idleMb = usage(server.pid).residentMb
  const newPod = podCreates()
  const basics = { ours: server, yardstick: bare, peer: world.peer, durationMs, newPod }
  await onEach(basics, async ({ endpoint }) => {
    const session = openSession(endpoint)
    await exchange(session, { ...podCreates()(), token: endpoint.token })
    session.close()
  })
  newPod()
  for (const inFlight of [8, 1]) {
    rows.push(...(await getsAndCreates(basics, { inFlight, podBytes: world.pod.length })))
  }
  const afterLoadMb = usage(server.pid).residentMb
  rows.push(...(await events(basics)), {
    ...plainRow('memory of the API server', `${idleMb.toFixed(0)} MB idle`),
    bare: `${usage(bare.pid).residentMb.toFixed(0)} MB`,
    note: `${afterLoadMb.toFixed(0)} MB after them, ${usage(server.pid).peakMb.toFixed(0)} MB at most`,
  })
  await Promise.all([server.stop(), bare.stop()])
  return rows
}
