/** `cluster.simulate`: simulations that begin with a running cluster as it is. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SimulationError, startCluster } from '../../library/index.ts'
import type { Cluster, SimulationOptions } from '../../library/index.ts'
import { deploymentStory } from './deployment-story.ts'

const running = { kind: 'Pod', where: 'status.phase == Running' }

/** The pod that was there before is replaced; the operator of this story is the control plane itself. */
const loss = {
  story: async ({ client, eventually }) => {
    await eventually(async () => {
      const [pod] = await client.list({ kind: 'Pod' })
      await client.delete({ kind: 'Pod', name: pod?.metadata?.name ?? '' })
    })
  },
  check: async ({ client, eventually }) => {
    const pods = await eventually(async () => await client.list({ kind: 'Pod' }))
    const phases = pods.map((pod) => String(pod['status'].phase))
    if (phases.join() !== 'Running,Running,Running') throw new Error(`pods are ${phases.join()}`)
  },
  for: '1m',
} satisfies SimulationOptions

describe('the simulation of a cluster', { timeout: 600_000 }, () => {
  let cluster: Cluster

  beforeAll(async () => {
    cluster = await startCluster({ nodes: 3 })
    const web = { app: 'web' }
    const containers = [{ name: 'web', image: 'a:1' }]
    const template = {
      metadata: { labels: web },
      spec: { terminationGracePeriodSeconds: 5, containers },
    }
    await cluster.apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: { replicas: 3, selector: { matchLabels: web }, template },
    })
    await cluster.expect({ ...running, count: 3 })
  })
  afterAll(async () => {
    await cluster?.stop()
  })

  const pods = async (): Promise<string[]> =>
    (await cluster.admin.list({ kind: 'Pod' })).map(
      ({ metadata }) => `${metadata?.name} ${metadata?.resourceVersion}`,
    )

  it('begins with its objects, goes the same way for the same seed, and leaves the cluster as it is', async () => {
    const before = await pods()
    await cluster.clock.pause()
    const [first] = await cluster.simulate({ ...loss, seed: 7 })
    const [again] = await cluster.simulate({ ...loss, seed: 7 })
    const [other] = await cluster.simulate({ ...loss, seed: 8 })
    await cluster.clock.resume()
    expect(first?.faults).not.toEqual([])
    expect(again).toEqual(first)
    expect(other?.hash).not.toBe(first?.hash)
    expect(await pods()).toEqual(before)
  })

  it('passes with other seeds, and judges what becomes of all that was there', async () => {
    expect(await cluster.simulate({ ...loss, seeds: 2 })).toHaveLength(2)
    // The Deployment of this story has the name of the one that is there, and goes with all of its pods.
    expect(await cluster.simulate({ ...deploymentStory, for: '1m', seeds: 2 })).toHaveLength(2)
    const error: unknown = await cluster
      .simulate({ ...loss, for: 0, seeds: 1, check: deploymentStory.check })
      .catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(SimulationError)
    expect((error as SimulationError).message).toContain('seed 1: check: 3 pods are left')
  })

  it('takes no other nodes than those of the cluster', async () => {
    const options = { ...loss, nodes: 2 }
    await expect(cluster.simulate(options)).rejects.toThrow(
      'simulate: nodes cannot be given: the cluster has its nodes',
    )
  })
})
