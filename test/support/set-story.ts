/** What the stories of DaemonSets and StatefulSets tell alike: a set with its controller on a fake cluster, driven step by step. */
import type {
  ControllerRevision,
  Pod,
  PodTemplateSpec,
} from '../../components/api/generated/types.ts'
import { isReady } from '../../components/controller-manager/pod-state.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import type { FakeCluster } from './fake-client.ts'
import type { ReconcilerHarness } from './reconciler-harness.ts'
import { runPods, template } from './workloads.ts'

interface RolledSet extends KubeObject {
  spec?: { template: PodTemplateSpec }
}

export interface SetStory<S extends RolledSet> {
  readonly harness: ReconcilerHarness
  readonly cluster: FakeCluster
  set(): S
  /** By place. */
  pods(): Pod[]
  revisions(): ControllerRevision[]
  /** `web-0 web:1 ready`: its place, image and state, by place. */
  shown(): string[]
  /** Changes the set as a user would, and lets the controller act. */
  user(edit: (set: S) => void): Promise<void>
  /** The user gives the pods another image. */
  image(version: number): Promise<void>
  /** Pods become ready; then the controller acts. Gives how many became ready. */
  ready(options?: { broken?: readonly string[]; limit?: number }): Promise<number>
  /** Repeats `ready` until no pod is left to become ready. */
  stabilize(options?: { broken?: readonly string[] }): Promise<void>
}

/** The story of the set `default/NAME`. */
export function tellSetStory<S extends RolledSet>(
  harness: ReconcilerHarness,
  about: {
    readonly resource: Resource
    readonly name: string
    readonly placeOf: (pod: Pod) => string
    readonly inOrder: (a: Pod, b: Pod) => number
  },
): SetStory<S> {
  const { cluster, resources } = harness
  const { resource, name, placeOf, inOrder } = about
  const story: SetStory<S> = {
    harness,
    cluster,
    set: () => cluster.all<S>(resource)[0] as S,
    pods: () => cluster.all<Pod>(resources.pods).toSorted(inOrder),
    revisions: () => cluster.all<ControllerRevision>(resources.controllerRevisions),
    shown: () =>
      story.pods().map((pod) => {
        const { metadata, spec } = pod
        const state = metadata.deletionTimestamp ? 'terminating' : isReady(pod) ? 'ready' : 'waits'
        return `${placeOf(pod)} ${spec?.containers[0]?.image} ${state}`
      }),
    user: async (edit) => {
      cluster.change(resource, `default/${name}`, edit as never)
      await harness.step(1000)
    },
    image: (version) =>
      story.user(({ spec }) => {
        if (spec) spec.template = template(name, `${name}:${version}`)
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
  }
  return story
}
