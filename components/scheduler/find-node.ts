/** The decision for one pod: filter, score, choose. Pure but for the rotation of where the search starts (upstream: schedule_one.go). */
import type { Diagnosis } from './fit-error.ts'
import { addRejection, newDiagnosis } from './fit-error.ts'
import type { ClusterView, NodeCheck, PluginWith, Rejection } from './plugin.ts'
import type { PodInfo } from './pod-info.ts'
import type { Profile } from './profile.ts'
import type { NodeInfo, Snapshot } from './snapshot.ts'
import { withPods } from './snapshot.ts'

/** What filtering leaves; no node when `diagnosis` says why. */
export interface Feasible {
  readonly nodes: NodeInfo[]
  readonly diagnosis: Diagnosis
  /** Only the node that the pod was nominated to has been looked at. */
  readonly isNominated?: boolean
}

export type Decision =
  | { readonly ok: true; readonly node: NodeInfo; readonly feasible: number }
  | { readonly ok: false; readonly diagnosis: Diagnosis }

/** Below this many, all feasible nodes are found and scored. */
const minFeasible = 100

/**
 * How many feasible nodes are enough. `percentage` 0 means upstream's own choice: half of a small cluster, falling to
 * 5 % of a huge one.
 */
export function enoughFeasible(nodeCount: number, percentage: number): number {
  if (nodeCount < minFeasible) return nodeCount
  const share = percentage > 0 ? percentage : Math.max(5, 50 - Math.trunc(nodeCount / 125))
  if (share >= 100) return nodeCount
  return Math.max(minFeasible, Math.trunc((nodeCount * share) / 100))
}

export interface FoundRejection {
  readonly plugin: string
  readonly rejection: Rejection
}

/** The checks of one pod, in order, each with its plugin's name; or the plugin that lets it go nowhere. */
export type PodChecks =
  readonly { readonly plugin: string; readonly check: NodeCheck }[] | FoundRejection

/** The plugins' checks for this pod, without plugins that have nothing to check. */
export function checksOf(
  filters: readonly PluginWith<'filter'>[],
  pod: PodInfo,
  view: ClusterView,
): PodChecks {
  const checks: { plugin: string; check: NodeCheck }[] = []
  for (const plugin of filters) {
    const check = plugin.filter(pod, view)
    if (typeof check === 'function') checks.push({ plugin: plugin.name, check })
    else if (check !== undefined) return { plugin: plugin.name, rejection: check }
  }
  return checks
}

/** The first plugin that rejects, or undefined when the node can take the pod. */
function firstRejection(checks: PodChecks, node: NodeInfo): FoundRejection | undefined {
  if ('plugin' in checks) return checks
  for (const { plugin, check } of checks) {
    const rejection = check(node)
    if (rejection !== undefined) return { plugin, rejection }
  }
  return undefined
}

/**
 * Checks a node that may keep room for nominated pods: the pod must fit beside those of no lower priority, and also without
 * them, since they may never come (upstream: RunFilterPluginsWithNominatedPods).
 */
export function rejectionBeside(
  filters: readonly PluginWith<'filter'>[],
  pod: PodInfo,
  at: { readonly node: NodeInfo; readonly snapshot: Snapshot; readonly checks: PodChecks },
): FoundRejection | undefined {
  const { node, snapshot, checks } = at
  const nominated = snapshot.nominatedBefore(pod, node.name)
  if (nominated.length > 0) {
    const full = withPods(node, { added: nominated })
    const found = firstRejection(checksOf(filters, pod, snapshot.withNode(full)), full)
    if (found !== undefined) return found
  }
  return firstRejection(checks, node)
}

/** Narrows the search when the pod names its nodes (as a DaemonSet's pods do). */
function candidatesOf(
  { narrowing }: Profile,
  pod: PodInfo,
): { readonly nodes: ReadonlySet<string>; readonly by: readonly string[] } | undefined {
  let nodes: ReadonlySet<string> | undefined
  const by: string[] = []
  for (const plugin of narrowing) {
    const named = plugin.candidates(pod)
    if (named === undefined) continue
    nodes = nodes === undefined ? named : nodes.intersection(named)
    by.push(plugin.name)
  }
  return nodes === undefined ? undefined : { nodes, by: by.toSorted() }
}

/** The sum of the weighted scores of these nodes, in their order; with `detail`, each plugin's scores before weighting, too. */
export function totalScores(
  profile: Profile,
  about: { readonly pod: PodInfo; readonly nodes: readonly NodeInfo[]; readonly view: ClusterView },
  detail?: (plugin: string, scores: ArrayLike<number>, weight: number) => void,
): Float64Array {
  const { pod, nodes, view } = about
  const totals = new Float64Array(nodes.length)
  for (const { plugin, weight } of profile.scores) {
    const scores = plugin.score(pod, nodes, view)
    if (scores === undefined) continue
    detail?.(plugin.name, scores, weight)
    for (let index = 0; index < nodes.length; index++) {
      totals[index] = (totals[index] as number) + (scores[index] as number) * weight
    }
  }
  return totals
}

/** The best score; among equals the node chosen longest ago, so that equal nodes take turns. */
export function chooseNode(nodes: readonly NodeInfo[], totals: ArrayLike<number>): NodeInfo {
  let best = nodes[0] as NodeInfo
  let bestScore = totals[0] as number
  for (let index = 1; index < nodes.length; index++) {
    const node = nodes[index] as NodeInfo
    const score = totals[index] as number
    if (score < bestScore || (score === bestScore && node.lastChosen >= best.lastChosen)) continue
    best = node
    bestScore = score
  }
  return best
}

/** Makes decisions over a live snapshot; each search starts where the one before ended, so all nodes get their turn. */
export class NodeFinder {
  readonly #snapshot: Snapshot
  #start = 0

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot
  }

  /** Filters and scores without extenders. */
  find(profile: Profile, pod: PodInfo): Decision {
    const { nodes, diagnosis } = this.filter(profile, pod)
    if (nodes.length === 0) return { ok: false, diagnosis }
    return { ok: true, node: this.choose(profile, pod, nodes), feasible: nodes.length }
  }

  /** The nodes that can take the pod, as many as are enough; `anew` looks beyond the node that it was nominated to. */
  filter(profile: Profile, pod: PodInfo, anew = false): Feasible {
    const all = this.#snapshot.nodes
    const diagnosis = newDiagnosis(all.length)
    const checks = checksOf(profile.filters, pod, this.#snapshot)
    if ('plugin' in checks) {
      diagnosis.rejectedBy.add(checks.plugin)
      diagnosis.preFilterMessage = checks.rejection.reasons.join(', ')
      if (checks.rejection.resolvable) diagnosis.resolvable.push(...all.map(({ name }) => name))
      return { nodes: [], diagnosis }
    }
    const nominated = anew ? undefined : this.#nominatedNode(profile, { pod, checks })
    if (nominated !== undefined) return { nodes: [nominated], diagnosis, isNominated: true }
    const nodes = this.#narrowed(profile, pod, diagnosis)
    return { nodes: this.#search(profile, { pod, nodes, checks }, diagnosis), diagnosis }
  }

  /** The best of some feasible nodes. */
  choose(profile: Profile, pod: PodInfo, nodes: readonly NodeInfo[]): NodeInfo {
    if (nodes.length === 1) return nodes[0] as NodeInfo
    return chooseNode(nodes, totalScores(profile, { pod, nodes, view: this.#snapshot }))
  }

  /** The node that the pod was nominated to, if it fits there now: the others need not be looked at. */
  #nominatedNode(
    profile: Profile,
    { pod, checks }: { readonly pod: PodInfo; readonly checks: PodChecks },
  ): NodeInfo | undefined {
    const name = pod.pod.status?.nominatedNodeName
    const node = name ? this.#snapshot.node(name) : undefined
    if (node === undefined) return undefined
    const at = { node, snapshot: this.#snapshot, checks }
    const named = candidatesOf(profile, pod)
    if (named !== undefined && !named.nodes.has(node.name)) return undefined
    return rejectionBeside(profile.filters, pod, at) === undefined ? node : undefined
  }

  #narrowed(profile: Profile, pod: PodInfo, diagnosis: Diagnosis): readonly NodeInfo[] {
    const all = this.#snapshot.nodes
    const narrowed = candidatesOf(profile, pod)
    if (narrowed === undefined) return all
    const nodes = [...narrowed.nodes].flatMap((name) => this.#snapshot.node(name) ?? [])
    if (nodes.length < all.length) {
      const reasons = [`node(s) didn't satisfy plugin(s) [${narrowed.by.join(' ')}]`]
      const rejection = { reasons, resolvable: false }
      addRejection(diagnosis, { plugin: '', rejection, count: all.length - nodes.length })
      for (const plugin of narrowed.by) diagnosis.rejectedBy.add(plugin)
    }
    return nodes
  }

  #search(
    { filters, percentageOfNodesToScore }: Profile,
    about: {
      readonly pod: PodInfo
      readonly nodes: readonly NodeInfo[]
      readonly checks: PodChecks
    },
    diagnosis: Diagnosis,
  ): NodeInfo[] {
    const { pod, nodes, checks } = about
    const snapshot = this.#snapshot
    const enough = enoughFeasible(nodes.length, percentageOfNodesToScore)
    const feasible: NodeInfo[] = []
    let seen = 0
    for (; seen < nodes.length && feasible.length < enough; seen++) {
      const node = nodes[(this.#start + seen) % nodes.length] as NodeInfo
      const found = rejectionBeside(filters, pod, { node, snapshot, checks })
      if (found === undefined) feasible.push(node)
      else addRejection(diagnosis, { ...found, nodeName: node.name })
    }
    this.#start = nodes.length === 0 ? 0 : (this.#start + seen) % nodes.length
    return feasible
  }
}
