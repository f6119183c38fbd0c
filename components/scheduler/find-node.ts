/** The decision for one pod: filter, score, choose. Pure but for the rotation of where the search starts. */
import type { Diagnosis } from './fit-error.ts'
import { addRejection, newDiagnosis } from './fit-error.ts'
import type { ClusterView, FilterPlugin, NodeCheck, Rejection, ScorePlugin } from './plugin.ts'
import type { PodInfo } from './pod-info.ts'
import type { NodeInfo, Snapshot } from './snapshot.ts'
import { withPods } from './snapshot.ts'

export interface Plugins {
  /** In the order they are asked; the first rejection of a node is the one reported. */
  readonly filters: readonly FilterPlugin[]
  readonly scores: readonly ScorePlugin[]
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

/** The checks of one pod, in order, each with its plugin's name. */
export type PodChecks = readonly { readonly plugin: string; readonly check: NodeCheck }[]

/** The plugins' checks for this pod, without plugins that have nothing to check. */
export function checksOf(
  filters: readonly FilterPlugin[],
  pod: PodInfo,
  view: ClusterView,
): PodChecks {
  return filters.flatMap((filter) => {
    const check = filter.forPod(pod, view)
    return check === undefined ? [] : [{ plugin: filter.name, check }]
  })
}

/** The first plugin that rejects, or undefined when the node can take the pod. */
export function firstRejection(
  checks: PodChecks,
  node: NodeInfo,
): { plugin: string; rejection: Rejection } | undefined {
  for (const { plugin, check } of checks) {
    const rejection = check(node)
    if (rejection !== undefined) return { plugin, rejection }
  }
  return undefined
}

/** The node with the pods that it keeps room for against this one: others, nominated, of no lower priority. */
export function withNominated(pod: PodInfo, node: NodeInfo, snapshot: Snapshot): NodeInfo {
  const before = snapshot.nominatedBefore(pod, node.name)
  return before.length === 0 ? node : withPods(node, { added: before })
}

/** Narrows the search when the pod names its nodes (as a DaemonSet's pods do). */
function candidatesOf(
  plugins: Plugins,
  pod: PodInfo,
): { nodes: ReadonlySet<string>; by: string } | undefined {
  for (const plugin of plugins.filters) {
    const nodes = plugin.candidates?.(pod)
    if (nodes !== undefined) return { nodes, by: plugin.name }
  }
  return undefined
}

/** Brings the raw scores of one plugin to 0..100, in place. */
function normalize(raw: Float64Array, how: ScorePlugin['normalize']): void {
  if (how === 'none') return
  let max = -Infinity
  let min = Infinity
  for (const score of raw) {
    if (score > max) max = score
    if (score < min) min = score
  }
  for (const [index, score] of raw.entries()) {
    if (how === 'range') raw[index] = max === min ? 0 : ((score - min) * 100) / (max - min)
    else if (max === 0) raw[index] = how === 'reverse' ? 100 : 0
    else raw[index] = how === 'max' ? (score * 100) / max : 100 - (score * 100) / max
    raw[index] = Math.trunc(raw[index] as number)
  }
}

function totalScores(plugins: Plugins, pod: PodInfo, at: readonly NodeInfo[], view: ClusterView) {
  const totals = new Float64Array(at.length)
  if (at.length === 1) return totals
  const raw = new Float64Array(at.length)
  for (const plugin of plugins.scores) {
    const score = plugin.forPod(pod, view)
    if (score === undefined) continue
    for (const [index, node] of at.entries()) raw[index] = score(node)
    normalize(raw, plugin.normalize)
    for (let index = 0; index < at.length; index++) {
      totals[index] = (totals[index] as number) + (raw[index] as number) * plugin.weight
    }
  }
  return totals
}

/** The best score; among equals the node chosen longest ago, so that equal nodes take turns. */
function choose(nodes: readonly NodeInfo[], totals: Float64Array): NodeInfo {
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
export function createNodeFinder(options: {
  plugins: Plugins
  snapshot: Snapshot
  percentageOfNodesToScore?: number
}): (pod: PodInfo) => Decision {
  const { plugins, snapshot, percentageOfNodesToScore = 0 } = options
  let start = 0

  const search = (pod: PodInfo, nodes: readonly NodeInfo[], diagnosis: Diagnosis): NodeInfo[] => {
    const enough = enoughFeasible(nodes.length, percentageOfNodesToScore)
    const checks = checksOf(plugins.filters, pod, snapshot)
    const feasible: NodeInfo[] = []
    let seen = 0
    for (; seen < nodes.length && feasible.length < enough; seen++) {
      const node = nodes[(start + seen) % nodes.length] as NodeInfo
      const found = firstRejection(checks, withNominated(pod, node, snapshot))
      if (found === undefined) feasible.push(node)
      else addRejection(diagnosis, { ...found, nodeName: node.name })
    }
    start = nodes.length === 0 ? 0 : (start + seen) % nodes.length
    return feasible
  }

  return (pod) => {
    const all = snapshot.nodes
    const diagnosis = newDiagnosis(all.length)
    const narrowed = candidatesOf(plugins, pod)
    let nodes = all
    if (narrowed !== undefined) {
      nodes = [...narrowed.nodes].flatMap((name) => snapshot.node(name) ?? [])
      if (nodes.length < all.length) {
        const reasons = [`node(s) didn't satisfy plugin(s) [${narrowed.by}]`]
        const rejection = { reasons, resolvable: false }
        addRejection(diagnosis, {
          plugin: narrowed.by,
          rejection,
          count: all.length - nodes.length,
        })
      }
    }
    const feasible = search(pod, nodes, diagnosis)
    if (feasible.length === 0) return { ok: false, diagnosis }
    const node = choose(feasible, totalScores(plugins, pod, feasible, snapshot))
    return { ok: true, node, feasible: feasible.length }
  }
}
