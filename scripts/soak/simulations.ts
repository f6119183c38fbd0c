/** Simulations of the whole control plane under faults, with all monitors on, seed after seed. */
import { simulate } from '../../library/index.ts'
import { deploymentStory } from '../../test/simulation/deployment-story.ts'
import { namespaceStory } from '../../test/simulation/namespace-story.ts'
import { nodesStory } from '../../test/simulation/nodes-story.ts'
import { servicesStory } from '../../test/simulation/services-story.ts'
import { workloadsStory } from '../../test/simulation/workloads-story.ts'
import type { Part } from './part.ts'

const stories = [deploymentStory, workloadsStory, nodesStory, namespaceStory, servicesStory]

export const simulationSoak: Part = {
  name: 'simulations',
  unit: 'seeds of a simulation',
  sliceMs: 60_000,
  run: async ({ seed, until }) => {
    let runs = 0
    let commits = 0
    for (; Date.now() < until; runs += 1) {
      const story = stories[runs % stories.length] ?? deploymentStory
      const [run] = await simulate({ ...story, seed: (seed * 10_000 + runs) % 2 ** 32 })
      commits += run?.commits ?? 0
    }
    return { runs, note: `${commits} writes` }
  },
}
