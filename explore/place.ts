/** Place: an embedded cluster as it was before the story, and the gate through which the controller under test reaches it. */
import { dialects } from '../components/api/dialect.ts'
import { createClient } from '../components/client/client.ts'
import type { Client } from '../components/client/client.ts'
import { connectionFrom, parseKubeconfig } from '../components/client/kubeconfig.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { startCluster } from '../library/start-cluster.ts'
import type { Cluster, Snapshot } from '../library/types.ts'
import { Gate } from './gate/gate.ts'
import { userOf } from './story.ts'
import type { Story } from './story.ts'

export interface Place {
  /** The administrator's. */
  readonly client: Client
  readonly gate: Gate
  readonly clock: Clock
  /** The cluster is again as it was before the story. */
  reset(): Promise<void>
  close(): Promise<void>
}

async function clientFor(cluster: Cluster): Promise<Client> {
  const {
    server,
    ca,
    credentials = {},
  } = await connectionFrom(await parseKubeconfig(cluster.kubeconfig()))
  if (ca === undefined) throw new Error('the cluster has no authority')
  return createClient({ server, ca, credentials, dialect: dialects.kubernetes })
}

async function gateFor(cluster: Cluster, story: Story, clock: Clock): Promise<Gate> {
  const { server, ca, credentials } = await connectionFrom(
    await parseKubeconfig(cluster.kubeconfig(userOf(story))),
  )
  const { cert, key } = credentials ?? {}
  if (ca === undefined || cert === undefined || key === undefined)
    throw new Error("the controller's user has no certificate")
  return await Gate.start({ server, ca, cert, key, clock })
}

/** Closes the cluster with the place; also when it cannot be opened. */
async function placeOver(cluster: Cluster, story: Story, clock: Clock): Promise<Place> {
  try {
    const snapshot: Snapshot = await cluster.snapshot()
    const gate = await gateFor(cluster, story, clock)
    let client = await clientFor(cluster)
    let isUntouched = true
    return {
      get client() {
        return client
      },
      gate,
      clock,
      reset: async () => {
        if (isUntouched) {
          isUntouched = false
          return
        }
        client.close()
        await cluster.restore(snapshot)
        client = await clientFor(cluster)
      },
      close: async () => {
        client.close()
        await gate.close()
        await cluster.stop()
      },
    }
  } catch (error) {
    await cluster.stop()
    throw error
  }
}

/** Equal places, each a fork of the first. Rejects with a ManifestError for manifests that cannot be applied. */
export async function openPlaces(
  story: Story,
  {
    count,
    clock,
    signal,
  }: { readonly count: number; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<readonly [Place, ...Place[]]> {
  const cluster = await startCluster({ nodes: story.nodes, manifests: story.manifests, signal })
  const places: Place[] = []
  try {
    for (let fork = 1; fork < count; fork += 1)
      places.push(await placeOver(await cluster.fork(), story, clock))
  } catch (error) {
    await Promise.all([cluster.stop(), ...places.map((one) => one.close())])
    throw error
  }
  return [await placeOver(cluster, story, clock), ...places]
}
