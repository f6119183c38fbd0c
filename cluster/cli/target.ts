/** Target: the cluster that a command looks at: one of this machine by its name, or any other by a kubeconfig. */
import { kubeconfigClient } from './kubeconfig-client.ts'
import { nameFlag, type CommandContext } from './command.ts'
import { withCluster } from './find-cluster.ts'
import { ClusterError } from '../cluster-error.ts'
import type { Cluster } from '../cluster.ts'
import type { Client } from '../../components/client/client.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'

export const targetFlags = defineFlags({
  ...nameFlag,
  kubeconfig: flag.string(
    'Kubeconfig of any other cluster; with --context alone the first of $KUBECONFIG, else ~/.kube/config.',
    '',
  ),
  context: flag.string('Context of the kubeconfig; by default the current one.'),
})

export interface GivenTarget {
  readonly name: string
  readonly kubeconfig: string
  readonly context: string | undefined
}

export interface Target {
  readonly client: Client
  /** What people call it: the name of the cluster, or of the server. */
  readonly title: string
  /** A cluster of this machine. */
  readonly cluster?: Pick<Cluster, 'control' | 'config' | 'paths'>
}

/** Errors of the cluster as one line with what to do; everything else as it is. */
function explained(error: unknown, title: string): unknown {
  if (error instanceof ConnectionError) {
    return new ClusterError('failed', `${title} does not answer: ${error.message}`, {
      hint: 'check it with: kubectl get --raw /readyz',
      cause: error,
    })
  }
  if (!isStatusError(error)) return error
  return new ClusterError('failed', `${title}: ${error.message}`, { cause: error })
}

/** Opens the cluster, runs `work` with it, and disconnects. */
export async function withTarget<T>(
  context: CommandContext,
  given: GivenTarget,
  work: (target: Target) => Promise<T>,
): Promise<T> {
  const run = async (target: Target): Promise<T> => {
    try {
      return await work(target)
    } catch (error) {
      context.signal.throwIfAborted()
      throw explained(error, target.title)
    }
  }
  if (given.kubeconfig === '' && given.context === undefined) {
    return await withCluster(context, given.name, async (cluster) => {
      return await run({ client: cluster.client, title: `cluster "${given.name}"`, cluster })
    })
  }
  const client = await kubeconfigClient(context, given)
  try {
    return await run({ client, title: client.rest.server })
  } finally {
    client.close()
  }
}
