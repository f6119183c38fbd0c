/** Keeps the leases of fake nodes, as kwok does: without them, their nodes would be lost. */
import { resourcesOf } from '../api/resources.ts'
import type { Node } from '../api/generated/types.ts'
import type { Client } from '../client/client.ts'
import { runController, source } from '../client/controller.ts'
import type { Informer } from '../client/informer.ts'
import { upkeepOf, microTimestamp } from '../component-base/clock.ts'
import type { Clock } from '../component-base/clock.ts'
import type { Log } from '../component-base/log.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'

/** As kwok and kubelet. */
const durationSeconds = 40
const renewMs = 10_000
const workers = 4

/** Until the signal aborts. */
export async function runNodeLeases(
  around: {
    readonly client: Client
    readonly nodes: Informer<Node>
    readonly isFake: (node: Node | undefined) => boolean
    readonly holder: string
    readonly clock: Clock
    readonly log: Log
  },
  signal: AbortSignal,
): Promise<void> {
  const { client, nodes, isFake, holder, log } = around
  const clock = upkeepOf(around.clock)
  const { dialect } = client
  const leases = client.resource(resourcesOf(dialect).leases)
  const { nodeLeaseNamespace: namespace } = dialect
  /** When each was renewed, by the node's uid: changes of a node do not renew it. */
  const renewed = new Map<string, { readonly uid: string; readonly atMs: number }>()

  const renew = async (node: Node): Promise<void> => {
    const { name = '', uid = '' } = node.metadata
    const spec = { renewTime: microTimestamp(clock.now()) }
    const options = { type: 'merge', signal } as const
    try {
      await leases.patch({ namespace, name }, { spec }, options)
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
      const owner = { apiVersion: 'v1', kind: 'Node', name, uid }
      const held = { ...spec, holderIdentity: holder, leaseDurationSeconds: durationSeconds }
      const metadata = { name, namespace, ownerReferences: [owner] }
      await leases.create({ metadata, spec: held }, { signal })
    }
  }
  await runController(
    {
      name: 'node-leases',
      informers: [source(nodes)],
      workers,
      clock,
      log,
      reconcile: async (key) => {
        const node = nodes.get(key)
        if (node === undefined || !isFake(node)) return void renewed.delete(key)
        const { uid = '' } = node.metadata
        const last = renewed.get(key)
        const leftMs = last?.uid === uid ? last.atMs + renewMs - clock.now() : 0
        if (leftMs > 0) return { requeueAfterMs: leftMs }
        await renew(node)
        renewed.set(key, { uid, atMs: clock.now() })
        return { requeueAfterMs: renewMs }
      },
    },
    signal,
  )
}
