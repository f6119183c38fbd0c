/** An embedded cluster: all of it in one thread of this process, which all embedded clusters of the process share. */
import { dialects } from '../components/api/dialect.ts'
import { chaosOver } from '../cluster/lab/chaos/chaos-request.ts'
import { faultsOver } from '../cluster/lab/fault-request.ts'
import { systemClock } from '../components/component-base/clock.ts'
import type { ClusterImage } from '../embedded/cluster-image.ts'
import type { HostedCluster, HostedImage } from '../embedded/host-protocol.ts'
import type { HostThread } from '../embedded/host-thread.ts'
import type { ClusterForm, FormSnapshot } from './cluster-form.ts'
import { followTimeOf } from './followed-time.ts'
import { embeddedNode, embeddedOptions } from './embedded-options.ts'
import { hostThread } from './host-thread.ts'
import { stagesIn } from '../cluster/stages/stages-in.ts'
import { startAgent } from './embedded-agent.ts'
import type { NodeOptions, StartClusterOptions } from './types.ts'

export async function startEmbedded(
  options: StartClusterOptions & {
    readonly nodes: readonly NodeOptions[]
    readonly waitMs: number
    /** On disk, for checkpoints of a cluster whose components start again when they end by themselves. */
    readonly folder?: string
  },
): Promise<ClusterForm> {
  const host = hostThread()
  const stageList = await stagesIn(options.stages)
  const starting = host.call('start', embeddedOptions({ ...options, stageList }))
  try {
    return formOf(host, await startedIn(starting, options))
  } catch (error) {
    // What has been given up may still come to be.
    void starting.then(({ cluster }) => host.call('close', { cluster })).catch(() => {})
    throw error
  }
}

async function startedIn<T>(
  starting: Promise<T>,
  { waitMs, signal }: { readonly waitMs: number; readonly signal?: AbortSignal | undefined },
): Promise<T> {
  const given = Promise.withResolvers<never>()
  const cancel = systemClock.after(waitMs, () =>
    given.reject(new Error(`the cluster had not started after ${waitMs / 1000} s`)),
  )
  const onAbort = (): void => given.reject(signal?.reason as Error)
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([starting, given.promise])
  } finally {
    cancel()
    signal?.removeEventListener('abort', onAbort)
  }
}

/** Calls of one cluster that rely on all of its components: they reject when one has failed, before the call or meanwhile. */
function sound(host: HostThread, cluster: number) {
  const whileSound = async <T>(call: () => Promise<T>): Promise<T> => {
    host.faultOf(cluster).throwIfAborted()
    const answer = await call()
    host.faultOf(cluster).throwIfAborted()
    return answer
  }
  return whileSound
}

function snapshotIn(
  host: HostThread,
  { image, resourceVersion, takenAtMs }: HostedImage,
): FormSnapshot {
  const drop = (): void => void host.call('drop', { image }).catch(() => {})
  return { id: String(image), resourceVersion, takenAtMs, drop }
}

/** Messages have no buffers. */
function receivedImage({ kvs, ...image }: ClusterImage): ClusterImage {
  const buffers = kvs.map(({ value, ...kv }) => ({
    ...kv,
    value: Buffer.from(value.buffer, value.byteOffset, value.byteLength),
  }))
  return { ...image, kvs: buffers }
}

function formOf(host: HostThread, hosted: HostedCluster): ClusterForm {
  const { cluster, server, authority } = hosted
  const names = new Set(hosted.nodes)
  const whileSound = sound(host, cluster)
  const { time, clock, speed, note } = followTimeOf(hosted.time, (ask) =>
    whileSound(() => host.call('time', { cluster, ask })),
  )
  const restore = async (image: number | undefined): Promise<void> => {
    const restored = await host.call('restore', { cluster, image })
    note(restored.time)
    names.clear()
    for (const name of restored.nodes) names.add(name)
  }
  return {
    form: 'embedded',
    server,
    authority,
    dialect: dialects.kubernetes,
    clock,
    time,
    chaos: chaosOver((ask) => whileSound(() => host.call('chaos', { cluster, ask }))),
    faults: faultsOver((ask) => whileSound(() => host.call('faults', { cluster, ask }))),
    fault: () => host.faultOf(cluster),
    nodeNames: () => [...names],
    addNode: async (node) => {
      await whileSound(() => host.call('addNode', { cluster, node: embeddedNode(node) }))
      names.add(node.name)
    },
    startNode: (name) => host.call('startNode', { cluster, name }),
    startAgent: (agent) => startAgent(agent, { host, cluster }),
    speed,
    leap: async (ms) => {
      const leap = await host.call('leap', { cluster, ms })
      note(leap.time)
      return leap.leaptMs
    },
    act: async (verb, name) => await host.call('act', { cluster, name, verb }),
    stopNode: (name) => host.call('stopNode', { cluster, name }),
    removeNode: async (name) => {
      await host.call('removeNode', { cluster, name })
      names.delete(name)
    },
    logs: (program) => host.call('logs', { cluster, program }),
    snapshot: async () =>
      snapshotIn(host, await whileSound(() => host.call('snapshot', { cluster }))),
    image: async () => receivedImage(await whileSound(() => host.call('image', { cluster }))),
    restore: (id) => restore(Number(id)),
    markStart: () => host.call('markStart', { cluster }),
    reset: () => restore(undefined),
    fork: async () => {
      host.faultOf(cluster).throwIfAborted()
      return formOf(host, await host.call('fork', { cluster }))
    },
    close: () => host.call('close', { cluster }),
  }
}
