/** A DaemonSet with its controller on a fake cluster, driven step by step. */
import type {
  ControllerRevision,
  DaemonSet,
  Node,
  Pod,
  Taint,
} from '../../components/api/generated/types.ts'
import { daemonSetController } from '../../components/controller-manager/daemon-set/daemon-set.ts'
import { targetNode } from '../../components/controller-manager/daemon-set/daemon-pods.ts'
import { isReady } from '../../components/controller-manager/pod-state.ts'
import type { FakeCluster } from './fake-client.ts'
import { createReconcilerHarness } from './reconciler-harness.ts'
import type { ReconcilerHarness } from './reconciler-harness.ts'
import { runPods, template } from './workloads.ts'

export interface DaemonStory {
  readonly harness: ReconcilerHarness
  readonly cluster: FakeCluster
  set(): DaemonSet
  pods(): Pod[]
  revisions(): ControllerRevision[]
  /** `n1 log:1 ready`, by node. */
  shown(): string[]
  addNode(name: string, labels?: Record<string, string>): Promise<void>
  taint(name: string, ...taints: Taint[]): Promise<void>
  /** Changes the set as a user would, and lets the controller act. */
  user(edit: (set: DaemonSet) => void): Promise<void>
  /** The user gives the pods another image. */
  image(version: number): Promise<void>
  /** Pods become ready; then the controller acts. Gives how many became ready. */
  ready(options?: { broken?: readonly string[]; limit?: number }): Promise<number>
  /** Repeats `ready` until no pod is left to become ready. */
  stabilize(options?: { broken?: readonly string[] }): Promise<void>
}

export function nodeNamed(name: string, labels: Record<string, string> = {}): Node {
  return { metadata: { name, labels } }
}

export async function startDaemon(
  wanted: DaemonSet | undefined,
  options: {
    nodes?: number
    cluster?: FakeCluster
    before?: (harness: ReconcilerHarness) => void
  } = {},
): Promise<DaemonStory> {
  const { before, nodes = 3, ...more } = options
  const harness = createReconcilerHarness(more)
  const { cluster, resources } = harness
  const nodeOf = (pod: Pod): string => targetNode(pod) ?? ''
  const story: DaemonStory = {
    harness,
    cluster,
    set: () => cluster.all<DaemonSet>(resources.daemonSets)[0] as DaemonSet,
    pods: () =>
      cluster.all<Pod>(resources.pods).toSorted((a, b) => (nodeOf(a) < nodeOf(b) ? -1 : 1)),
    revisions: () => cluster.all<ControllerRevision>(resources.controllerRevisions),
    shown: () =>
      story.pods().map((pod) => {
        const { metadata, spec } = pod
        const state = metadata.deletionTimestamp ? 'terminating' : isReady(pod) ? 'ready' : 'waits'
        return `${nodeOf(pod)} ${spec?.containers[0]?.image} ${state}`
      }),
    addNode: async (name, labels) => {
      cluster.seed(resources.nodes, nodeNamed(name, labels))
      await harness.step(1000)
    },
    taint: async (name, ...taints) => {
      cluster.change(resources.nodes, name, (node) => {
        node['spec'] = { taints }
      })
      await harness.step(1000)
    },
    user: async (edit) => {
      cluster.change(resources.daemonSets, 'default/log', edit as never)
      await harness.step(1000)
    },
    image: (version) =>
      story.user(({ spec }) => {
        if (spec) spec.template = template('log', `log:${version}`)
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
  for (let index = 1; index <= nodes; index += 1)
    cluster.seed(resources.nodes, nodeNamed(`n${index}`))
  if (wanted !== undefined) cluster.seed(resources.daemonSets, wanted)
  before?.(harness)
  await harness.start(daemonSetController)
  await harness.step(1000)
  return story
}
