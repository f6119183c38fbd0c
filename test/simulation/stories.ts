/** The stories of simulations, by name. */
import type { SimulationOptions } from '../../library/index.ts'
import { deploymentStory } from './deployment-story.ts'
import { jobsStory } from './jobs-story.ts'
import { namespaceStory } from './namespace-story.ts'
import { nodesStory } from './nodes-story.ts'
import { ownersStory } from './owners-story.ts'
import { priorityStory } from './priority-story.ts'
import { servicesStory } from './services-story.ts'
import { volumesStory } from './volumes-story.ts'
import { workloadsStory } from './workloads-story.ts'

export const stories: Readonly<Record<string, SimulationOptions>> = {
  deployment: deploymentStory,
  workloads: workloadsStory,
  nodes: nodesStory,
  namespace: namespaceStory,
  services: servicesStory,
  owners: ownersStory,
  priority: priorityStory,
  jobs: jobsStory,
  volumes: volumesStory,
}
