/** The etcd members of a stopped cluster, which run while its store is read or filled. */
import { mkdirSync } from 'node:fs'
import type { Clock } from '../../components/component-base/clock.ts'
import { ClusterError } from '../cluster-error.ts'
import type { ClusterConfig } from '../plan/cluster-config.ts'
import { ensureKnownServers } from '../etcd/known-members.ts'
import { planEtcd } from '../plan/plan-etcd.ts'
import { clusterMarker } from '../state/process-identity.ts'
import { logOf } from '../state/state-dir.ts'
import type { StatePaths } from '../state/state-dir.ts'
import { ChildStartError, startChild, type Child } from '../supervisor/child-process.ts'
import { withoutEtcdVariables } from '../supervisor/etcd-environment.ts'

const readyTimeoutMs = 60_000
const stopTimeoutMs = 10_000

/**
 * Starts the members; disposing of the result stops them. Without members there is nothing to start. Rejects with a ClusterError.
 * The caller holds the cluster's lock. When this process is killed, `skiff up` and `skiff down` end what is left of them.
 */
export async function startOwnEtcd({
  config,
  paths,
  clock,
}: {
  readonly config: ClusterConfig
  readonly paths: StatePaths
  readonly clock: Clock
}): Promise<AsyncDisposable> {
  const specs = planEtcd(config, paths)
  ensureKnownServers({ config, paths })
  if (specs.length > 0) mkdirSync(paths.logs, { recursive: true, mode: 0o700 })
  const children = specs.map(({ name, executable = 'etcd', args, folders, healthUrl }): Child => {
    for (const folder of folders) mkdirSync(folder, { recursive: true, mode: 0o700 })
    const options = { name, command: executable, args, cwd: paths.dir, logFile: logOf(paths, name) }
    const environment = { ...withoutEtcdVariables(), [clusterMarker]: config.id }
    const limits = { readyTimeoutMs, stopTimeoutMs }
    const health = healthUrl === undefined ? {} : { healthUrl }
    return startChild({ ...options, environment, ...limits, ...health }, clock)
  })
  const stop = async (): Promise<void> => {
    await Promise.all(children.map((child) => child.stop()))
  }
  try {
    await Promise.all(children.map((child) => child.ready))
    return { [Symbol.asyncDispose]: stop }
  } catch (error) {
    await stop()
    if (!(error instanceof ChildStartError)) throw error
    throw new ClusterError('failed', `the cluster's etcd cannot be started: ${error.message}`, {
      details: error.tail,
      cause: error,
    })
  }
}
