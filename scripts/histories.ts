/** `npm run histories`: seeds of simulations with the hashes of what they write, one line each. Every machine prints the same. */
import { simulate } from '../library/index.ts'
import { stories } from '../test/simulation/stories.ts'

for (const [name, story] of Object.entries(stories))
  for (const { seed, hash } of await simulate({ ...story, for: '1m', seeds: 1 }))
    console.log(`${name} ${seed} ${hash}`)
process.exit(0)
