/** Simulations of the whole control plane under faults, with all monitors on, seed after seed. */
import { simulate } from '../../library/index.ts'
import { stories } from '../../test/simulation/stories.ts'
import type { Part } from './part.ts'

export const simulationSoak: Part = {
  name: 'simulations',
  unit: 'seeds of a simulation',
  sliceMs: 60_000,
  run: async ({ seed, until }) => {
    let runs = 0
    let commits = 0
    while (Date.now() < until)
      for (const story of Object.values(stories)) {
        const [run] = await simulate({ ...story, seed: (seed * 10_000 + runs) % 2 ** 32 })
        commits += run?.commits ?? 0
        runs += 1
      }
    return { runs, note: `${commits} writes` }
  },
}
