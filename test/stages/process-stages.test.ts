/** Stage files on a cluster of processes, as `skiff up --stages` starts it. */
import { beforeAll, describe, expect, it } from 'vitest'
import { startCluster } from '../../library/index.ts'
import type { KubernetesObject } from '../../library/index.ts'
import { builtOnce } from '../e2e/built.ts'
import { fakeNode, stage, stageFile } from './stages.ts'

beforeAll(() => builtOnce())

describe('a cluster of processes with stages', () => {
  it('plays them in a process of its own, whose delays an advance of the clock waits for', async () => {
    const file = stageFile(
      stage(
        'ring',
        `resourceRef: { apiGroup: v1, kind: ConfigMap }
selector: { matchLabels: { alarm: 'on' } }
delay: { durationMilliseconds: 60000 }
steps:
  - patch:
      template: |
        metadata: { labels: { alarm: 'off' } }
        data: { rang: {{ Now | Quote }} }`,
      ),
    )
    await using cluster = await startCluster({ form: 'processes', nodes: 0, stages: [file] })
    await cluster.apply(fakeNode('fake-1'), {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'clock', labels: { alarm: 'on' } },
    })
    await cluster.expect({
      kind: 'Node',
      name: 'fake-1',
      where: 'status.conditions[type=Ready].status == True',
    })
    await cluster.admin.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web' },
      spec: { containers: [{ name: 'main', image: 'example.com/main' }] },
    })
    await cluster.expect({ kind: 'Pod', name: 'web', where: 'status.phase == Running' })
    const before = await cluster.admin.get({ kind: 'ConfigMap', name: 'clock' })
    await cluster.clock.advance('90s')
    const rung = await cluster.admin.get<KubernetesObject & { data?: { rang?: string } }>({
      kind: 'ConfigMap',
      name: 'clock',
    })
    const createdMs = Date.parse(String(before.metadata?.['creationTimestamp']))
    const rangMs = Date.parse(rung.data?.rang ?? '') - createdMs
    expect(rangMs).toBeGreaterThanOrEqual(60_000)
    expect(rangMs).toBeLessThan(90_000)
    expect(rung.metadata?.labels).toEqual({ alarm: 'off' })
    expect((await cluster.logs('stage-runner')).join('\n')).toContain('"ready"')
  })
})
