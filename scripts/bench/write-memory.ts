/** What the API server holds after many writes: 12,000 pods created one after the other, and 100,000 more that are deleted again. */
import { setTimeout as delay } from 'node:timers/promises'
import { openLoad, type Request, type SteadyLoad } from './load.ts'
import type { Subject } from './measured-load.ts'
import { podCreates, podsPath } from './pod.ts'
import { usage } from './process.ts'
import { plainRow, type Row } from './rows.ts'
import type { World } from './world.ts'

const kept = 12_000
const passing = 100_000
/** So many are there at a time. */
const portion = 1000
const restMs = 10_000

/** Pods that are kept, then pods that come and go; resident memory in MB after each. */
async function memoryOf({ endpoint, pid }: Subject): Promise<readonly [number, number]> {
  const create = podCreates('kept')
  const one = openLoad(endpoint, { connections: 1, streams: 1, status: 201, next: create })
  await one.run(kept)
  one.close()
  const afterCreates = usage(pid).residentMb
  const shape = { connections: 8, streams: 8 }
  const creates = openLoad(endpoint, { ...shape, status: 201, next: podCreates('passing') })
  let deleted = 0
  const next = (): Request => {
    const path = `${podsPath}/passing-${(deleted += 1)}?gracePeriodSeconds=0`
    return { method: 'DELETE', path }
  }
  const deletions: SteadyLoad = openLoad(endpoint, { ...shape, status: 200, next })
  for (let made = 0; made < passing; made += portion) {
    await creates.run(portion)
    await deletions.run(portion)
  }
  creates.close()
  deletions.close()
  await delay(restMs)
  return [afterCreates, usage(pid).residentMb]
}

export async function measureWriteMemory(world: World): Promise<Row[]> {
  const server = await world.startServer('write-memory.db')
  const ours = await memoryOf(server)
  const { peakMb } = usage(server.pid)
  await server.stop()
  const theirs = world.peer === undefined ? undefined : await memoryOf(world.peer)
  const row = (name: string, at: 0 | 1, note: string): Row => ({
    ...plainRow(name, `${ours[at].toFixed(0)} MB`, note),
    ...(theirs === undefined ? {} : { peer: `${theirs[at].toFixed(0)} MB` }),
  })
  return [
    row(`resident after ${kept} creates, one at a time`, 0, ''),
    row(
      `the same, ${restMs / 1000} s after ${passing} creates and deletes more`,
      1,
      `${peakMb.toFixed(0)} MB at most`,
    ),
  ]
}
