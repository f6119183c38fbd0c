/** Pods and what makes them, for tests, and a stand-in for the nodes' agents that makes pods ready. */
import type {
  DaemonSet,
  DaemonSetSpec,
  Deployment,
  DeploymentSpec,
  Pod,
  PodTemplateSpec,
  ReplicaSet,
  StatefulSet,
  StatefulSetSpec,
} from '../../components/api/generated/types.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { timestamp } from '../../components/component-base/clock.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { keyOf } from '../../components/machinery/objects/object.ts'
import type { FakeCluster } from './fake-client.ts'

export function template(app: string, image = `${app}:1`): PodTemplateSpec {
  return {
    metadata: { labels: { app } },
    spec: { containers: [{ name: app, image }] },
  }
}

export function replicaSet(name: string, replicas: number): ReplicaSet {
  return {
    metadata: { name, namespace: 'default' },
    spec: { replicas, selector: { matchLabels: { app: name } }, template: template(name) },
  }
}

/** As the server leaves it, with every default. */
export function deployment(name: string, spec: Partial<DeploymentSpec> = {}): Deployment {
  return {
    metadata: { name, namespace: 'default' },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: name } },
      template: template(name),
      strategy: {
        type: 'RollingUpdate',
        rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' },
      },
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      ...spec,
    },
  }
}

/** As the server leaves it, with every default. */
export function statefulSet(name: string, spec: Partial<StatefulSetSpec> = {}): StatefulSet {
  return {
    metadata: { name, namespace: 'default' },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: name } },
      template: template(name),
      serviceName: name,
      podManagementPolicy: 'OrderedReady',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      revisionHistoryLimit: 10,
      ...spec,
    },
  }
}

/** As the server leaves it, with every default. */
export function daemonSet(name: string, spec: Partial<DaemonSetSpec> = {}): DaemonSet {
  return {
    metadata: {
      name,
      namespace: 'default',
      annotations: { 'deprecated.daemonset.template.generation': '1' },
    },
    spec: {
      selector: { matchLabels: { app: name } },
      template: template(name),
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
      revisionHistoryLimit: 10,
      ...spec,
    },
  }
}

/** Says of a pod that it runs, ready or not. */
export function runPod(cluster: FakeCluster, pod: Pod | KubeObject, isReady = true): void {
  const { pods } = resourcesOf(cluster.dialect)
  const lastTransitionTime = timestamp(cluster.clock.now())
  cluster.change(pods, keyOf(pod), (object) => {
    object['status'] = {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime }],
    }
  })
}

/** Makes every pod ready that is not, but for those of the images given; gives how many it was. */
export function runPods(
  cluster: FakeCluster,
  options: { broken?: readonly string[]; limit?: number } = {},
): number {
  const { broken = [], limit = Infinity } = options
  const { pods } = resourcesOf(cluster.dialect)
  let changed = 0
  for (const pod of cluster.all<Pod>(pods)) {
    if (changed >= limit || pod.metadata.deletionTimestamp !== undefined) continue
    const isBroken = broken.includes(pod.spec?.containers[0]?.image ?? '')
    if (pod.status?.phase === 'Running' || isBroken) continue
    runPod(cluster, pod)
    changed += 1
  }
  return changed
}
