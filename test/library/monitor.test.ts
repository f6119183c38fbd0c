import { describe, expect, it } from 'vitest'
import { startCluster } from '../../library/start-cluster.ts'
import type { Violation } from '../../library/types.ts'

const owned = (uid: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'left',
    ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }],
  },
})

describe('cluster.monitor', () => {
  it('tells violations as they are found, and goes on after a restore', async () => {
    await using cluster = await startCluster({ nodes: 0, components: [] })
    const told: Violation[] = []
    await using monitor = await cluster.monitor({
      monitors: [{ kind: 'configmaps', expression: "object.metadata.name != 'bad'" }],
      onViolation: (one) => told.push(one),
    })
    const before = await cluster.snapshot()
    const bad = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'bad' } }
    await cluster.apply(bad)
    expect(await monitor.settle()).toEqual([
      expect.objectContaining({
        monitor: 'configmaps-1',
        object: expect.objectContaining({ kind: 'ConfigMap', name: 'bad' }),
        writers: [expect.objectContaining({ verb: 'apply', userAgent: 'kube-skiff' })],
      }),
    ])
    await cluster.restore(before)
    await cluster.apply(bad)
    expect(await monitor.settle()).toHaveLength(2)
    expect(told).toEqual(monitor.violations)
    const { monitors } = await monitor.stop()
    expect(monitors.map(({ violations }) => violations)).toEqual([2])
  })

  it('goes by the cluster’s clock', async () => {
    await using cluster = await startCluster({ nodes: 0, components: [] })
    await using monitor = await cluster.monitor({ monitors: ['orphans'] })
    await cluster.apply(owned('00000000-0000-0000-0000-000000000000'))
    expect(await monitor.settle()).toEqual([])
    // No garbage collector runs here.
    await cluster.clock.advance('2m')
    expect((await monitor.settle()).map(({ text }) => text)).toEqual([
      expect.stringMatching(
        /^ConfigMap default\/left .* is left 12\d s after the end of its owner ConfigMap owner/,
      ),
    ])
  })

  it('ends with the cluster', async () => {
    const cluster = await startCluster({ nodes: 0, components: [] })
    const monitor = await cluster.monitor()
    await cluster.stop()
    expect((await monitor.stop()).monitors).toHaveLength(6)
  })

  it('rejects what is no monitor', async () => {
    await using cluster = await startCluster({ nodes: 0, components: [] })
    const made = (monitors: readonly unknown[]) => cluster.monitor({ monitors } as never)
    await expect(made(['orphan'])).rejects.toThrow(
      'monitor: there is no monitor "orphan" (did you mean orphans?)',
    )
    await expect(made([{ kind: 'pod', expression: 'object.' }])).rejects.toThrow(
      'monitor: the expression for pod is invalid: compilation failed',
    )
    await expect(made([{ kind: 'pods' }])).rejects.toThrow('expression')
    await expect(made([{ kind: 'shirts', expression: 'true' }])).rejects.toThrow(
      'monitor: the server has no kind "shirts"',
    )
  })
})
