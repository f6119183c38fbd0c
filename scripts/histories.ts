/** `npm run histories`: seeds of simulations with the hashes of what they write, one line each. Every machine prints the same. */
import { simulate } from '../library/index.ts'
import { deploymentStory } from '../test/simulation/deployment-story.ts'
import { nodesStory } from '../test/simulation/nodes-story.ts'
import { workloadsStory } from '../test/simulation/workloads-story.ts'

const stories = { deployment: deploymentStory, workloads: workloadsStory, nodes: nodesStory }

for (const [name, story] of Object.entries(stories))
  for (const { seed, hash } of await simulate({ ...story, for: '1m', seeds: 2 }))
    console.log(`${name} ${seed} ${hash}`)
process.exit(0)
