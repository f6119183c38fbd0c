/** Simulations of a namespace that goes with all that is in it, and of what follows pods and nodes, under faults for five minutes. */
import { expect, it } from 'vitest'
import { simulate } from '../../library/index.ts'
import { namespaceStory } from './namespace-story.ts'
import { servicesStory } from './services-story.ts'

it.each([
  ['a namespace goes with its pods, Jobs and volumes', namespaceStory],
  ['a Service has the addresses of its pods, and a DaemonSet a pod on each node', servicesStory],
] as const)('%s, and no monitor objects', { timeout: 600_000 }, async (_, story) => {
  expect(await simulate({ ...story, seeds: 3 })).toHaveLength(3)
})
