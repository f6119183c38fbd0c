/** Process cluster: a cluster of processes as scenarios see it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Cluster } from '../../cluster/cluster.ts'
import { createFaults } from '../../cluster/faults.ts'
import { dialectOf, nodeNames } from '../../cluster/plan/cluster-config.ts'
import { startProcessAgent } from './process-agent.ts'
import type { PartVerb, ScenarioCluster } from './scenario-cluster.ts'

async function act(cluster: Cluster, verb: PartVerb, name: string): Promise<void> {
  const { control } = cluster
  const faults = createFaults(control)
  switch (verb) {
    case 'kill':
      return await faults.kill(name)
    case 'pause':
      return await faults.pause(name)
    case 'resume':
      return await faults.resume(name)
    case 'restart':
      return void (await control.call('restart', { name }))
    case 'stop':
      return void (await control.call('stop-component', { name }))
    case 'start':
      return void (await control.call('start-component', { name }))
  }
}

export function processCluster(cluster: Cluster): ScenarioCluster {
  const { config, paths, server, client } = cluster
  return {
    dialect: dialectOf(config),
    server,
    caHash: config.caHash,
    id: config.id,
    client,
    clientAs: (identity) => cluster.clientAs(identity),
    createToken: (options) => cluster.createToken(options),
    addNode: (node) => cluster.addNode(node),
    removeNode: (name) => cluster.removeNode(name, { deleteObject: true }),
    act: (verb, part) => act(cluster, verb, part),
    startAgent: (agent, clock) => startProcessAgent(agent, { cluster, clock }),
    agentCredentials: () => {
      const pki = (file: string): string => readFileSync(join(paths.pki, file), 'utf8')
      return {
        ca: pki('ca.crt'),
        credentials: { cert: pki('admin.crt'), key: pki('admin.key') },
      }
    },
    agentFolder: (name) => {
      const owner = config.nodes.find((one) => nodeNames(one).includes(name))
      return join(paths.nodes, owner?.name ?? name)
    },
    files: { kubeconfig: paths.adminKubeconfig, logs: paths.logs },
    lab: cluster.lab,
  }
}
