/** Random stories of workloads on a cluster of real processes, which are killed; all of its history is held against the invariants. */
import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { startCluster, type Cluster } from '../../cluster/cluster.ts'
import { workloadStories, type Kill } from '../../test/models/workloads/steps.ts'
import { runWorkloadStory } from '../../test/models/workloads/story.ts'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import type { Part } from './part.ts'

const nodes = 3

/** A leader that was killed is followed soon. */
const leases = {
  'leader-elect-lease-duration': '4s',
  'leader-elect-renew-deadline': '3s',
  'leader-elect-retry-period': '500ms',
}

async function kill(cluster: Cluster, { component, which, heldMs }: Kill): Promise<void> {
  const name = component === 'node' ? `node-${(which % nodes) + 1}` : component
  if (heldMs === 0) {
    await cluster.control.call('kill', { name })
    return
  }
  await cluster.control.call('pause', { name })
  await delay(heldMs)
  await cluster.control.call('resume', { name })
}

export const workloadSoak: Part = {
  name: 'workloads',
  unit: 'stories of workloads',
  sliceMs: 120_000,
  run: async ({ seed, until }) => {
    const stateRoot = temporaryFolder('workload-soak')
    let runs = 0
    let kills = 0
    let changes = 0
    try {
      await using cluster = await startCluster({
        name: 'soak',
        stateRoot,
        nodes,
        port: 0,
        lifetime: 'owner',
        extraFlags: { 'controller-manager': leases, scheduler: leases },
      })
      const subject = {
        client: cluster.client,
        kill: async (one: Kill) => {
          kills += 1
          await kill(cluster, one)
        },
        restMs: 120_000,
        quietMs: 3000,
      }
      do {
        const story = seed * 1000 + runs
        const [rounds = []] = fc.sample(workloadStories(10), { seed: story, numRuns: 1 })
        runs += 1
        try {
          changes += await runWorkloadStory(subject, rounds, `story-${story}`)
        } catch (error) {
          throw new Error(`story ${runs} of seed ${seed}: ${JSON.stringify(rounds)}`, {
            cause: error,
          })
        }
      } while (Date.now() < until)
    } finally {
      rmSync(stateRoot, { recursive: true, force: true })
    }
    return { runs, note: `${kills} kills, ${changes} changes judged` }
  },
}
