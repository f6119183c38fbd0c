/** What the first requests after a start cost: 200 gets and creates one at a time, and events to many watchers meanwhile. */
import { performance } from 'node:perf_hooks'
import { bareDeliveries, deliveriesOf, lateNotes, shownLateness } from './deliveries.ts'
import { exchange, openLoad, openSession, type Request } from './load.ts'
import { podCreates, podsPath } from './pod.ts'
import { quantile, type Row } from './rows.ts'
import type { Running, World } from './world.ts'

const first = 200
/** Requests between the first and those that they are compared with. */
const warmUp = 10_000
const pace = { watchers: 1000, events: 200, everyMs: 50 }

type Start = () => Promise<Running>

/** The times in ms of so many requests, one at a time. */
async function timesOf(server: Running, next: () => Request): Promise<number[]> {
  const session = openSession(server.endpoint)
  const times: number[] = []
  for (let at = 0; at < first; at += 1) {
    const startedAt = performance.now()
    await exchange(session, next())
    times.push(performance.now() - startedAt)
  }
  session.close()
  return times
}

interface Cold {
  /** How many times as long the first took as warm ones, in the mean. */
  readonly times: number
  readonly shown: string
}

async function coldOf(start: Start, next: () => Request, status: number): Promise<Cold> {
  const server = await start()
  // A get needs a pod; the handshake of a client is no part of a request.
  const session = openSession(server.endpoint)
  await exchange(session, podCreates()())
  session.close()
  const cold = await timesOf(server, next)
  const warm = openLoad(server.endpoint, { connections: 4, streams: 4, status, next })
  await warm.run(warmUp)
  warm.close()
  const later = await timesOf(server, next)
  await server.stop()
  const mean = (times: number[]): number => times.reduce((sum, time) => sum + time, 0) / first
  const times = mean(cold) / mean(later)
  const p99 = quantile(cold, 0.99).toFixed(1)
  return {
    times,
    shown: `${mean(cold).toFixed(2)} ms, p99 ${p99} ms; warm ${mean(later).toFixed(2)} ms`,
  }
}

async function requests(world: World, what: 'get' | 'create'): Promise<Row> {
  const oneGet = { method: 'GET' as const, path: `${podsPath}/pod-1` }
  const cold = async (start: Start): Promise<Cold> => {
    const newPod = podCreates('new')
    return what === 'get'
      ? await coldOf(start, () => oneGet, 200)
      : await coldOf(start, newPod, 201)
  }
  const ours = await cold(() => world.startServer(`cold-${what}.db`))
  const bare = await cold(() => world.startBare())
  return {
    name: `first ${first} ${what}s after a start, one at a time`,
    skiff: ours.shown,
    bare: bare.shown,
    ratio: '',
    note: `${ours.times.toFixed(1)} times a warm one, of the bare server ${bare.times.toFixed(1)}`,
  }
}

async function events(world: World): Promise<Row> {
  const server = await world.startServer('cold-events.db')
  const { object, ...ours } = await deliveriesOf(server.endpoint, pace)
  await server.stop()
  const bare = await world.startBare()
  const yardstick = await bareDeliveries(bare.endpoint, object, pace)
  await bare.stop()
  return {
    name: `delivery to ${pace.watchers} watchers at ${1000 / pace.everyMs} events/s, first 10 s after a start`,
    skiff: shownLateness(ours),
    bare: shownLateness(yardstick),
    ratio: `${Math.round((yardstick.p99 / ours.p99) * 100)} %`,
    note: lateNotes(ours).join(', '),
  }
}

export async function measureColdStart(world: World): Promise<Row[]> {
  return [await requests(world, 'get'), await requests(world, 'create'), await events(world)]
}
