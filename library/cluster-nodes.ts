/** The nodes of a cluster, as its user handles them: of a running one, and of a simulated one. */
import type { ClusterForm } from './cluster-form.ts'
import { checkNode } from './options.ts'
import type { ClusterNode, NodeOptions } from './types.ts'

/** Whose nodes they are. */
export type NodeOwner = Pick<
  ClusterForm,
  'nodeNames' | 'addNode' | 'startNode' | 'stopNode' | 'removeNode'
>

function nodeOf(owner: NodeOwner, name: string): ClusterNode {
  return {
    name,
    stop: () => owner.stopNode(name),
    start: () => owner.startNode(name),
    remove: () => owner.removeNode(name),
  }
}

export function clusterNodes(owner: NodeOwner) {
  return {
    nodes: (): ClusterNode[] => owner.nodeNames().map((name) => nodeOf(owner, name)),
    node: (name: string): ClusterNode => {
      const names = owner.nodeNames()
      if (names.includes(name)) return nodeOf(owner, name)
      const known = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`
      throw new RangeError(`the cluster has no node ${name}: ${known}`)
    },
    addNode: async (node: NodeOptions): Promise<ClusterNode> => {
      const checked = checkNode('addNode', node)
      if (owner.nodeNames().includes(checked.name))
        throw new RangeError(`the cluster has a node ${checked.name} already`)
      await owner.addNode(checked)
      return nodeOf(owner, checked.name)
    },
  }
}
