/** startCluster: the door of the library. */
import { clusterOver } from './cluster.ts'
import type { ClusterForm } from './cluster-form.ts'
import { startEmbedded } from './embedded-form.ts'
import { readManifests } from './manifests.ts'
import { checkStartOptions } from './options.ts'
import { startProcesses } from './process-form.ts'
import type { Cluster, NodeOptions, StartClusterOptions } from './types.ts'

const defaultWaitMs = 60_000

function nodesOf({ nodes, components }: Pick<StartClusterOptions, 'nodes' | 'components'>) {
  // Without the controller manager no node would become schedulable.
  const hasManager = components?.includes('controller-manager') ?? true
  const wanted = nodes ?? (hasManager ? 1 : 0)
  if (typeof wanted !== 'number') return wanted
  return Array.from({ length: wanted }, (_, index): NodeOptions => ({ name: `node-${index + 1}` }))
}

/**
 * Starts a cluster; resolves when its nodes are Ready and its manifests are applied. Rejects with an OptionError, a ManifestError,
 * or what kept a component from starting; nothing is left then.
 */
export async function startCluster(options: StartClusterOptions = {}): Promise<Cluster> {
  const { within: waitMs = defaultWaitMs, ...checked } = checkStartOptions(options)
  const { manifests = [], objects = [], signal } = checked
  signal?.throwIfAborted()
  // Before the start, which what cannot be read would be in vain for.
  await readManifests([...manifests, ...objects])
  const wanted = { ...checked, nodes: nodesOf(checked) }
  const start = (): Promise<ClusterForm> =>
    checked.form === 'processes' ? startProcesses({ ...wanted, waitMs }) : startEmbedded(wanted)
  const cluster = clusterOver(await start())
  try {
    signal?.throwIfAborted()
    if (manifests.length + objects.length > 0) await cluster.apply(...manifests, ...objects)
    return cluster
  } catch (error) {
    await cluster.stop()
    throw error
  }
}
