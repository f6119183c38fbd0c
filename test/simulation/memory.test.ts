/** The memory of simulations, one after the other. */
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { simulate } from '../../library/index.ts'
import { deploymentStory } from './deployment-story.ts'

async function usedMb(collect: () => void): Promise<number> {
  for (let round = 0; round < 4; round += 1) {
    // What is finalized by a collection is collected by the next.
    await delay(10)
    collect()
  }
  return process.memoryUsage().heapUsed / 2 ** 20
}

it('a cluster that is over is given back, whatever watched it', { timeout: 600_000 }, async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const run = async (seed: number): Promise<unknown> =>
    await simulate({ ...deploymentStory, for: '1m', seed })
  // These also compile.
  for (const seed of [1, 2, 3]) await run(seed)
  const before = await usedMb(collect)
  for (const seed of [4, 5, 6, 7, 8]) await run(seed)
  // One of them takes 3 MB.
  expect((await usedMb(collect)) - before).toBeLessThan(6)
})
