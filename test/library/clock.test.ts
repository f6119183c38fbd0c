/** The clock of a cluster, in both of its forms. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCluster } from '../../library/index.ts'
import type { Cluster, KubernetesObject } from '../../library/index.ts'
import { eventually } from '../support/eventually.ts'
import { builtOnce } from '../e2e/built.ts'

const readyOf = (node: KubernetesObject | undefined): unknown => {
  const { conditions = [] } = (node?.status ?? {}) as {
    conditions?: { type: string; status: string }[]
  }
  return conditions.find(({ type }) => type === 'Ready')?.status
}

describe.each(['embedded', 'processes'] as const)('the clock of a cluster: %s', (form) => {
  let cluster: Cluster
  beforeAll(async () => {
    if (form === 'processes') await builtOnce()
    cluster = await startCluster({ form, nodes: 2 })
  })
  afterAll(async () => await cluster?.stop())

  const created = async (name: string): Promise<number> => {
    const made: KubernetesObject = await cluster.admin.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
    })
    return Date.parse(String(made.metadata?.['creationTimestamp']))
  }

  it('stands still while it is paused', async () => {
    await cluster.clock.pause()
    const now = cluster.clock.now()
    const first = await created('one')
    expect(await created('two')).toBe(first)
    expect(cluster.clock.now()).toEqual(now)
    expect(Math.floor(now.getTime() / 1000) * 1000).toBe(first)
  })

  it('advances while it is paused, by a duration or to a moment', async () => {
    const now = cluster.clock.now()
    await cluster.clock.advance('5m')
    expect(cluster.clock.now().getTime() - now.getTime()).toBe(300_000)
    const to = new Date(now.getTime() + 600_000)
    await cluster.clock.advanceTo(to)
    expect(cluster.clock.now()).toEqual(to)
    await expect(cluster.clock.advanceTo(now)).rejects.toThrow('clocks never go back')
  })

  it('steps from one moment at which something is due to the next', async () => {
    const now = cluster.clock.now().getTime()
    await cluster.clock.step()
    const first = cluster.clock.now().getTime()
    await cluster.clock.step()
    expect(first).toBeGreaterThan(now)
    expect(cluster.clock.now().getTime()).toBeGreaterThan(first)
    // Nodes renew their leases every 10 s.
    expect(cluster.clock.now().getTime()).toBeLessThanOrEqual(now + 20_000)
  })

  it('brings a grace period to its end at once', async () => {
    await cluster.node('node-2').stop()
    await cluster.clock.advance('1m')
    const nodes = await cluster.admin.list({ kind: 'Node' })
    expect(nodes.map(readyOf)).toEqual(['True', 'Unknown'])
  })

  it('settles', async () => {
    const labels = { app: 'web' }
    await cluster.admin.create({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: {
        replicas: 3,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: 'web', image: 'nginx' }] },
        },
      },
    })
    await cluster.clock.settle()
    const [web] = await cluster.admin.list({ kind: 'Deployment' })
    expect(web?.status).toMatchObject({ availableReplicas: 3 })
  })

  it('goes on when it is resumed, as fast as asked for', async () => {
    await cluster.clock.resume()
    await cluster.clock.speed(100)
    const before = await created('three')
    await eventually(async () => {
      expect((await created(`at-${Math.random()}`.replace('.', '-'))) - before).toBeGreaterThan(
        5000,
      )
    })
    await expect(cluster.clock.speed(0)).rejects.toThrow('it must be from 0.01 to 1000')
  })
})
