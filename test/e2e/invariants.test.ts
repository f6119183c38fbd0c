/** Clusters of real processes are held against the invariants; one at rest writes nothing but leases. */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Cluster } from '../../cluster/cluster.ts'
import type { ResourceKey } from '../../components/api/resources.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { watchCluster } from '../../monitors/feed/cluster-watch.ts'
import { unsettled } from '../models/workloads/rest-state.ts'
import {
  autoscaler,
  budget,
  daemonSet,
  deployment,
  job,
  quota,
  statefulSet,
} from '../models/workloads/manifests.ts'
import { eventually } from '../support/eventually.ts'
import { createPlace } from './place.ts'

const namespace = 'default'
const place = { namespace, name: 'a' }

async function create(cluster: Cluster, key: ResourceKey, object: KubeObject): Promise<void> {
  const { client } = cluster
  await client.resource(resourcesOf(client.dialect)[key]).create(object)
}

async function settled({ client }: Cluster): Promise<void> {
  await eventually(async () => expect(await unsettled(client, namespace)).toEqual([]), 60_000)
}

test('a second pod with an identity fails the file whose cluster it is in', async () => {
  const own = createPlace()
  const cluster = await own.up('lab', ['--nodes', '1'])
  await create(cluster, 'statefulSets', statefulSet(place, { replicas: 1, isParallel: false }))
  await settled(cluster)
  const { client } = cluster
  const pods = client.resource(resourcesOf(client.dialect).pods)
  const at = { namespace, name: 'set-a-0' }
  const first = await pods.get(at)
  // The agent goes on with its containers, and the set makes the next one at once.
  await pods.delete(at, { gracePeriodSeconds: 0 })
  const second = await eventually(async () => {
    const found = await pods.get(at)
    expect(found.metadata.uid).not.toBe(first.metadata.uid)
    return found
  })
  const named = ({ metadata }: KubeObject) => `Pod default/set-a-0 (uid ${metadata.uid})`
  const ended = own[Symbol.asyncDispose]()
  await expect(ended).rejects.toThrow('cluster lab: one pod per StatefulSet identity')
  await expect(ended).rejects.toThrow(`${named(second)} lives since revision`)
  await expect(ended).rejects.toThrow(`beside ${named(first)} of revision`)
})

/** One of each workload and what goes with it. */
async function createWorkloads(cluster: Cluster): Promise<void> {
  await create(cluster, 'statefulSets', statefulSet(place, { replicas: 2, isParallel: false }))
  await create(cluster, 'deployments', deployment(place, 2))
  await create(cluster, 'daemonSets', daemonSet(place))
  const counts = { completions: 2, parallelism: 2, isIndexed: true, fails: false }
  await create(cluster, 'jobs', job(place, counts))
  await create(cluster, 'podDisruptionBudgets', budget(place, { app: 'web-a', minAvailable: 1 }))
  await create(cluster, 'resourceQuotas', quota(namespace, 20))
  await create(cluster, 'horizontalPodAutoscalers', autoscaler(place))
  await create(cluster, 'services', {
    metadata: place,
    spec: { selector: { app: 'web-a' }, ports: [{ port: 80 }] },
  })
  await create(cluster, 'persistentVolumeClaims', {
    metadata: place,
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
  })
  const { spec: jobSpec } = job(place, counts)
  await create(cluster, 'cronJobs', {
    metadata: place,
    spec: { schedule: '0 0 1 1 *', suspend: true, jobTemplate: { spec: jobSpec } },
  })
}

test('a cluster at rest writes leases alone, with every controller on and one object of each workload', async () => {
  await using own = createPlace()
  const all = '*,bootstrap-signer-controller,token-cleaner-controller'
  const cluster = await own.up('lab', [
    '--nodes',
    '1',
    '--set',
    `controller-manager.controllers=${all}`,
  ])
  await createWorkloads(cluster)
  await settled(cluster)
  const { client } = cluster
  const { all: kinds, leases, horizontalPodAutoscalers } = resourcesOf(client.dialect)
  await eventually(async () => {
    const { status } = await client
      .resource(horizontalPodAutoscalers)
      .get({ namespace, name: 'web-a' })
    expect(status.currentMetrics[0].resource.current.averageValue).toBeDefined()
  })
  const written: string[] = []
  await using watch = watchCluster({
    client,
    kinds: kinds.filter(
      (kind) =>
        kind !== leases &&
        kind.servedByDefault &&
        !kind.virtual &&
        kind.verbs.includes('watch') &&
        kind.storageVersion.package === kind.package,
    ),
    metadataOnly: true,
    onChange: ({ type, resource, object, revision, isListed }) => {
      const { namespace: where = '', name } = object.metadata
      if (!isListed) written.push(`${type} ${resource.plural} ${where}/${name} at ${revision}`)
    },
    onReset: () => written.push('the server went back'),
  })
  // What was under way when the workloads had settled: events, and the count of the last pod.
  await eventually(async () => {
    expect(await watch.settle()).toBe(true)
    const before = written.length
    await delay(5000)
    expect(await watch.settle()).toBe(true)
    expect(written.slice(before)).toEqual([])
  })
  written.splice(0)
  // More than two periods of every controller that looks again by itself within a minute.
  await delay(35_000)
  expect(await watch.settle()).toBe(true)
  expect(written).toEqual([])
})
