/** What happens in a cluster while its clock is advanced. */
import { KubeConfig, Watch } from '@kubernetes/client-node'
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

const everyHour: KubernetesObject = {
  ...everyMinute,
  metadata: { name: 'hourly' },
  spec: { ...(everyMinute['spec'] as object), schedule: '0 * * * *' },
}

const createdAt = ({ metadata }: KubernetesObject): number =>
  Date.parse(String(metadata?.['creationTimestamp'])) / 1000

/** Times of the last change of each node's Ready condition, with its status. */
async function readiness({ admin }: Cluster): Promise<[status: string, since: string][]> {
  const nodes = await admin.list({ kind: 'Node' })
  return nodes.map(({ status }) => {
    const { conditions } = status as { conditions: Record<string, string>[] }
    const ready = conditions.find(({ type }) => type === 'Ready')
    return [ready?.['status'] ?? '', ready?.['lastTransitionTime'] ?? '']
  })
}

/** How often somebody has asked for a token of a service account. */
async function askedTokens({ admin }: Cluster): Promise<number> {
  const metrics = String(await admin.request({ method: 'GET', path: '/metrics' }))
  const asked =
    /^apiserver_request_total\{.*resource="serviceaccounts".*subresource="token".* (\d+)$/gm
  return [...metrics.matchAll(asked)].reduce((sum, [, count]) => sum + Number(count), 0)
}

describe('advancing the clock', () => {
  it('passes over the time in which a cluster only keeps what it is, and misses nothing else of it', async () => {
    const cluster = await startCluster({ nodes: 2, startAt: new Date('2026-11-23T06:30:00Z') })
    clusters.push(cluster)
    const before = await readiness(cluster)
    await cluster.admin.create(everyHour)
    await cluster.clock.advance('2h')
    const tokens = await askedTokens(cluster)
    await cluster.clock.advance('22h')
    // Each new token of a controller would begin its watches again.
    expect([tokens > 0, await askedTokens(cluster)]).toEqual([true, tokens])
    const jobs = await cluster.admin.list({ kind: 'Job' })
    const hours = jobs.map(createdAt).map((seconds) => seconds / 3600)
    const first = Date.parse('2026-11-23T07:00:00Z') / 3_600_000
    expect(hours).toEqual(Array.from({ length: 24 }, (_, hour) => first + hour))
    expect(jobs.map(({ status }) => (status as { succeeded?: number }).succeeded)).toEqual(
      jobs.map(() => 1),
    )
    expect(await readiness(cluster)).toEqual(before)
    // Events live for an hour: those of the last Job are left.
    const events = await cluster.admin.list({
      kind: 'Event',
      fieldSelector: 'reason=SuccessfulCreate',
    })
    const made = events.map(({ involvedObject }) => (involvedObject as { kind: string }).kind)
    expect(made.toSorted()).toEqual(['CronJob', 'Job'])
    const leases = await cluster.admin.list({ kind: 'Lease', namespace: 'kube-node-lease' })
    const now = cluster.clock.now().getTime()
    for (const { spec } of leases)
      expect(now - Date.parse((spec as { renewTime: string }).renewTime)).toBeLessThan(15_000)
  })

  it('does not pass over what upkeep fails to keep: a node whose lease cannot be renewed is lost in its time', async () => {
    const cluster = await startCluster({ nodes: 2 })
    clusters.push(cluster)
    const name = 'no-renewals'
    await cluster.admin.create({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: ['coordination.k8s.io'],
              apiVersions: ['v1'],
              resources: ['leases'],
              operations: ['UPDATE'],
            },
          ],
        },
        validations: [{ expression: "object.metadata.name != 'node-1'" }],
      },
    })
    await cluster.admin.create({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    })
    await cluster.clock.pause()
    const begun = cluster.clock.now().getTime()
    await cluster.clock.advance('4m')
    // Its agent sees that, and says that it is there.
    const [lost] = await cluster.admin.list({ kind: 'Event', fieldSelector: 'reason=NodeNotReady' })
    expect((lost?.['involvedObject'] as { name: string } | undefined)?.name).toBe('node-1')
    expect(Date.parse(String(lost?.['firstTimestamp'])) - begun).toBeLessThan(90_000)
  })

  it('leaves rests out of what is left to a watch, whose client would only have begun a new one', async () => {
    const cluster = await startCluster()
    clusters.push(cluster)
    const config = new KubeConfig()
    config.loadFromString(cluster.kubeconfig())
    const ended = Promise.withResolvers<void>()
    let hasEnded = false
    void ended.promise.then(() => (hasEnded = true))
    const watch = await new Watch(config).watch(
      '/api/v1/namespaces/default/configmaps',
      { timeoutSeconds: 1800 },
      () => {},
      () => ended.resolve(),
    )
    await cluster.clock.advance('24h')
    // Answers to other requests come later than the end of a watch.
    await cluster.admin.list({ kind: 'ConfigMap' })
    expect(hasEnded).toBe(false)
    await cluster.admin.create(everyMinute)
    await cluster.clock.advance('1h')
    await ended.promise
    watch.abort()
  })

  it('rests between probes that pass, and not past the moment at which one turns', async () => {
    const cluster = await startCluster()
    clusters.push(cluster)
    await cluster.admin.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', annotations: { 'skiff.dev/liveness': 'until 10h' } },
      spec: {
        containers: [{ name: 'web', image: 'web:1', livenessProbe: { httpGet: { port: 80 } } }],
      },
    })
    await cluster.expect({ kind: 'Pod', where: 'status.phase == Running', count: 1 })
    await cluster.clock.advance('15h')
    const [pod] = await cluster.admin.list({ kind: 'Pod' })
    const { containerStatuses } = pod?.['status'] as {
      containerStatuses: { lastState: { terminated?: { startedAt: string; finishedAt: string } } }[]
    }
    const { terminated } = containerStatuses[0]?.lastState ?? {}
    const ranMs = Date.parse(terminated?.finishedAt ?? '') - Date.parse(terminated?.startedAt ?? '')
    // Three looks of ten seconds, and no more.
    expect(ranMs / 1000).toBeGreaterThan(36_000)
    expect(ranMs / 1000).toBeLessThan(36_040)
  })

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
