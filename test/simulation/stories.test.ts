/** Simulations of what only several controllers do together, under faults for five minutes. */
import { expect, it } from 'vitest'
import { simulate } from '../../library/index.ts'
import { jobsStory } from './jobs-story.ts'
import { namespaceStory } from './namespace-story.ts'
import { ownersStory } from './owners-story.ts'
import { priorityStory } from './priority-story.ts'
import { servicesStory } from './services-story.ts'
import { volumesStory } from './volumes-story.ts'

it.each([
  ['a namespace goes with its pods, Jobs and volumes', namespaceStory],
  ['a Service has the addresses of its pods, and a DaemonSet a pod on each node', servicesStory],
  ['owners go with their dependents, before them or without them', ownersStory],
  ['pods of a higher priority take the places of others, which come back', priorityStory],
  ['Jobs end as they should, with as many pods as they ask for', jobsStory],
  ['volumes grow, and stay or go with their claims', volumesStory],
] as const)('%s, and no monitor objects', { timeout: 600_000 }, async (_, story) => {
  expect(await simulate({ ...story, seeds: 3 })).toHaveLength(3)
})
