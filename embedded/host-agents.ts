/** Calls of the host about agents that are started by hand. */
import { AgentByHand } from './agent-by-hand.ts'
import type { EmbeddedCluster } from './embedded-cluster.ts'
import type { HostCalls } from './host-protocol.ts'

type AgentCall = 'joinNode' | 'agentJoined' | 'agentLogged' | 'agentLines' | 'agentLeaves'
type AgentCalls = {
  readonly [Name in AgentCall]: (
    request: HostCalls[Name]['request'],
  ) => Promise<HostCalls[Name]['answer']>
}

/** `clusterOf` throws for a cluster that has been stopped. */
export function agentCalls(clusterOf: (id: number) => EmbeddedCluster): AgentCalls {
  const agents = new Map<string, AgentByHand>()
  const keyOf = (cluster: number, name: string): string => `${cluster}/${name}`
  const agentOf = (cluster: number, name: string): AgentByHand => {
    const agent = agents.get(keyOf(cluster, name))
    if (agent === undefined) throw new Error(`no agent of ${name} was started by hand`)
    return agent
  }
  return {
    joinNode: async ({ cluster, agent: options }) => {
      const agent = new AgentByHand(options)
      clusterOf(cluster).joinNode(agent)
      agents.set(keyOf(cluster, options.name), agent)
      return undefined
    },
    agentJoined: async ({ cluster, name }) => {
      await agentOf(cluster, name).joined
      return undefined
    },
    agentLogged: async ({ cluster, name, pattern }) => {
      await agentOf(cluster, name).logged(new RegExp(pattern))
      return undefined
    },
    agentLines: async ({ cluster, name }) => agentOf(cluster, name).lines,
    agentLeaves: async ({ cluster, name }) => {
      agents.get(keyOf(cluster, name))?.leave()
      agents.delete(keyOf(cluster, name))
      await clusterOf(cluster).forgetNode(name)
      return undefined
    },
  }
}
