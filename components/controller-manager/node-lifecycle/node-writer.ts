/** Writes to nodes whose cached state may be old: a conflict is tried again with the server's (upstream: pkg/controller/util/node). */
import type { Node, Taint } from '../../api/generated/types.ts'
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
  /**
   * The same, but a node whose taints have changed meanwhile stays as it is: the caller sees its newer state, and calls again.
   * Resolves with what was written.
   */
  swapTaintsOnce(node: Node, swap: TaintSwap): Promise<Node | undefined>
}

/** A lost race; of a JSON patch, a failed test. */
function isOutdated(error: unknown): boolean {
  return isStatusError(error, 'Conflict', 'Invalid')
}

function hasTaints({ spec }: Node): boolean {
  return (spec?.taints?.length ?? 0) > 0
}

/**
 * Replaces the taints if they are still those of `node`. Upstream sends its resourceVersion for that (PatchNodeTaints), and loses to
 * each of the other controllers that write to a joining node.
 */
function patchOf({ metadata, spec }: Node, taints: readonly Taint[]): readonly object[] {
  const path = '/spec/taints'
  return [
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'test', path, value: spec?.taints },
    taints.length === 0 ? { op: 'remove', path } : { op: 'replace', path, value: taints },
  ]
}

export function createNodeWriter(nodes: ResourceClient<Node>, clock: Clock): NodeWriter {
  const withNode: NodeWriter['withNode'] = async (node, act) => {
    let current = node
    for (let tries = 1; ; tries += 1) {
      try {
        return await act(current)
      } catch (error) {
        if (isStatusError(error, 'NotFound')) return undefined
        if (!isOutdated(error) || tries === maxTries) throw error
      }
      try {
        current = await nodes.get({ name: node.metadata.name ?? '' })
      } catch (error) {
        if (isStatusError(error, 'NotFound')) return undefined
        throw error
      }
    }
  }
  const write = async (node: Node, swap: TaintSwap): Promise<Node | undefined> => {
    const taints = swapTaints(node.spec?.taints, swap, timestamp(clock.now()))
    if (taints === undefined) return undefined
    const { name = '', resourceVersion } = node.metadata
    if (hasTaints(node)) return await nodes.patch({ name }, patchOf(node, taints), { type: 'json' })
    const patch = { metadata: { resourceVersion }, spec: { taints } }
    return await nodes.patch({ name }, patch, { type: 'merge' })
  }
  return {
    withNode,
    swapTaints: async (node, wanted) => {
      await withNode(node, (current) => write(current, wanted(current)))
    },
    swapTaintsOnce: async (node, swap) => {
      try {
        return await write(node, swap)
      } catch (error) {
        if (!isOutdated(error) && !isStatusError(error, 'NotFound')) throw error
        return undefined
      }
    },
  }
}
