/** Workloads whose selectors match the same pods: each keeps to its own, and nobody fights. */
import { afterEach, describe, expect, it } from 'vitest'
import type { Pod } from '../../components/api/generated/types.ts'
import { daemonSetController } from '../../components/controller-manager/daemon-set/daemon-set.ts'
import { deploymentController } from '../../components/controller-manager/deployment/deployment.ts'
import { disruptionController } from '../../components/controller-manager/disruption/disruption.ts'
import { endpointSliceController } from '../../components/controller-manager/endpoints/endpoint-slices.ts'
import { jobController } from '../../components/controller-manager/job/job.ts'
import {
  replicaSetController,
  replicationController,
} from '../../components/controller-manager/replica-set/replica-set.ts'
import { statefulSetController } from '../../components/controller-manager/stateful-set/stateful-set.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { controllerOf, keyOf } from '../../components/machinery/objects/object.ts'
import { job } from '../support/job-story.ts'
import { addNode } from '../support/nodes.ts'
import { createReconcilerHarness } from '../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../support/reconciler-harness.ts'
import {
  daemonSet,
  deployment,
  replicaSet,
  runPods,
  statefulSet,
  template,
} from '../support/workloads.ts'

let harness: ReconcilerHarness
afterEach(() => harness.stop())

const selector = { matchLabels: { app: 'x' } }
const shared = { selector, template: template('x') }

async function start(): Promise<void> {
  harness = createReconcilerHarness()
  const { cluster, resources } = harness
  addNode(cluster, 'n1')
  const labelled = {
    selector,
    template: { ...job('j').spec?.template, metadata: { labels: { app: 'x' } } },
  }
  const seeds = [
    [resources.deployments, deployment('d1', { replicas: 2, ...shared })],
    [resources.deployments, deployment('d2', { replicas: 3, ...shared })],
    [resources.replicaSets, { ...replicaSet('r', 2), spec: { replicas: 2, ...shared } }],
    [
      resources.replicationControllers,
      {
        metadata: { name: 'c', namespace: 'default' },
        spec: { replicas: 2, selector: { app: 'x' }, template: template('x') },
      },
    ],
    [resources.statefulSets, statefulSet('s', { replicas: 2, ...shared })],
    [resources.daemonSets, daemonSet('e', shared)],
    [resources.jobs, job('j', { completions: 2, parallelism: 2, ...labelled } as never)],
  ] as const
  for (const [resource, object] of seeds) cluster.seed(resource, object as KubeObject)
  for (const name of ['b1', 'b2']) {
    const spec = { minAvailable: 1, selector }
    cluster.seed(resources.podDisruptionBudgets, { metadata: { name, namespace: 'default' }, spec })
  }
  cluster.seed(resources.services, {
    metadata: { name: 'v', namespace: 'default' },
    spec: {
      selector: { app: 'x' },
      ports: [{ port: 80 }],
      ipFamilies: ['IPv4'],
      clusterIP: '10.0.0.9',
    },
  })
  await harness.start(
    deploymentController,
    replicaSetController,
    replicationController,
    statefulSetController,
    daemonSetController,
    jobController,
    disruptionController,
    endpointSliceController,
  )
  await stabilize()
}

async function stabilize(rounds = 20): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    await harness.step(5000)
    runPods(harness.cluster)
  }
}

/** How many pods each workload controls; '' of those that none does. */
function owned(): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const pod of harness.cluster.all<Pod>(harness.resources.pods)) {
    const { kind = '', name = '' } = controllerOf(pod) ?? {}
    const owner = kind === 'ReplicaSet' ? name.replace(/-.*/, '') : name
    counts[owner] = (counts[owner] ?? 0) + 1
  }
  return counts
}

const each = { d1: 2, d2: 3, r: 2, c: 2, s: 2, e: 1, j: 2 }

describe('workloads that select the same pods', () => {
  it('each have their own, and write nothing more', async () => {
    await start()
    expect(owned()).toEqual(each)
    const { cluster } = harness
    const before = cluster.writes.length
    await stabilize(60)
    expect(cluster.writes.slice(before)).toEqual([])
    expect(harness.complaints.filter((one) => one.startsWith('error'))).toEqual([])
  })

  it('adopt a lone pod once, and the one that has it has one too many for a moment alone', async () => {
    await start()
    const { cluster, resources } = harness
    const before = cluster.calls.length
    cluster.seed(resources.pods, {
      metadata: { name: 'lone', namespace: 'default', labels: { app: 'x' } },
      spec: { containers: [] },
      status: { phase: 'Running' },
    })
    await stabilize()
    expect(owned()).toEqual(each)
    const calls = cluster.calls.slice(before)
    const adoptions = calls.filter(({ verb, key }) => verb === 'patch' && key === 'default/lone')
    // Two may try at once; the server lets the first have it.
    expect(adoptions.length).toBeLessThanOrEqual(6)
    expect(
      calls.filter(({ verb, resource }) => verb === 'delete' && resource === 'pods'),
    ).toHaveLength(1)
    const rest = cluster.writes.length
    await stabilize(60)
    expect(cluster.writes).toHaveLength(rest)
  })

  it('replace each its own when all are deleted', async () => {
    await start()
    const { cluster, resources } = harness
    for (const pod of cluster.all(resources.pods)) {
      if (controllerOf(pod)?.kind !== 'Job') cluster.remove(resources.pods, keyOf(pod))
    }
    await stabilize(40)
    expect(owned()).toEqual(each)
  })
})
