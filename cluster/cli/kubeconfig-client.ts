/** A client for any cluster, by a kubeconfig: the user's own, or the one that a command names. */
import { resolve } from 'node:path'
import { dialects } from '../../components/api/dialect.ts'
import { createClient, type Client } from '../../components/client/client.ts'
import { createPluginCredentials } from '../../components/client/exec-credential.ts'
import {
  connectionFrom,
  KubeconfigError,
  readKubeconfig,
} from '../../components/client/kubeconfig.ts'
import { ClusterError } from '../cluster-error.ts'
import { userKubeconfig } from '../state/merge-kubeconfig.ts'
import type { CommandContext } from './command.ts'

/** Retries would only hold up the error: a person waits for it. */
const retries = 2

/** `kubeconfig`: '' is the user's own. The caller closes the client. Throws a ClusterError of kind `usage` for an unusable kubeconfig. */
export async function kubeconfigClient(
  context: Pick<CommandContext, 'clock' | 'environment'>,
  given: { readonly kubeconfig: string; readonly context: string | undefined },
): Promise<Client> {
  const { clock, environment } = context
  const path = given.kubeconfig === '' ? userKubeconfig(environment) : resolve(given.kubeconfig)
  const dialect = dialects.kubernetes
  try {
    const config = await readKubeconfig(path)
    const connection = await connectionFrom(config, {
      ...(given.context === undefined ? {} : { context: given.context }),
      plugin: (exec, cluster) =>
        createPluginCredentials({
          exec,
          cluster,
          dialect,
          clock,
          hasTerminal: process.stdin.isTTY === true,
          environment,
        }),
    })
    return createClient({ ...connection, dialect, clock, retries })
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error
    throw new ClusterError('usage', error.message, {
      hint: 'choose another file with --kubeconfig, or another --context',
      cause: error,
    })
  }
}
