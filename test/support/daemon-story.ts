/** A DaemonSet with its controller on a fake cluster, driven step by step. */
import type { DaemonSet, Node, Pod, Taint } from '../../components/api/generated/types.ts'
import { daemonSetController } from '../../components/controller-manager/daemon-set/daemon-set.ts'
import { targetNode } from '../../components/controller-manager/daemon-set/daemon-pods.ts'
import type { FakeCluster } from './fake-client.ts'
import { createReconcilerHarness } from './reconciler-harness.ts'
import type { ReconcilerHarness } from './reconciler-harness.ts'
import { tellSetStory } from './set-story.ts'
import type { SetStory } from './set-story.ts'

/** A pod's place is its node. */
export interface DaemonStory extends SetStory<DaemonSet> {
  addNode(name: string, labels?: Record<string, string>): Promise<void>
  taint(name: string, ...taints: Taint[]): Promise<void>
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
  const told = tellSetStory<DaemonSet>(harness, {
    resource: resources.daemonSets,
    name: 'log',
    placeOf: nodeOf,
    inOrder: (a, b) => (nodeOf(a) < nodeOf(b) ? -1 : 1),
  })
  const story: DaemonStory = {
    ...told,
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
  }
  for (let index = 1; index <= nodes; index += 1)
    cluster.seed(resources.nodes, nodeNamed(`n${index}`))
  if (wanted !== undefined) cluster.seed(resources.daemonSets, wanted)
  before?.(harness)
  await harness.start(daemonSetController)
  await harness.step(1000)
  return story
}
