/** Attaching to the cluster that a command names. */
import { openCluster } from '../cluster.ts'
import type { Cluster } from '../cluster.ts'
import type { CommandContext } from './command.ts'

/** Attaches to the running cluster of that name, runs `work` with it, and disconnects. */
export async function withCluster<T>(
  context: CommandContext,
  name: string,
  work: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const { clock, stateRoot } = context
  const cluster = await openCluster({ name, stateRoot, clock })
  try {
    return await work(cluster)
  } finally {
    cluster.disconnect()
  }
}
