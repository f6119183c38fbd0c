/** What happens in a cluster while its clock is advanced. */
import { afterEach, describe, expect, it } from 'vitest'
import { startCluster } from '../../library/index.ts'
import type { Cluster, KubernetesObject } from '../../library/index.ts'

const clusters: Cluster[] = []
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.stop()
})

const everyMinute: KubernetesObject = {
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name: 'tick' },
  spec: {
    schedule: '* * * * *',
    successfulJobsHistoryLimit: 100,
    jobTemplate: {
      spec: {
        template: {
          spec: { restartPolicy: 'Never', containers: [{ name: 'tick', image: 'busybox' }] },
        },
      },
    },
  },
}

const createdAt = ({ metadata }: KubernetesObject): number =>
  Date.parse(String(metadata?.['creationTimestamp'])) / 1000

describe('advancing the clock', () => {
  it('waits for webhooks: they have as much time as they need, and what they allow happens when it is due', async () => {
    const cluster = await startCluster({ startAt: new Date('2026-11-23T06:00:30Z') })
    clusters.push(cluster)
    let calls = 0
    await cluster.webhook(
      {
        name: 'pods.example.com',
        kind: 'validating',
        rules: [
          { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] },
        ],
      },
      async () => {
        calls += 1
        // Away from the turn in which the call came.
        for (let turns = 0; turns < 20; turns += 1) await new Promise(setImmediate)
      },
    )
    await cluster.admin.create(everyMinute)
    await cluster.clock.advance('20m')
    const jobs = await cluster.admin.list({ kind: 'Job' })
    const pods = await cluster.admin.list({ kind: 'Pod' })
    expect(jobs).toHaveLength(20)
    expect(jobs.map(createdAt).map((seconds) => seconds % 60)).toEqual(jobs.map(() => 0))
    expect(pods.map(createdAt).toSorted()).toEqual(jobs.map(createdAt).toSorted())
    // One for the registration of the webhook, which asks until it is called.
    expect(calls).toBeGreaterThanOrEqual(20)
    const events = await cluster.admin.list({ kind: 'Event', fieldSelector: 'type=Warning' })
    expect(events.map(({ message }) => message as unknown)).toEqual([])
  })
})
