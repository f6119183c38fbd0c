/**
 * ExplainPod: what the scheduler thinks of one pod now, node by node: which plugin rejects it and why, or how it scores by plugin, and
 * what preemption would take. It looks at every node, decides as an attempt would, and changes nothing.
 */
import type { PodChecks } from './find-node.ts'
import { chooseNode, checksOf, rejectionBeside, totalScores } from './find-node.ts'
import { addRejection, fitMessage, newDiagnosis } from './fit-error.ts'
import type { PodInfo } from './pod-info.ts'
import type { Profile } from './profile.ts'
import type { NodeInfo, Snapshot } from './snapshot.ts'

/** One plugin's score of a node, 0 to 100, and how often it counts. */
interface ExplainedScore {
  readonly plugin: string
  readonly score: number
  readonly weight: number
}

type ExplainedNode = { readonly node: string } & (
  | {
      readonly fits: false
      readonly plugin: string
      readonly reasons: readonly string[]
      /** True when the pod might fit if pods were evicted. */
      readonly resolvable: boolean
    }
  | { readonly fits: true; readonly scores: readonly ExplainedScore[]; readonly total: number }
)

interface PodExplanation {
  readonly schedulerName: string
  /** The plugin that keeps the pod out of the queue, with its reasons; nothing else is looked at then. */
  readonly gatedBy?: { readonly plugin: string; readonly reasons: readonly string[] }
  readonly nodes: readonly ExplainedNode[]
  /** The node that an attempt would choose. */
  readonly chosen?: string
  /** The message that an attempt would report; absent when a node fits. */
  readonly message?: string
  /** The eviction that would let the pod fit. */
  readonly preemption?: {
    readonly node: string
    /** `namespace/name`, the most important first. */
    readonly victims: readonly string[]
  }
}

/** Rejects only when an extender that the post-filter asks fails, or a selector of devices. */
export async function explainPod(about: {
  readonly pod: PodInfo
  readonly profile: Profile
  readonly snapshot: Snapshot
}): Promise<PodExplanation> {
  const { pod, profile, snapshot } = about
  const { schedulerName } = profile
  for (const plugin of profile.preEnqueues) {
    const rejection = plugin.preEnqueue(pod)
    if (rejection === undefined) continue
    const gatedBy = { plugin: plugin.name, reasons: rejection.reasons }
    return { schedulerName, gatedBy, nodes: [] }
  }
  const checks = checksOf(profile.filters, pod, snapshot)
  const rejected = new Map<string, ExplainedNode>()
  const feasible: NodeInfo[] = []
  for (const node of snapshot.nodes) {
    const found = rejectionBeside(profile.filters, pod, { node, snapshot, checks })
    if (found === undefined) feasible.push(node)
    else {
      const { plugin, rejection } = found
      rejected.set(node.name, { node: node.name, fits: false, plugin, ...rejection })
    }
  }
  if (feasible.length === 0) {
    const nodes = [...rejected.values()]
    return { schedulerName, nodes, ...(await explainMisfit(about, { checks, nodes })) }
  }
  const { scored, totals } = explainScores(about, feasible)
  return {
    schedulerName,
    nodes: snapshot.nodes.flatMap(({ name }) => scored.get(name) ?? rejected.get(name) ?? []),
    chosen: chooseNode(feasible, totals).name,
  }
}

function explainScores(
  { pod, profile, snapshot }: { pod: PodInfo; profile: Profile; snapshot: Snapshot },
  feasible: readonly NodeInfo[],
): { readonly scored: ReadonlyMap<string, ExplainedNode>; readonly totals: Float64Array } {
  const byPlugin: { plugin: string; scores: ArrayLike<number>; weight: number }[] = []
  const totals = totalScores(profile, { pod, nodes: feasible, view: snapshot }, (...scores) => {
    const [plugin, values, weight] = scores
    byPlugin.push({ plugin, scores: values, weight })
  })
  const scored = feasible.map(({ name }, index): [string, ExplainedNode] => [
    name,
    {
      node: name,
      fits: true,
      total: totals[index] ?? 0,
      scores: byPlugin.map(({ plugin, scores, weight }) => ({
        plugin,
        score: scores[index] ?? 0,
        weight,
      })),
    },
  ])
  return { scored: new Map(scored), totals }
}

async function explainMisfit(
  { pod, profile, snapshot }: { pod: PodInfo; profile: Profile; snapshot: Snapshot },
  found: { readonly checks: PodChecks; readonly nodes: readonly ExplainedNode[] },
): Promise<Pick<PodExplanation, 'message' | 'preemption'>> {
  const diagnosis = newDiagnosis(found.nodes.length)
  if ('plugin' in found.checks) {
    diagnosis.preFilterMessage = found.checks.rejection.reasons.join(', ')
  }
  for (const each of found.nodes) {
    if (!each.fits)
      addRejection(diagnosis, { plugin: each.plugin, rejection: each, nodeName: each.node })
  }
  if (diagnosis.nodeCount === 0) return { message: fitMessage(diagnosis) }
  const tails: string[] = []
  for (const plugin of profile.postFilters) {
    const { filters } = profile
    const outcome = await plugin.postFilter({ pod, snapshot, filters, diagnosis, dryRun: true })
    if (outcome === undefined) continue
    if (outcome.ok) {
      const { nodeName: node, victims } = outcome.eviction
      const preemption = { node, victims: victims.map(({ key }) => key) }
      return { message: fitMessage(diagnosis), preemption }
    }
    tails.push(outcome.message)
  }
  return { message: fitMessage(diagnosis, tails.length === 0 ? undefined : tails.join(', ')) }
}
