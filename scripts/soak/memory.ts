/** Loads against a real process, over and over: its memory and its file must not grow with them. */
import { startChildApiServer } from '../../test/support/child-api-server.ts'
import { comeAndGo, replaceLargeObjects } from '../../test/support/memory-loads.ts'
import { MemoryGrowth } from './memory-growth.ts'
import type { Part } from './part.ts'

export const memorySoak: Part = {
  name: 'memory',
  unit: 'rounds of loads',
  sliceMs: 120_000,
  run: async ({ until }) => {
    await using server = await startChildApiServer()
    const resident = new MemoryGrowth('resident after a load', { warmUps: 1, mostMb: 60 })
    const stored = new MemoryGrowth('the store', { warmUps: 1, mostMb: 60 })
    let runs = 0
    do {
      runs += 1
      await replaceLargeObjects(server, 150)
      await comeAndGo(server, 5000)
      await resident.readIdle(server.residentMb)
      stored.read(server.storedMb())
    } while (Date.now() < until)
    if (server.errors !== '') throw new Error(server.errors)
    return { runs, note: `${resident.note}, ${stored.note}` }
  },
}
