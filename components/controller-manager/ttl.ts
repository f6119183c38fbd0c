/**
 * Tells each node's kubelet how long it may use what it read of Secrets and ConfigMaps, by the size of the cluster
 * (upstream: pkg/controller/ttl). When the size passes a bound, each node gets its new time after its next change, as upstream:
 * an agent reports at least every five minutes. To patch all at once would cost a growing cluster another patch of most nodes.
 */
import type { Node } from '../api/generated/types.ts'
import { labelKey } from '../api/dialect.ts'
import { runController, source } from '../client/controller.ts'
import type { Result } from '../client/controller.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'
import type { ControllerContext, ControllerEntry } from './controller-context.ts'
import { createOwnWrites } from './own-writes.ts'

const name = 'ttl-controller'

/** They overlap, so that a cluster at a bound does not change to and fro. */
const steps = [
  { least: 0, most: 100, ttlSeconds: 0 },
  { least: 90, most: 500, ttlSeconds: 15 },
  { least: 450, most: 1000, ttlSeconds: 30 },
  { least: 900, most: 2000, ttlSeconds: 60 },
  { least: 1800, most: Number.POSITIVE_INFINITY, ttlSeconds: 300 },
] as const

/** The step for that many nodes, coming from another step. Pure. */
export function stepFor(nodes: number, from: number): number {
  let step = from
  while (nodes > (steps[step]?.most ?? Infinity)) step += 1
  while (nodes < (steps[step]?.least ?? 0)) step -= 1
  return step
}

/** Runs until `signal` aborts. */
async function runTtl(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, informers, resources, dialect, queues, clock, log } = context
  const nodes = informers.informer<Node>(resources.nodes)
  const nodeClient = client.resource<Node>(resources.nodes)
  const annotation = labelKey(dialect, 'node.alpha', 'ttl')
  const ownWrites = createOwnWrites(nodes, clock)
  let count = 0
  let step = 0
  nodes.onEvent(({ type }) => {
    if (type === 'update') return
    count += type === 'add' ? 1 : -1
    step = stepFor(count, step)
  })
  await runController(
    {
      name,
      informers: [source(nodes)],
      reconcile: async (key): Promise<Result | void> => {
        const node = nodes.get(key)
        if (node === undefined) return
        const ttl = String(steps[step]?.ttlSeconds ?? 0)
        if (node.metadata.annotations?.[annotation] === ttl) return
        const pendingMs = ownWrites.pendingMs(key)
        if (pendingMs !== undefined) return { requeueAfterMs: pendingMs }
        const patch = { metadata: { annotations: { [annotation]: ttl } } }
        try {
          const how = { type: 'strategic', signal } as const
          ownWrites.wrote(key, await nodeClient.patch({ name: key }, patch, how))
        } catch (error) {
          if (!isStatusError(error, 'NotFound')) throw error
        }
      },
      workers: 5,
      queue: queues('ttlcontroller'),
      clock,
      log,
    },
    signal,
  )
}

export const ttlController: ControllerEntry = {
  name,
  aliases: ['ttl'],
  defaultOn: true,
  start: runTtl,
}
