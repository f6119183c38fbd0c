/** Simulations in which nodes come and go, also by a controller that makes room. */
import { describe, expect, it } from 'vitest'
import { simulate, SimulationError } from '../../library/index.ts'
import type { SimulationContext, SimulationOptions } from '../../library/index.ts'
import { nodesStory } from './nodes-story.ts'

const pod = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    containers: [{ name: 'main', image: 'main:1', resources: { requests: { cpu: '3' } } }],
  },
})

/** A node for each pod, of which only one finds room on a node. */
async function autoscaler(context: SimulationContext): Promise<void> {
  const { client, sleep, signal } = context
  while (!signal.aborted) {
    try {
      const pods = await client.list({ kind: 'Pod' })
      for (let number = context.nodes.length + 1; number <= pods.length; number += 1)
        await context.addNode({ name: `node-${number}`, labels: { pool: 'more' } })
    } catch {
      // It tries again.
    }
    await sleep('5s').catch(() => {})
  }
}

describe('a simulation whose nodes come and go', { timeout: 1_200_000 }, () => {
  it('finds nothing in the control plane, whose monitors are all on', async () => {
    const runs = await simulate({ ...nodesStory, for: '1m', seeds: 30 })
    expect(runs).toHaveLength(30)
  })

  it('gives a controller nodes to add, which keeps them when it is stopped', async () => {
    const scaled = {
      nodes: 1,
      controllers: [autoscaler],
      story: async ({ client, eventually, sleep }) => {
        for (const name of ['one', 'two', 'three'])
          await eventually(async () => await client.apply(pod(name)))
        await sleep('2m')
      },
      check: async ({ client, nodes }) => {
        const names = nodes.map(({ name }) => name).join()
        if (names !== 'node-1,node-2,node-3') throw new Error(`the nodes are ${names}`)
        const added = await client.list({ kind: 'Node', labelSelector: 'pool=more' })
        if (added.length !== 2) throw new Error(`${added.length} nodes have the label`)
        const running = (await client.list({ kind: 'Pod' })).filter(
          ({ status }) => status.phase === 'Running',
        )
        if (running.length !== 3) throw new Error(`${running.length} pods run`)
      },
      for: '1m',
      stops: '20s',
      seeds: 5,
    } satisfies SimulationOptions
    const runs = await simulate(scaled)
    expect(runs.flatMap(({ faults }) => faults).join()).toContain('controller 1 is stopped')
  })

  it('says what is wrong with a node that is not there, there twice, or unknown', async () => {
    const failureOf = async (story: SimulationOptions['story']): Promise<string> => {
      const error: unknown = await simulate({ story, for: 0, seed: 1 }).catch((one: unknown) => one)
      expect(error).toBeInstanceOf(SimulationError)
      return (error as SimulationError).message
    }
    expect(await failureOf(async ({ node }) => await node('node-9').stop())).toContain(
      'story: the cluster has no node node-9: it has node-1, node-2',
    )
    expect(
      await failureOf(async ({ addNode }) => void (await addNode({ name: 'node-1' }))),
    ).toContain('story: the cluster has a node node-1 already')
    expect(
      await failureOf(async ({ addNode }) => void (await addNode({ name: 'Node 3' }))),
    ).toContain('story: addNode: name')
  })
})
