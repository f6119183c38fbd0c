/**
 * Preemption: which pods of lower priority would have to go so that a pod fits (upstream: DefaultPreemption). Pure; the
 * scheduler does the evicting. Disruption budgets are not looked at.
 */
import type { Diagnosis } from './fit-error.ts'
import { checksOf, firstRejection, withNominated } from './find-node.ts'
import type { ClusterView, FilterPlugin } from './plugin.ts'
import type { PodInfo } from './pod-info.ts'
import type { NodeInfo, Snapshot } from './snapshot.ts'
import { withPods } from './snapshot.ts'

export interface Eviction {
  readonly node: NodeInfo
  readonly victims: readonly PodInfo[]
}

export type PreemptionResult =
  | { readonly ok: true; readonly eviction: Eviction }
  /** A sentence, or counts of nodes by reason: the tail of the pod's message. */
  | { readonly ok: false; readonly why: string | ReadonlyMap<string, number> }

const notHelpful = 'Preemption is not helpful for scheduling'
const noVictims = 'No preemption victims found for incoming pod'

/** More important: higher priority, then longer running. */
function byImportance(a: PodInfo, b: PodInfo): number {
  if (a.priority !== b.priority) return b.priority - a.priority
  const [left, right] = [startOf(a), startOf(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

function startOf({ pod }: PodInfo): string {
  return pod.status?.startTime ?? pod.metadata.creationTimestamp ?? ''
}

type Attempt = { victims: PodInfo[] } | { reasons: readonly string[] }

/** The cluster with one node as it would be. */
function viewWith(snapshot: Snapshot, trial: NodeInfo): ClusterView {
  return {
    nodes: snapshot.nodes.map((node) => (node.name === trial.name ? trial : node)),
    namespaceLabels: (name) => snapshot.namespaceLabels(name),
    podsWithAntiAffinity: snapshot.podsWithAntiAffinity,
  }
}

function tryNode(
  about: { pod: PodInfo; node: NodeInfo; snapshot: Snapshot },
  filters: readonly FilterPlugin[],
): Attempt {
  const { pod, node, snapshot } = about
  const lower = [...node.pods.values()].filter((other) => other.priority < pod.priority)
  if (lower.length === 0) return { reasons: [noVictims] }
  const trial = withPods(node, { removed: lower })
  const view = viewWith(snapshot, trial)
  // Rules between pods depend on who is where, so they are worked out anew for every trial.
  const rejected = (): ReturnType<typeof firstRejection> =>
    firstRejection(checksOf(filters, pod, view), withNominated(pod, trial, snapshot))
  const why = rejected()
  if (why !== undefined) return { reasons: why.rejection.reasons }
  // The most important come back first, as long as the pod still fits beside them.
  const victims: PodInfo[] = []
  for (const other of lower.toSorted(byImportance)) {
    trial.count(other, 1)
    if (rejected() === undefined) continue
    trial.count(other, -1)
    victims.push(other)
  }
  return { victims }
}

function compare(a: Eviction, b: Eviction): number {
  const highest = (of: Eviction): number => of.victims[0]?.priority ?? -Infinity
  const sum = (of: Eviction): number =>
    of.victims.reduce((total, { priority }) => total + priority + 2 ** 31, 0)
  return (
    highest(a) - highest(b) ||
    sum(a) - sum(b) ||
    a.victims.length - b.victims.length ||
    // The node whose most important victim has run the shortest.
    (startOf(b.victims[0] as PodInfo) > startOf(a.victims[0] as PodInfo) ? 1 : -1)
  )
}

/** Finds the eviction that does the least harm, among the nodes that the diagnosis calls resolvable. */
export function findEviction(options: {
  pod: PodInfo
  snapshot: Snapshot
  filters: readonly FilterPlugin[]
  diagnosis: Diagnosis
}): PreemptionResult {
  const { pod, snapshot, filters, diagnosis } = options
  if (pod.pod.spec?.preemptionPolicy === 'Never') {
    return { ok: false, why: 'not eligible due to preemptionPolicy=Never.' }
  }
  const nominated = snapshot.node(pod.pod.status?.nominatedNodeName ?? '')
  if (nominated !== undefined) {
    for (const other of nominated.pods.values()) {
      if (other.pod.metadata.deletionTimestamp === undefined || other.priority >= pod.priority) {
        continue
      }
      return { ok: false, why: 'not eligible due to a terminating pod on the nominated node.' }
    }
  }
  const why = new Map<string, number>()
  const say = (reason: string, count = 1): void =>
    void why.set(reason, (why.get(reason) ?? 0) + count)
  let best: Eviction | undefined
  for (const name of diagnosis.resolvable) {
    const node = snapshot.node(name)
    if (node === undefined) continue
    const attempt = tryNode({ pod, node, snapshot }, filters)
    if ('reasons' in attempt) attempt.reasons.forEach((reason) => say(reason))
    else {
      const eviction = { node, victims: attempt.victims }
      if (best === undefined || compare(eviction, best) < 0) best = eviction
    }
  }
  if (best !== undefined) return { ok: true, eviction: best }
  const hopeless = diagnosis.nodeCount - diagnosis.resolvable.length
  if (hopeless > 0) say(notHelpful, hopeless)
  return { ok: false, why }
}
