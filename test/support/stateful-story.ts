/** A StatefulSet with its controller on a fake cluster, driven step by step. */
import type {
  ControllerRevision,
  PersistentVolumeClaim,
  Pod,
  StatefulSet,
} from '../../components/api/generated/types.ts'
import type { FeatureGates } from '../../components/api/feature-gates.ts'
import { isReady } from '../../components/controller-manager/pod-state.ts'
import { statefulSetController } from '../../components/controller-manager/stateful-set/stateful-set.ts'
import type { FakeCluster } from './fake-client.ts'
import { createReconcilerHarness } from './reconciler-harness.ts'
import type { ReconcilerHarness } from './reconciler-harness.ts'
import { runPods, template } from './workloads.ts'

export interface StatefulStory {
  readonly harness: ReconcilerHarness
  readonly cluster: FakeCluster
  set(): StatefulSet
  pods(): Pod[]
  claims(): PersistentVolumeClaim[]
  revisions(): ControllerRevision[]
  /** `web-0 web:1 ready`, by ordinal. */
  shown(): string[]
  /** Changes the set as a user would, and lets the controller act. */
  user(edit: (set: StatefulSet) => void): Promise<void>
  /** The user gives the pods another image. */
  image(version: number): Promise<void>
  /** Pods become ready; then the controller acts. Gives how many became ready. */
  ready(options?: { broken?: readonly string[]; limit?: number }): Promise<number>
  /** Repeats `ready` until no pod is left to become ready. */
  stabilize(options?: { broken?: readonly string[] }): Promise<void>
  /** Deletes a pod as a user would. */
  remove(name: string): Promise<void>
}

function ordinal({ metadata }: Pod): number {
  return Number(metadata.name?.split('-').at(-1))
}

export async function startStateful(
  wanted: StatefulSet | undefined,
  options: {
    gates?: Partial<FeatureGates>
    cluster?: FakeCluster
    before?: (harness: ReconcilerHarness) => void
  } = {},
): Promise<StatefulStory> {
  const { before, ...more } = options
  const harness = createReconcilerHarness(more)
  const { cluster, resources } = harness
  const story: StatefulStory = {
    harness,
    cluster,
    set: () => cluster.all<StatefulSet>(resources.statefulSets)[0] as StatefulSet,
    pods: () => cluster.all<Pod>(resources.pods).toSorted((a, b) => ordinal(a) - ordinal(b)),
    claims: () => cluster.all<PersistentVolumeClaim>(resources.persistentVolumeClaims),
    revisions: () => cluster.all<ControllerRevision>(resources.controllerRevisions),
    shown: () =>
      story.pods().map((pod) => {
        const { metadata, spec } = pod
        const state = metadata.deletionTimestamp ? 'terminating' : isReady(pod) ? 'ready' : 'waits'
        return `${metadata.name} ${spec?.containers[0]?.image} ${state}`
      }),
    user: async (edit) => {
      cluster.change(resources.statefulSets, 'default/web', edit as never)
      await harness.step(1000)
    },
    image: (version) =>
      story.user(({ spec }) => {
        if (spec) spec.template = template('web', `web:${version}`)
      }),
    ready: async (which) => {
      const count = runPods(cluster, which)
      if (count > 0) await harness.step(1000)
      return count
    },
    stabilize: async (which) => {
      for (let round = 0; (await story.ready(which)) > 0; round += 1) {
        if (round === 100) throw new Error('pods are replaced again and again')
      }
    },
    remove: async (name) => {
      cluster.remove(resources.pods, `default/${name}`)
      await harness.step(1000)
    },
  }
  if (wanted !== undefined) cluster.seed(resources.statefulSets, wanted)
  before?.(harness)
  await harness.start(statefulSetController)
  await harness.step(1000)
  return story
}
