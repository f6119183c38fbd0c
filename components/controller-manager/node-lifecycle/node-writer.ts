/** Writes to nodes whose cached state may be old: a conflict is tried again with the server's (upstream: pkg/controller/util/node). */
import type { Node } from '../../api/generated/types.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { Clock } from '../../component-base/clock.ts'
import { timestamp } from '../../component-base/clock.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { swapTaints } from './node-taints.ts'
import type { TaintSwap } from './node-taints.ts'

const maxTries = 5

export interface NodeWriter {
  /** Calls `act` with the node, and after a conflict with the server's. Resolves with undefined if the node is gone. */
  withNode<T>(node: Node, act: (node: Node) => Promise<T>): Promise<T | undefined>
  /** Changes the node's taints as `wanted` says of its current state. A no-op writes nothing. */
  swapTaints(node: Node, wanted: (node: Node) => TaintSwap): Promise<void>
  /** The same, but a node that has changed meanwhile stays as it is: the caller sees its newer state, and calls again. */
  swapTaintsOnce(node: Node, swap: TaintSwap): Promise<void>
}

export function createNodeWriter(nodes: ResourceClient<Node>, clock: Clock): NodeWriter {
  const withNode: NodeWriter['withNode'] = async (node, act) => {
    let current = node
    for (let tries = 1; ; tries += 1) {
      try {
        return await act(current)
      } catch (error) {
        if (isStatusError(error, 'NotFound')) return undefined
        if (!isStatusError(error, 'Conflict') || tries === maxTries) throw error
      }
      try {
        current = await nodes.get({ name: node.metadata.name ?? '' })
      } catch (error) {
        if (isStatusError(error, 'NotFound')) return undefined
        throw error
      }
    }
  }
  const write = async (node: Node, swap: TaintSwap): Promise<void> => {
    const taints = swapTaints(node.spec?.taints, swap, timestamp(clock.now()))
    if (taints === undefined) return
    const { name = '', resourceVersion } = node.metadata
    const patch = {
      metadata: { resourceVersion },
      spec: { taints: taints.length === 0 ? null : taints },
    }
    await nodes.patch({ name }, patch, { type: 'merge' })
  }
  return {
    withNode,
    swapTaints: async (node, wanted) => {
      await withNode(node, (current) => write(current, wanted(current)))
    },
    swapTaintsOnce: async (node, swap) => {
      try {
        await write(node, swap)
      } catch (error) {
        if (!isStatusError(error, 'NotFound', 'Conflict')) throw error
      }
    },
  }
}
