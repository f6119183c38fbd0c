/** Random stories of several clients: against a server in memory, one that is stopped and started, and real ones that are killed. */
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { stories, type Round } from '../../test/models/api-server/steps.ts'
import { runStory } from '../../test/models/api-server/story.ts'
import type { Subject } from '../../test/models/api-server/subject.ts'
import { startApiServer } from '../../test/support/api-server.ts'
import { startChildApiServer } from '../../test/support/child-api-server.ts'
import { FakeClock } from '../../test/support/fake-clock.ts'
import { MemoryGrowth } from './memory-growth.ts'
import type { Part } from './part.ts'

/** A namespace is gone with all that is in it: a server in which everything was deleted must be as small as before. */
async function leaveNothing(subject: Subject, namespace: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}`
  const maps = `${path}/configmaps`
  const { body } = await subject.request('GET', maps)
  for (const { metadata } of body.items as { metadata: { name: string } }[]) {
    const patch = { metadata: { finalizers: null } }
    const headers = { 'content-type': 'application/merge-patch+json' }
    await subject.request('PATCH', `${maps}/${metadata.name}`, { body: patch, headers })
  }
  await subject.request('DELETE', maps)
  const { body: deleting } = await subject.request('DELETE', path)
  await subject.request('PUT', `${path}/finalize`, { body: { ...deleting, spec: {} } })
}

/** Runs stories until the time is over; a failure is shrunk and says how to run it again. */
async function tell(
  subject: Subject,
  allowed: Parameters<typeof stories>[0],
  more: { seed: number; until: number; atOnce: number; afterSome?: () => Promise<void> },
): Promise<number> {
  let runs = 0
  const property = fc.asyncProperty(stories(allowed), async (rounds: Round[]) => {
    runs += 1
    const namespace = `story-${more.seed}-${runs}`
    await runStory(subject, rounds, namespace)
    await leaveNothing(subject, namespace)
  })
  for (let batch = 0; Date.now() < more.until; batch += 1) {
    await fc.assert(property, { numRuns: more.atOnce, seed: more.seed * 100_000 + batch })
    await more.afterSome?.()
  }
  return runs
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
const ownHeap = new MemoryGrowth('own heap', { warmUps: 2, mostMb: 40 })

function readOwnHeap(): void {
  collectGarbage()
  ownHeap.read(process.memoryUsage().heapUsed / 2 ** 20)
}

export const memoryStories: Part = {
  name: 'stories',
  unit: 'stories with time passing',
  sliceMs: 60_000,
  run: async ({ seed, until }) => {
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock })
    const growth = new MemoryGrowth('a server whose history is forgotten', {
      warmUps: 3,
      mostMb: 30,
    })
    const subject = {
      request: server.request,
      watch: server.watch,
      nowMs: () => clock.now(),
      pass: (ms: number) => clock.step(ms),
    }
    const runs = await tell(
      subject,
      { kills: false, time: true, rounds: 14 },
      {
        seed,
        until,
        atOnce: 100,
        afterSome: async () => {
          await clock.step(11 * 60_000)
          collectGarbage()
          growth.read(process.memoryUsage().heapUsed / 2 ** 20)
        },
      },
    )
    if (server.faults.length > 0) throw new Error(server.faults.join('\n'))
    return { runs, note: growth.note }
  },
}

export const storeStories: Part = {
  name: 'restarts',
  unit: 'stories with a server that is stopped and started',
  sliceMs: 60_000,
  run: async ({ seed, until }) => {
    await using server = await startApiServer({ store: 'sqlite' })
    let restarts = 0
    const subject = {
      request: server.request,
      watch: server.watch,
      nowMs: () => Date.now(),
      kill: async () => {
        restarts += 1
        await server.restart()
      },
    }
    const runs = await tell(
      subject,
      { kills: true, time: false, rounds: 10 },
      { seed, until, atOnce: 50 },
    )
    readOwnHeap()
    if (server.faults.length > 0) throw new Error(server.faults.join('\n'))
    return { runs, note: `${restarts} restarts, ${ownHeap.note}` }
  },
}

export const childStories: Part = {
  name: 'kills',
  unit: 'stories with a process that is killed',
  sliceMs: 90_000,
  run: async ({ seed, until }) => {
    await using server = await startChildApiServer()
    let kills = 0
    const subject = {
      request: server.request,
      watch: server.watch,
      nowMs: () => Date.now(),
      kill: async () => {
        kills += 1
        // From before the first request has arrived until after the last was answered.
        await delay((kills % 7) * 0.7)
        await server.kill()
      },
    }
    const runs = await tell(
      subject,
      { kills: true, time: false, rounds: 10 },
      { seed, until, atOnce: 10 },
    )
    if (server.errors !== '') throw new Error(server.errors)
    return { runs, note: `${kills} kills` }
  },
}
