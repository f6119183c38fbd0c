/** The decision for one pod: filter, score, choose. Pure but for the rotation of where the search starts. */
import type { Diagnosis } from './fit-error.ts'
import { addRejection, newDiagnosis } from './fit-error.ts'
import type { FilterPlugin, Rejection, ScorePlugin } from './plugin.ts'
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

/** The first plugin that rejects, or undefined when the node can take the pod. */
export function firstRejection(
  filters: readonly FilterPlugin[],
  about: { pod: PodInfo; node: NodeInfo; snapshot: Snapshot },
): { plugin: string; rejection: Rejection } | undefined {
  const { pod, snapshot } = about
  const before = snapshot.nominatedBefore(pod, about.node.name)
  const node = before.length === 0 ? about.node : withPods(about.node, { added: before })
  for (const plugin of filters) {
    const rejection = plugin.filter(pod, node, snapshot)
    if (rejection !== undefined) return { plugin: plugin.name, rejection }
  }
  return undefined
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

function totalScores(plugins: Plugins, pod: PodInfo, at: readonly NodeInfo[], s: Snapshot) {
  const totals = new Float64Array(at.length)
  const raw = new Float64Array(at.length)
  for (const plugin of plugins.scores) {
    if (!plugin.applies(pod, s)) continue
    let max = 0
    at.forEach((node, index) => {
      const score = plugin.score(pod, node, s)
      raw[index] = score
      if (score > max) max = score
    })
    for (let index = 0; index < at.length; index++) {
      const score = raw[index] as number
      let scaled = score
      if (plugin.normalize === 'max') scaled = max === 0 ? 0 : Math.trunc((score * 100) / max)
      if (plugin.normalize === 'reverse') {
        scaled = max === 0 ? 100 : 100 - Math.trunc((score * 100) / max)
      }
      totals[index] = (totals[index] as number) + scaled * plugin.weight
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
    const feasible: NodeInfo[] = []
    let seen = 0
    for (; seen < nodes.length && feasible.length < enough; seen++) {
      const node = nodes[(start + seen) % nodes.length] as NodeInfo
      const found = firstRejection(plugins.filters, { pod, node, snapshot })
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
