/** ClusterJudges: holds the clusters below a state root against the invariants, from when they are up until they go. */
import { clusterClient } from '../../cluster/cluster-client.ts'
import { readClusterConfig } from '../../cluster/plan/cluster-config.ts'
import { lockHolder } from '../../cluster/state/lock.ts'
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
  /** Begins with the cluster of that name, which is up; goes on with it if it was down meanwhile. */
  judge(name: string): void
  /** Judges what has happened so far. Call it before a cluster goes. */
  settle(): Promise<void>
  /** Ends all, and gives the violations, each with its cluster's name. */
  end(): Promise<string[]>
}

interface Judged {
  readonly name: string
  readonly client: Client
  readonly cluster: JudgedCluster
  /** Told again that it is up. */
  readonly resume: () => void
}

export function createClusterJudges(stateRoot: string): ClusterJudges {
  const judged = new Map<string, Judged>()
  return {
    judge: (name) => {
      const paths = statePaths(stateRoot, name)
      const config = readClusterConfig(paths)
      // A cluster that is made again under its name is another one, and so is one that changed its port.
      const key = `${config?.id} ${config?.port}`
      judged.get(key)?.resume()
      if (config === undefined || judged.has(key)) return
      const client = clusterClient({ config, paths, clock: systemClock })
      let isUp = true
      // Once it is down, its port may be somebody else's until it has been started again.
      const mayAsk = (): boolean => {
        isUp &&= lockHolder(paths) !== undefined
        return isUp
      }
      const resume = (): void => {
        isUp = true
      }
      judged.set(key, {
        name,
        client,
        resume,
        cluster: judgeCluster(client, { patienceMs, mayAsk }),
      })
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
