/** Informers against a server on a bad day. */
import fc from 'fast-check'
import { days, runDay } from '../../test/models/informer/story.ts'
import type { Part } from './part.ts'

export const informerSoak: Part = {
  name: 'informers',
  unit: 'days of an informer',
  sliceMs: 20_000,
  run: async ({ seed, until }) => {
    let runs = 0
    const property = fc.asyncProperty(days, fc.nat(), async (happenings, dayseed) => {
      runs += 1
      await runDay(happenings, dayseed)
    })
    for (let batch = 0; Date.now() < until; batch += 1) {
      await fc.assert(property, { numRuns: 500, seed: seed * 100_000 + batch })
    }
    return { runs, note: '' }
  },
}
