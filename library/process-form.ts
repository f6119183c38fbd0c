/** A cluster of processes, as `skiff up` makes it; it ends with this process, however that ends. */
import { randomBytes } from 'node:crypto'
import { dialectOf } from '../cluster/plan/cluster-config.ts'
import type { NodeConfig } from '../cluster/plan/cluster-config.ts'
import { startCluster } from '../cluster/cluster.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { TimeState } from '../cluster/lab/lab.ts'
import { lastLines } from '../cluster/log-tail.ts'
import { readCheckedCredential } from '../cluster/state/check-pki.ts'
import { logOf } from '../cluster/state/state-dir.ts'
import { processCluster } from '../scenarios/engine/process-cluster.ts'
import type { ClusterForm } from './cluster-form.ts'
import { followTimeOf } from './followed-time.ts'
import { nodeFlags } from './node-flags.ts'
import { stagesIn } from '../cluster/stages/stages-in.ts'
import type { NodeOptions, StartClusterOptions } from './types.ts'

/** As many as an embedded cluster keeps of each component. */
const mostLogLines = 2000

function configOf(node: NodeOptions): NodeConfig {
  return { name: node.name, flags: nodeFlags(node) }
}

export async function startProcesses(
  options: StartClusterOptions & {
    readonly nodes: readonly NodeOptions[]
    readonly waitMs: number
  },
): Promise<ClusterForm> {
  const { nodes, port, flags, from, waitMs, signal } = options
  const cluster = await startCluster({
    name: `test-${randomBytes(4).toString('hex')}`,
    nodes: 0,
    from,
    port: port ?? 0,
    extraFlags: flags,
    stages: await stagesIn(options.stages),
    waitMs,
    lifetime: 'owner',
    ...(signal === undefined ? {} : { signal }),
  })
  try {
    for (const name of ['controller-manager', 'scheduler'] as const)
      if (options.components?.includes(name) === false)
        await cluster.control.call('stop-component', { name })
    await Promise.all(nodes.map((node) => cluster.addNode(configOf(node), { waitMs })))
    return formOf(cluster, nodes, await cluster.lab.time.state())
  } catch (error) {
    await cluster[Symbol.asyncDispose]()
    throw error
  }
}

function formOf(
  cluster: Cluster,
  nodes: readonly NodeOptions[],
  timeState: TimeState,
): ClusterForm {
  const { config, paths, control } = cluster
  const { time, clock } = followTimeOf(timeState, (request) => control.call('time', request))
  const names = new Set(nodes.map(({ name }) => name))
  const embeddedOnly = async (): Promise<never> => {
    throw new Error('only embedded clusters can do this: start the cluster without form: processes')
  }
  return {
    form: 'processes',
    server: cluster.server,
    authority: readCheckedCredential(paths, 'ca'),
    dialect: dialectOf(config),
    clock,
    time,
    faults: cluster.lab.faults,
    chaos: cluster.lab.chaos,
    processes: processCluster(cluster),
    // The supervisor starts again what fails.
    fault: () => new AbortController().signal,
    nodeNames: () => [...names],
    addNode: async (node) => {
      await cluster.addNode(configOf(node))
      names.add(node.name)
    },
    startNode: async (name) => {
      await control.call('start-component', { name })
      await cluster.waitForNodes([{ name }])
    },
    stopNode: async (name) => {
      await control.call('stop-component', { name })
    },
    removeNode: async (name) => {
      await cluster.removeNode(name, { deleteObject: true })
      names.delete(name)
    },
    logs: async (component) => {
      const files = component === 'node-agent' ? [...names] : [component]
      return files.flatMap((name) => lastLines(logOf(paths, name), mostLogLines))
    },
    snapshot: embeddedOnly,
    image: embeddedOnly,
    restore: embeddedOnly,
    // It has no reset.
    markStart: async () => {},
    reset: embeddedOnly,
    fork: embeddedOnly,
    close: async () => cluster[Symbol.asyncDispose](),
  }
}
