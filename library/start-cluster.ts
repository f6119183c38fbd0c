/** startCluster: the door of the library. Little is loaded with it; the rest comes while the thread of an embedded cluster loads. */
import { prepareCluster, prepareEmbedded } from './host-thread.ts'
import type { Cluster, StartClusterOptions } from './types.ts'

/** For those who are about to call `startCluster`: starts the cluster that it gives without options, and loads the rest of the library. */
export function prepareStart(): void {
  prepareCluster()
  // If it cannot be loaded, `startCluster` says so.
  void import('./started-cluster.ts').catch(() => {})
}

/**
 * Starts a cluster; resolves when its nodes are Ready and its manifests are applied. Rejects with an OptionError, a ManifestError,
 * or what kept a component from starting; nothing is left then.
 */
export async function startCluster(options: StartClusterOptions = {}): Promise<Cluster> {
  if (options?.form !== 'processes') prepareEmbedded()
  const { startedCluster } = await import('./started-cluster.ts')
  return await startedCluster(options)
}
