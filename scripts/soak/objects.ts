/** Random objects of every kind, by the code that is compiled for the kind and by its models. */
import { checkObject, kinds } from '../../test/models/objects/check.ts'
import type { Part } from './part.ts'

/** Between looks at the clock. */
const batch = 1000

export const objectSoak: Part = {
  name: 'objects',
  unit: 'objects',
  sliceMs: 60_000,
  run: async ({ seed, until }) => {
    let runs = 0
    do {
      for (let at = 0; at < batch; at += 1) {
        runs += 1
        const kind = kinds[runs % kinds.length]
        if (kind !== undefined) checkObject(kind, seed * 10_000_000 + runs)
      }
    } while (Date.now() < until)
    return { runs, note: `of ${kinds.length} kinds` }
  },
}
