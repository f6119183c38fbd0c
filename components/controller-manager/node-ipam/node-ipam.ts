/**
 * Gives each node its ranges of pod addresses, one of each IP family of the cluster, and takes them back when the node goes
 * (upstream: pkg/controller/nodeipam, RangeAllocator; KEP-563 for both families).
 */
import type { Node } from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import type { Informer, InformerEvent } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { messageOf } from '../../component-base/log.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createOwnWrites } from '../own-writes.ts'
import type { OwnWrites } from '../own-writes.ts'
import { NodeRanges } from './node-ranges.ts'
import { cidrSetsOf } from './range-settings.ts'

const name = 'node-ipam-controller'
const workers = 30
const triesAtOnce = 3

interface NodeIpam {
  readonly context: ControllerContext
  readonly nodes: Informer<Node>
  readonly nodeClient: ResourceClient<Node>
  readonly ranges: NodeRanges
  readonly ownWrites: OwnWrites
}

/** The ranges a node carries already. Pure. */
export function rangesOf({ spec }: Node): readonly string[] {
  if (spec?.podCIDRs?.length) return spec.podCIDRs
  return spec?.podCIDR ? [spec.podCIDR] : []
}

/** Runs until `signal` aborts. Rejects with a StartError for flags that cannot be used. */
async function runNodeIpam(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, informers, resources, queues, clock, log, options } = context
  if (!options['allocate-node-cidrs']) {
    log.info('no ranges of pod addresses are given to nodes: --allocate-node-cidrs is not set')
    return
  }
  const nodes = informers.informer<Node>(resources.nodes)
  const ranges = new NodeRanges(cidrSetsOf(options, context.metrics.cidrSets))
  const ownWrites = createOwnWrites(nodes, clock)
  const nodeClient = client.resource<Node>(resources.nodes)
  const ipam = { context, nodes, nodeClient, ranges, ownWrites }
  // Before the first worker starts, every node of the first list has been seen: what existing nodes carry is never given away.
  nodes.onEvent((event) => follow(ipam, event))
  const controller = {
    name,
    informers: [source(nodes)],
    reconcile: (key: string) => syncNode(ipam, key),
    workers,
    queues,
    clock,
    log,
  }
  await context.metrics.running.during('nodeipam', () => runController(controller, signal))
}

/** Keeps the ranges of nodes as the cache shows them. */
function follow({ ranges, context }: NodeIpam, { type, object }: InformerEvent<Node>): void {
  const node = object.metadata.name ?? ''
  const carried = rangesOf(object)
  if (type === 'delete') {
    ranges.release(node)
    return
  }
  if (carried.length === 0) return
  try {
    ranges.occupy(node, carried)
  } catch (error) {
    context.log.warn('node has a range of pod addresses that is not of this cluster', {
      node,
      why: messageOf(error),
    })
  }
}

async function syncNode(ipam: NodeIpam, key: string): Promise<Result | void> {
  const { context, nodes, ranges, ownWrites } = ipam
  const node = nodes.get(key)
  if (node === undefined || node.metadata.deletionTimestamp !== undefined) return
  if (rangesOf(node).length > 0) return
  const pendingMs = ownWrites.pendingMs(key)
  if (pendingMs !== undefined) return { requeueAfterMs: pendingMs }
  const podCIDRs = ranges.allocate(key)
  if (podCIDRs === undefined) {
    recordStatus(ipam, node, 'CIDRNotAvailable')
    throw new Error(
      'failed to allocate cidr from cluster cidr: CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range',
    )
  }
  try {
    await assign(ipam, node, podCIDRs)
    context.log.info('set node PodCIDR', { node: key, podCIDRs })
  } catch (error) {
    // The range stays the node's: the write may have taken place, and the next try writes the same.
    if (!isStatusError(error, 'NotFound')) {
      recordStatus(ipam, node, 'CIDRAssignmentFailed')
      throw error
    }
  }
}

async function assign(
  { nodeClient, ownWrites }: NodeIpam,
  node: Node,
  podCIDRs: readonly string[],
): Promise<void> {
  const key = node.metadata.name ?? ''
  // Another node of that name may have come meanwhile: its own sync gives it ranges.
  const patch = {
    metadata: { uid: node.metadata.uid },
    spec: { podCIDR: podCIDRs[0], podCIDRs },
  }
  for (let tries = 1; ; tries += 1) {
    try {
      ownWrites.wrote(key, await nodeClient.patch({ name: key }, patch, { type: 'strategic' }))
      return
    } catch (error) {
      if (tries === triesAtOnce || isStatusError(error, 'NotFound')) throw error
    }
  }
}

function recordStatus({ context }: NodeIpam, node: Node, reason: string): void {
  const message = `Node ${node.metadata.name} status is now: ${reason}`
  context.recorder.record(node, { type: 'Normal', reason, message })
}

export const nodeIpamController: ControllerEntry = {
  name,
  aliases: ['nodeipam'],
  eventSource: 'cidrAllocator',
  defaultOn: true,
  start: runNodeIpam,
}
