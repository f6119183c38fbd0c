/** A Deployment with its controllers on a fake cluster, driven step by step; tells what a bystander would see. */
import type { Deployment, Pod, ReplicaSet } from '../../components/api/generated/types.ts'
import { deploymentController } from '../../components/controller-manager/deployment/deployment.ts'
import { replicaSetController } from '../../components/controller-manager/replica-set/replica-set.ts'
import { isReady } from '../../components/controller-manager/pod-state.ts'
import { createReconcilerHarness } from './reconciler-harness.ts'
import type { ReconcilerHarness } from './reconciler-harness.ts'
import { runPods } from './workloads.ts'

export interface RolloutStory {
  readonly harness: ReconcilerHarness
  readonly lines: string[]
  deployment(): Deployment
  replicaSets(): ReplicaSet[]
  pods(): Pod[]
  /** Changes the Deployment as a user would, and lets the controllers act. */
  user(what: string, edit: (deployment: Deployment) => void): Promise<void>
  /** Pods become ready; then the controllers act. Gives how many became ready. */
  ready(options?: { broken?: readonly string[]; limit?: number }): Promise<number>
  /** Time passes. */
  wait(ms: number): Promise<void>
  /** Repeats `ready` until no pod is left to become ready. */
  stabilize(options?: { broken?: readonly string[]; limit?: number }): Promise<void>
}

export async function startRollout(deployment: Deployment, seed = 1): Promise<RolloutStory> {
  const harness = createReconcilerHarness({ seed })
  const { cluster, resources } = harness
  const lines: string[] = []
  let told = 0
  const story: RolloutStory = {
    harness,
    lines,
    deployment: () => cluster.all<Deployment>(resources.deployments)[0] as Deployment,
    replicaSets: () => cluster.all<ReplicaSet>(resources.replicaSets),
    pods: () => cluster.all<Pod>(resources.pods),
    user: async (what, edit) => {
      lines.push(`> ${what}`)
      cluster.change(resources.deployments, 'default/web', edit as never)
      await act()
    },
    ready: async (options) => {
      const count = runPods(cluster, options)
      if (count === 0) return 0
      lines.push(`> ${count} pods become ready`)
      await act()
      return count
    },
    wait: async (ms) => {
      lines.push(`> ${ms / 1000} s pass`)
      await harness.step(ms)
      tell()
    },
    stabilize: async (options) => {
      while ((await story.ready(options)) > 0);
    },
  }
  /** Lets everything due run, and a second for retries of lost races. */
  const act = async (): Promise<void> => {
    await harness.step(1000)
    tell()
  }
  const tell = (): void => {
    const events = harness.events.slice(told)
    told = harness.events.length
    for (const event of events) {
      if (!event.includes('ScalingReplicaSet') && !event.startsWith('Warning')) continue
      lines.push(`  ${event.slice(event.indexOf(': ') + 2)}`)
    }
    const pods = story.pods()
    for (const { metadata, spec } of story.replicaSets()) {
      const own = pods.filter(({ metadata: { ownerReferences } }) =>
        ownerReferences?.some(({ uid }) => uid === metadata.uid),
      )
      const revision = metadata.annotations?.['deployment.kubernetes.io/revision']
      lines.push(
        `  ${metadata.name} revision ${revision}: wants ${spec?.replicas}, has ${own.length}, ready ${own.filter(isReady).length}`,
      )
    }
    const { status } = story.deployment()
    const conditions = (status?.conditions ?? [])
      .toSorted((a, b) => (a.type < b.type ? -1 : 1))
      .map(({ type, status: value, reason }) => `${type}=${value} ${reason}`)
    lines.push(`  deployment: ${conditions.join(', ')}`)
  }
  cluster.seed(resources.deployments, deployment)
  lines.push(`> created with ${deployment.spec?.replicas} replicas`)
  await harness.start(deploymentController, replicaSetController)
  await act()
  return story
}
