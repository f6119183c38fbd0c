/** A StatefulSet with its controller on a fake cluster, driven step by step. */
import type {
  PersistentVolumeClaim,
  Pod,
  StatefulSet,
} from '../../components/api/generated/types.ts'
import type { FeatureGates } from '../../components/api/feature-gates.ts'
import { statefulSetController } from '../../components/controller-manager/stateful-set/stateful-set.ts'
import type { FakeCluster } from './fake-client.ts'
import { createReconcilerHarness } from './reconciler-harness.ts'
import type { ReconcilerHarness } from './reconciler-harness.ts'
import { tellSetStory } from './set-story.ts'
import type { SetStory } from './set-story.ts'

/** A pod's place is its name, in the order of ordinals. */
export interface StatefulStory extends SetStory<StatefulSet> {
  claims(): PersistentVolumeClaim[]
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
  const told = tellSetStory<StatefulSet>(harness, {
    resource: resources.statefulSets,
    name: 'web',
    placeOf: ({ metadata }) => metadata.name ?? '',
    inOrder: (a, b) => ordinal(a) - ordinal(b),
  })
  const story: StatefulStory = {
    ...told,
    claims: () => cluster.all<PersistentVolumeClaim>(resources.persistentVolumeClaims),
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
