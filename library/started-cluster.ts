/** A cluster with all that its options ask for. */
import { readSavedHeader } from '../cluster/saved/read-header.ts'
import { clusterOver } from './cluster.ts'
import type { ClusterForm } from './cluster-form.ts'
import { startEmbedded } from './embedded-form.ts'
import { namedNodes } from './embedded-options.ts'
import { readManifests } from './manifests.ts'
import { optionsOf } from './node-flags.ts'
import { checkStartOptions } from './options.ts'
import { startProcesses } from './process-form.ts'
import type { Cluster, NodeOptions, StartClusterOptions } from './types.ts'

const defaultWaitMs = 60_000

/** Those of a saved cluster unless others are asked for. Rejects with a ClusterError for a file that cannot be used. */
async function nodesOf(options: StartClusterOptions): Promise<readonly NodeOptions[]> {
  const { from, nodes, components } = options
  // Also when its nodes are not wanted: an invalid file is rejected before anything starts.
  const saved = from === undefined ? undefined : await readSavedHeader(from)
  if (nodes === undefined && saved !== undefined) return saved.nodes.map(optionsOf)
  // Without the controller manager no node would become schedulable.
  const hasManager = components?.includes('controller-manager') ?? true
  const wanted = nodes ?? (hasManager ? 1 : 0)
  if (typeof wanted !== 'number') return wanted
  return namedNodes(wanted)
}

/** `startCluster`, loaded. */
export async function startedCluster(options: StartClusterOptions): Promise<Cluster> {
  const { within: waitMs = defaultWaitMs, ...checked } = checkStartOptions(options)
  const { manifests = [], objects = [], signal } = checked
  signal?.throwIfAborted()
  // Manifests that cannot be read are rejected before anything starts.
  await readManifests([...manifests, ...objects])
  const wanted = { ...checked, nodes: await nodesOf(checked), waitMs }
  const start = (): Promise<ClusterForm> =>
    checked.form === 'processes' ? startProcesses(wanted) : startEmbedded(wanted)
  const form = await start()
  const cluster = clusterOver(form)
  try {
    signal?.throwIfAborted()
    if (manifests.length + objects.length > 0) {
      await cluster.apply(...manifests, ...objects)
      await form.markStart()
    }
    return cluster
  } catch (error) {
    await cluster.stop()
    throw error
  }
}
