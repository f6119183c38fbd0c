/** Host: the embedded clusters of a thread, and the images that were taken of them, by number. */
import { answerChaos } from '../cluster/lab/chaos/chaos-request.ts'
import { answerFaults } from '../cluster/lab/fault-request.ts'
import { answerTime } from '../cluster/lab/time-request.ts'
import { messageOf } from '../components/component-base/log.ts'
import { agentCalls } from './host-agents.ts'
import { readBaseImage } from './base-image.ts'
import { EmbeddedCluster } from './embedded-cluster.ts'
import type { ClusterImage } from './cluster-image.ts'
import { SpareCluster } from './spare-cluster.ts'
import type { HostCallName, HostCalls, HostedCluster, HostFaults } from './host-protocol.ts'

type Handlers = {
  readonly [Name in HostCallName]: (
    request: HostCalls[Name]['request'],
  ) => Promise<HostCalls[Name]['answer']>
}

interface Hosted {
  readonly cluster: EmbeddedCluster
  /** As it was when it had started, or when it was last marked. */
  readonly first: ClusterImage
}

/** Values by number; `gone` is what is said of a number that has none any more. */
class Register<T> {
  readonly #values = new Map<number, T>()
  readonly #gone: string
  #given = 0

  constructor(gone: string) {
    this.#gone = gone
  }

  add(value: T): number {
    this.#given += 1
    this.#values.set(this.#given, value)
    return this.#given
  }

  get(id: number): T {
    const value = this.#values.get(id)
    if (value === undefined) throw new Error(this.#gone)
    return value
  }

  replace(id: number, value: T): void {
    this.#values.set(id, value)
  }

  remove(id: number): T | undefined {
    const value = this.#values.get(id)
    this.#values.delete(id)
    return value
  }
}

/** `onFaults` is called for each cluster that starts, and when components of it fail or run again. */
export function createHost(onFaults: (faults: HostFaults) => void = () => {}): Handlers {
  const clusters = new Register<Hosted>('the cluster has been stopped')
  const images = new Register<ClusterImage>('the snapshot has been disposed')
  const follow = (id: number, cluster: EmbeddedCluster): Promise<HostedCluster> => {
    cluster.faults.follow((faults) => onFaults({ cluster: id, faults }))
    return describe(id, cluster)
  }
  const add = async (cluster: EmbeddedCluster): Promise<HostedCluster> =>
    follow(clusters.add({ cluster, first: await cluster.image() }), cluster)
  return {
    ...startCalls(add),
    close: async ({ cluster: id }) => {
      await clusters.remove(id)?.cluster.close()
      return undefined
    },
    ...nodeCalls(clusters),
    ...agentCalls((id) => clusters.get(id).cluster),
    logs: async ({ cluster, program }) => clusters.get(cluster).cluster.logs(program),
    ...labCalls(clusters),
    snapshot: async ({ cluster }) => {
      const image = await clusters.get(cluster).cluster.image()
      const { revision, clock } = image
      const resourceVersion = String(revision)
      return { image: images.add(image), resourceVersion, takenAtMs: clock.nowMs }
    },
    image: ({ cluster }) => clusters.get(cluster).cluster.image(),
    markStart: async ({ cluster: id }) => {
      const { cluster } = clusters.get(id)
      clusters.replace(id, { cluster, first: await cluster.image() })
      return undefined
    },
    restore: async ({ cluster: id, image }) => {
      const { cluster, first } = clusters.get(id)
      const wanted = image === undefined ? first : images.get(image)
      await cluster.close()
      try {
        const next = await EmbeddedCluster.from(wanted, cluster.port)
        // What its parts write as they start is written by then: the same resourceVersions each time.
        await next.clock.settled()
        clusters.replace(id, { cluster: next, first })
        return await follow(id, next)
      } catch (error) {
        clusters.remove(id)
        const why = `the cluster has been stopped, since it cannot start again: ${messageOf(error)}`
        throw new Error(why, { cause: error })
      }
    },
    fork: async ({ cluster }) => {
      const image = await clusters.get(cluster).cluster.image()
      return add(await EmbeddedCluster.from(image, 0))
    },
    drop: async ({ image }) => {
      images.remove(image)
      return undefined
    },
  }
}

function startCalls(
  add: (cluster: EmbeddedCluster) => Promise<HostedCluster>,
): Pick<Handlers, 'prepare' | 'start'> {
  const spare = new SpareCluster(async (options) => {
    const cluster = await EmbeddedCluster.start(options, readBaseImage)
    // What follows from its start is a part of what a reset goes back to; else each reset would do it again, in an order of its own.
    await cluster.clock.settled()
    return cluster
  })
  return {
    prepare: async (options) => {
      await spare.prepare(options)
      return undefined
    },
    start: async (options) => add(await spare.start(options)),
  }
}

function labCalls(
  clusters: Register<Hosted>,
): Pick<Handlers, 'leap' | 'time' | 'faults' | 'chaos'> {
  return {
    leap: async ({ cluster: id, ms }) => {
      const { cluster } = clusters.get(id)
      const leaptMs = await cluster.leap(ms)
      return { leaptMs, time: await cluster.clock.time.state() }
    },
    time: async ({ cluster, ask }) => answerTime(clusters.get(cluster).cluster.clock.time, ask),
    faults: async ({ cluster, ask }) => answerFaults(clusters.get(cluster).cluster.lab, ask),
    chaos: async ({ cluster, ask }) => answerChaos(clusters.get(cluster).cluster.chaos, ask),
  }
}

function nodeCalls(
  clusters: Register<Hosted>,
): Pick<Handlers, 'addNode' | 'startNode' | 'stopNode' | 'removeNode' | 'act'> {
  const on = (act: (cluster: EmbeddedCluster, name: string) => Promise<void>) => {
    const handle: Handlers['stopNode'] = async ({ cluster, name }) => {
      await act(clusters.get(cluster).cluster, name)
      return undefined
    }
    return handle
  }
  return {
    addNode: async ({ cluster, node }) => {
      await clusters.get(cluster).cluster.addNode(node)
      return undefined
    },
    startNode: on((cluster, name) => cluster.startNode(name)),
    stopNode: on((cluster, name) => cluster.stopNode(name)),
    removeNode: on((cluster, name) => cluster.removeNode(name)),
    act: async ({ cluster, name, verb }) => {
      const { cluster: one } = clusters.get(cluster)
      if (verb === 'stop') one.faults.clear(name)
      await one.part(name).act(verb)
      return undefined
    },
  }
}

async function describe(id: number, cluster: EmbeddedCluster): Promise<HostedCluster> {
  const { server, authority, nodeNames } = cluster
  const time = await cluster.clock.time.state()
  return { cluster: id, server, authority, nodes: nodeNames, time }
}
