/** Pods that nodes lack or have too many, updates aside (upstream: daemon_controller.go podsShouldBeOnNode). Pure. */
import type { Pod } from '../../api/generated/types.ts'
import { isReady } from '../pod-state.ts'
import { podHash } from './daemon-pods.ts'
import type { DaemonFacts, NodePods } from './node-pods.ts'
import { allowsSurge, isAvailable, isTerminating } from './node-pods.ts'

export interface Placement {
  /** Names of the nodes that need a pod, each once. */
  readonly creates: readonly string[]
  readonly deletes: readonly Pod[]
  /** Failed pods to delete as soon as their back-off allows, with their nodes. */
  readonly failed: readonly { readonly pod: Pod; readonly node: string }[]
  /** Finished pods among those to delete, with their nodes. */
  readonly succeeded: readonly { readonly pod: Pod; readonly node: string }[]
}

const nothing: Placement = { creates: [], deletes: [], failed: [], succeeded: [] }

/** Two running pods are one too many, unless the newer one is to replace the older one and is not available yet. */
function surplus(facts: DaemonFacts, running: readonly Pod[]): Pod[] {
  if (!allowsSurge(facts)) return running.slice(1)
  const [newPod, ...newer] = running.filter((pod) => podHash(pod) === facts.hash)
  const [oldPod, ...older] = running.filter((pod) => podHash(pod) !== facts.hash)
  const isReplaced =
    newPod !== undefined && oldPod !== undefined && (!isReady(oldPod) || isAvailable(facts, newPod))
  return [...newer, ...older, ...(isReplaced ? [oldPod] : [])]
}

function onNode(facts: DaemonFacts, { name, pods, ...node }: NodePods): Placement {
  const alive = pods.filter((pod) => !isTerminating(pod))
  if (node.shouldRun && pods.length === 0) return { ...nothing, creates: [name] }
  if (!node.mayStay) {
    // The pod garbage collector deletes pods bound to a deleted node; this controller deletes those still waiting for it.
    return { ...nothing, deletes: node.exists ? alive : alive.filter((pod) => !pod.spec?.nodeName) }
  }
  const ended = (phase: string) =>
    alive.filter(({ status }) => status?.phase === phase).map((pod) => ({ pod, node: name }))
  const [failed, succeeded] = [ended('Failed'), ended('Succeeded')]
  const running = alive.filter(
    ({ status }) => !['Failed', 'Succeeded'].includes(status?.phase ?? ''),
  )
  // A failed pod in back-off holds the place of the next one, or a node that rejects pods would collect them.
  const isFree = running.length === 0 && failed.length === 0
  return {
    creates: allowsSurge(facts) && node.shouldRun && isFree ? [name] : [],
    deletes: [...succeeded.map(({ pod }) => pod), ...surplus(facts, running)],
    failed,
    succeeded,
  }
}

export function placementOf(facts: DaemonFacts): Placement {
  const all = facts.nodes.map((node) => onNode(facts, node))
  return {
    creates: all.flatMap(({ creates }) => creates),
    deletes: all.flatMap(({ deletes }) => deletes),
    failed: all.flatMap(({ failed }) => failed),
    succeeded: all.flatMap(({ succeeded }) => succeeded),
  }
}
