/** An informer against a server whose watches break at random points, whose history ends and whose lists are old. */
import fc from 'fast-check'
import { describe, it } from 'vitest'
import { days, runDay } from './informer/story.ts'
import { parametersOf } from './replay.ts'

describe('whatever becomes of its watches', () => {
  it('an informer ends up with what the server has, and its handlers know', async () => {
    const property = fc.asyncProperty(days, fc.nat(), async (happenings, seed) => {
      await runDay(happenings, seed)
    })
    await fc.assert(property, parametersOf(1000))
  }, 300_000)
})
