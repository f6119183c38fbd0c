/** One look at a DaemonSet, its nodes and the pods on each. Pure. */
import type { DaemonSet, Node, Pod } from '../../api/generated/types.ts'
import type { Dialect } from '../../api/dialect.ts'
import { share } from '../deployment/replica-math.ts'
import { availableInMs, isTerminal } from '../pod-state.ts'
import { targetNode } from './daemon-pods.ts'
import { eligibility } from './eligible-nodes.ts'

export interface NodePods {
  readonly name: string
  /** False for a node that pods name and that is not there. */
  readonly exists: boolean
  readonly shouldRun: boolean
  readonly mayStay: boolean
  /** Scheduled ones first, then by age. */
  readonly pods: readonly Pod[]
}

export interface DaemonFacts {
  readonly set: DaemonSet
  /** Hash of the current revision. */
  readonly hash: string
  /** All nodes, and those that only pods name. */
  readonly nodes: readonly NodePods[]
  readonly nowMs: number
}

function byScheduledAndAge(a: Pod, b: Pod): number {
  const isUnscheduled = (pod: Pod): number => Number(!pod.spec?.nodeName)
  const createdMs = ({ metadata }: Pod): number => Date.parse(metadata.creationTimestamp ?? '') || 0
  const byName = (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1
  return isUnscheduled(a) - isUnscheduled(b) || createdMs(a) - createdMs(b) || byName
}

/** Pods that ended and are being deleted no longer count: only finalizers or the node agent hold them. */
export function nodePods(
  set: DaemonSet,
  nodes: readonly Node[],
  { pods, dialect }: { readonly pods: readonly Pod[]; readonly dialect: Dialect },
): NodePods[] {
  const byNode = new Map<string, Pod[]>()
  for (const pod of pods) {
    const name = targetNode(pod)
    if (name === undefined) continue
    if (isTerminal(pod) && pod.metadata.deletionTimestamp !== undefined) continue
    byNode.set(name, [...(byNode.get(name) ?? []), pod])
  }
  const sorted = (name: string): Pod[] => (byNode.get(name) ?? []).toSorted(byScheduledAndAge)
  const known = nodes.map((node) => {
    const { name = '' } = node.metadata
    return { name, exists: true, ...eligibility(set, node, dialect), pods: sorted(name) }
  })
  const names = new Set(known.map(({ name }) => name))
  const gone = [...byNode.keys()]
    .filter((name) => !names.has(name))
    .map((name) => ({
      name,
      exists: false,
      shouldRun: false,
      mayStay: false,
      pods: sorted(name),
    }))
  return [...known, ...gone]
}

export function isTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined
}

export function isAvailable({ set, nowMs }: DaemonFacts, pod: Pod): boolean {
  return availableInMs(pod, set.spec?.minReadySeconds ?? 0, nowMs) === 0
}

/** Number of nodes that should run a daemon. */
export function desiredDaemons({ nodes }: DaemonFacts): number {
  return nodes.filter(({ shouldRun }) => shouldRun).length
}

function rolling({ spec }: DaemonSet) {
  const { type, rollingUpdate } = spec?.updateStrategy ?? {}
  return type === 'OnDelete' ? undefined : rollingUpdate
}

/** Nodes that may have a second daemon during an update; percentages are of the desired number and round up. */
export function maxSurge(facts: DaemonFacts): number {
  return share(rolling(facts.set)?.maxSurge, desiredDaemons(facts), Math.ceil)
}

/** Nodes that may be without an available daemon during an update. */
export function maxUnavailable(facts: DaemonFacts): number {
  const desired = desiredDaemons(facts)
  const count = share(rolling(facts.set)?.maxUnavailable, desired, Math.ceil)
  return count === 0 && maxSurge(facts) === 0 ? 1 : count
}

export function allowsSurge({ set }: DaemonFacts): boolean {
  return share(rolling(set)?.maxSurge, 100, Math.ceil) > 0
}
