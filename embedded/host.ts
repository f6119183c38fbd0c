/** Host: the embedded clusters of a thread, and the images that were taken of them, by number. */
import { systemClock } from '../components/component-base/clock.ts'
import { EmbeddedCluster } from './embedded-cluster.ts'
import type { ClusterImage } from './embedded-cluster.ts'
import type { HostCallName, HostCalls, HostedCluster } from './host-protocol.ts'

type Handlers = {
  readonly [Name in HostCallName]: (
    request: HostCalls[Name]['request'],
  ) => Promise<HostCalls[Name]['answer']>
}

interface Hosted {
  readonly cluster: EmbeddedCluster
  /** As it was when it had started. */
  readonly first: ClusterImage
}

export function createHost(): Handlers {
  const clusters = new Map<number, Hosted>()
  const images = new Map<number, ClusterImage>()
  let given = 0
  const find = (id: number): Hosted => {
    const found = clusters.get(id)
    if (found === undefined) throw new Error('the cluster has been stopped')
    return found
  }
  const findImage = (id: number): ClusterImage => {
    const found = images.get(id)
    if (found === undefined) throw new Error('the snapshot has been disposed')
    return found
  }
  const add = async (cluster: EmbeddedCluster): Promise<HostedCluster> => {
    given += 1
    clusters.set(given, { cluster, first: await cluster.image() })
    return describe(given, cluster)
  }
  const onNode = (
    act: (cluster: EmbeddedCluster, name: string) => Promise<void>,
  ): Handlers['stopNode'] => {
    return async ({ cluster, name }) => {
      await act(find(cluster).cluster, name)
      return undefined
    }
  }
  return {
    start: async (options) => add(await EmbeddedCluster.start(options)),
    close: async ({ cluster: id }) => {
      const found = clusters.get(id)
      clusters.delete(id)
      await found?.cluster.close()
      return undefined
    },
    addNode: async ({ cluster, node }) => {
      await find(cluster).cluster.addNode(node)
      return undefined
    },
    startNode: onNode((cluster, name) => cluster.startNode(name)),
    stopNode: onNode((cluster, name) => cluster.stopNode(name)),
    removeNode: onNode((cluster, name) => cluster.removeNode(name)),
    logs: async ({ cluster, program }) => find(cluster).cluster.logs(program),
    advance: async ({ cluster: id, ms }) => {
      const { cluster } = find(id)
      await cluster.clock.advance(ms)
      return aheadOf(cluster)
    },
    snapshot: async ({ cluster }) => {
      const image = await find(cluster).cluster.image()
      given += 1
      images.set(given, image)
      const takenAtMs = image.clock.nowMs
      return { image: given, resourceVersion: String(image.revision), takenAtMs }
    },
    restore: async ({ cluster: id, image }) => {
      const { cluster, first } = find(id)
      const wanted = image === undefined ? first : findImage(image)
      await cluster.close()
      const next = await EmbeddedCluster.from(wanted, cluster.port)
      clusters.set(id, { cluster: next, first })
      return describe(id, next)
    },
    fork: async ({ cluster }) => {
      const image = await find(cluster).cluster.image()
      return add(await EmbeddedCluster.from(image, 0))
    },
    drop: async ({ image }) => {
      images.delete(image)
      return undefined
    },
  }
}

function aheadOf({ clock }: EmbeddedCluster): number {
  return clock.now() - systemClock.now()
}

function describe(id: number, cluster: EmbeddedCluster): HostedCluster {
  const { server, authority, nodeNames } = cluster
  return { cluster: id, server, authority, nodes: nodeNames, aheadMs: aheadOf(cluster) }
}
