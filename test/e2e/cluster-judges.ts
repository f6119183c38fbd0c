/** ClusterJudges: holds the clusters below a state root against the invariants, from when they are up until they go. */
import { clusterClient } from '../../cluster/cluster-client.ts'
import { readClusterConfig } from '../../cluster/plan/cluster-config.ts'
import { statePaths } from '../../cluster/state/state-dir.ts'
import type { Client } from '../../components/client/client.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import type { JudgedCluster } from '../invariants/judged-cluster.ts'
import { judgeCluster } from '../invariants/judged-cluster.ts'

/** As long as a garbage collector may take that waits for a killed leader's lease. */
const patienceMs = 90_000
/** A server that does not answer by then is down, or stopped by its test. */
const answerMs = 5000

export interface ClusterJudges {
  /** Begins with the cluster of that name unless it has begun with it. */
  judge(name: string): void
  /** Judges what has happened so far. Call it before a cluster goes. */
  settle(): Promise<void>
  /** Ends all, and gives the violations, each with its cluster's name. */
  end(): Promise<string[]>
}

export function createClusterJudges(stateRoot: string): ClusterJudges {
  const judged = new Map<string, { name: string; client: Client; cluster: JudgedCluster }>()
  return {
    judge: (name) => {
      const paths = statePaths(stateRoot, name)
      const config = readClusterConfig(paths)
      // A cluster that is made again under its name is another one, and so is one that changed its port.
      const key = `${config?.id} ${config?.port}`
      if (config === undefined || judged.has(key)) return
      const client = clusterClient({ config, paths, clock: systemClock })
      judged.set(key, { name, client, cluster: judgeCluster(client, { patienceMs }) })
    },
    settle: async () => {
      await Promise.all([...judged.values()].map(({ cluster }) => cluster.settle(answerMs)))
    },
    end: async () => {
      const ended = [...judged.values()].map(async ({ name, client, cluster }) => {
        const violations = await cluster.end(answerMs)
        client.close()
        return violations.map((violation) => `cluster ${name}: ${violation}`)
      })
      judged.clear()
      return (await Promise.all(ended)).flat()
    },
  }
}
