/** A controller manager that loses its lease in the middle of its work, beside the one that takes over. */
import { describe, expect, it } from 'vitest'
import { diskFiles } from '../../components/component-base/files.ts'
import { dialects } from '../../components/api/dialect.ts'
import { defaultFeatureGates } from '../../components/api/feature-gates.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import { LeadershipLostError } from '../../components/client/leader-elector.ts'
import type { ResourceClient } from '../../components/client/resource-client.ts'
import { createWorkQueue } from '../../components/client/work-queue.ts'
import { parseFlags } from '../../components/component-base/flags.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { runControllerManager } from '../../components/controller-manager/controller-manager.ts'
import { daemonSetController } from '../../components/controller-manager/daemon-set/daemon-set.ts'
import { deploymentController } from '../../components/controller-manager/deployment/deployment.ts'
import { jobController } from '../../components/controller-manager/job/job.ts'
import { controllerManagerFlags } from '../../components/controller-manager/options.ts'
import { replicaSetController } from '../../components/controller-manager/replica-set/replica-set.ts'
import { statefulSetController } from '../../components/controller-manager/stateful-set/stateful-set.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { FakeCluster } from '../support/fake-client.ts'
import { job } from '../support/job-story.ts'
import { addNode } from '../support/nodes.ts'
import { daemonSet, deployment, statefulSet } from '../support/workloads.ts'
import { unseenMetrics } from '../support/unseen-metrics.ts'

const resources = resourcesOf(dialects.kubernetes)
const entries = [
  deploymentController,
  replicaSetController,
  statefulSetController,
  daemonSetController,
  jobController,
]

/** A manager whose client each create of a pod has to wait for. */
function startManager(cluster: FakeCluster, clock: FakeClock, name: string) {
  const stop = new AbortController()
  let isClosed = false
  let gate: Promise<void> = Promise.resolve()
  const writes: string[] = []
  const inner = cluster.client(({ verb, resource, key }) => {
    if (isClosed) throw new ConnectionError('closed', 'the client was closed')
    if (!['get', 'list', 'watch'].includes(verb)) writes.push(`${verb} ${resource} ${key}`)
  })
  const slow = new Map<Resource, ResourceClient>()
  const client: Client = {
    ...inner,
    resource: <T extends KubeObject>(resource: Resource) => {
      const known = slow.get(resource)
      if (known !== undefined) return known as unknown as ResourceClient<T>
      const own = inner.resource<KubeObject>(resource)
      const made: ResourceClient =
        resource === resources.pods
          ? {
              ...own,
              create: async (...given) => {
                await gate
                return own.create(...given)
              },
            }
          : own
      slow.set(resource, made)
      return made as unknown as ResourceClient<T>
    },
    close: () => {
      isClosed = true
    },
  }
  const ended = runControllerManager(
    {
      client,
      clientOf: undefined,
      files: diskFiles,
      entries,
      options: parseFlags(controllerManagerFlags, [`--leader-elect-identity=${name}`]),
      gates: defaultFeatureGates,
      clock,
      log: silentLog,
      metrics: unseenMetrics(),
      queues: () => createWorkQueue({ clock }),
    },
    stop.signal,
  ).then(
    () => undefined,
    (error: unknown) => error,
  )
  return {
    stop,
    ended,
    writes,
    /** Creates of pods wait until the returned function is called. */
    hold: () => {
      const held = Promise.withResolvers<void>()
      gate = held.promise
      return held.resolve
    },
  }
}

describe('leadership that is lost in the middle of a sync', () => {
  it('ends every write of the old leader, and the new one makes each pod once', async () => {
    const clock = new FakeClock()
    const cluster = new FakeCluster(clock)
    for (const name of ['n1', 'n2', 'n3']) addNode(cluster, name)
    cluster.seed(resources.deployments, deployment('web', { replicas: 9 }) as KubeObject)
    const parallel = statefulSet('db', { replicas: 4, podManagementPolicy: 'Parallel' })
    cluster.seed(resources.statefulSets, parallel as KubeObject)
    cluster.seed(resources.daemonSets, daemonSet('log') as KubeObject)
    cluster.seed(resources.jobs, job('sum', { completions: 8, parallelism: 8 }) as KubeObject)
    const old = startManager(cluster, clock, 'old')
    const release = old.hold()
    await clock.step(1000)
    await settle(50)
    expect(cluster.all(resources.replicaSets)).toHaveLength(1)
    expect(cluster.all(resources.pods)).toHaveLength(0)

    const next = startManager(cluster, clock, 'next')
    cluster.change(resources.leases, 'kube-system/kube-controller-manager', (lease) => {
      lease['spec'].holderIdentity = 'next'
    })
    await clock.step(30_000)
    const before = old.writes.length
    release()
    await settle(50)
    expect(await old.ended).toBeInstanceOf(LeadershipLostError)
    expect(old.writes).toHaveLength(before)

    for (let round = 0; round < 20; round += 1) {
      await clock.step(5000)
      await settle(20)
    }
    const stems = cluster.created
      .filter((one) => one.startsWith('pods '))
      .map((one) => one.replace(/^pods default\/(web|log|sum|db).*$/, '$1'))
    const counts = Object.fromEntries(
      [...Map.groupBy(stems, (one) => one)].map(([stem, all]) => [stem, all.length]),
    )
    expect(counts).toEqual({ web: 9, log: 3, sum: 8, db: 4 })
    next.stop.abort(new Error('the test is over'))
    await clock.step(1000)
    expect(await next.ended).toBeUndefined()
  })

  it('is no reason to give up what is under way when the manager is only told to stop', async () => {
    const clock = new FakeClock()
    const cluster = new FakeCluster(clock)
    cluster.seed(resources.deployments, deployment('web', { replicas: 3 }) as KubeObject)
    const manager = startManager(cluster, clock, 'only')
    const release = manager.hold()
    await clock.step(1000)
    await settle(50)
    manager.stop.abort(new Error('told to stop'))
    release()
    await settle(50)
    expect(await manager.ended).toBeUndefined()
    expect(cluster.all(resources.pods)).toHaveLength(3)
  })
})
