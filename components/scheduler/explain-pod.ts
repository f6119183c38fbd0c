/**
 * ExplainPod: what the scheduler thinks of one pod now, node by node: which plugin rejects it and why, or how it scores by plugin, and
 * what preemption would take. It looks at every node, decides as an attempt would, and changes nothing.
 */
import type {
  ExplainedNode,
  ExplainedShortage,
  PodExplanation,
  RefusedNode,
} from '../api/pod-explanation.ts'
import { formatQuantity, parseQuantity } from '../machinery/values/quantity.ts'
import type { FoundRejection, PodChecks } from './find-node.ts'
import { chooseNode, checksOf, rejectionBeside, totalScores } from './find-node.ts'
import { addRejection, fitMessage, newDiagnosis } from './fit-error.ts'
import type { PodInfo } from './pod-info.ts'
import { amountReader } from './plugins/resource-allocation.ts'
import type { Profile } from './profile.ts'
import type { NodeInfo, Snapshot } from './snapshot.ts'

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
    else rejected.set(node.name, refusedNode(found, { pod, node, checks }))
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

/** The node with every plugin that rejects it: an attempt stops at the first, people have to satisfy all of them. */
function refusedNode(
  { plugin, rejection }: FoundRejection,
  at: { readonly pod: PodInfo; readonly node: NodeInfo; readonly checks: PodChecks },
): RefusedNode {
  const { node, checks } = at
  const all = 'plugin' in checks ? [] : checks
  const others = all.flatMap((each) => {
    const found = each.plugin === plugin ? undefined : each.check(node)
    return found === undefined ? [] : [{ plugin: each.plugin, reasons: found.reasons }]
  })
  const isShort = [plugin, ...others.map((each) => each.plugin)].includes('NodeResourcesFit')
  const shortages = isShort ? shortagesOf(at.pod, node) : []
  const { reasons, resolvable } = rejection
  return {
    node: node.name,
    fits: false,
    plugin,
    reasons,
    resolvable,
    ...(others.length === 0 ? {} : { others }),
    ...(shortages.length === 0 ? {} : { shortages }),
  }
}

/** Bytes read best in powers of two; `amountReader` counts CPU in thousandths. */
function quantityText(resource: string, amount: number): string {
  const format =
    resource === 'memory' || resource === 'ephemeral-storage' ? 'BinarySI' : 'DecimalSI'
  const { nanos } = parseQuantity(resource === 'cpu' ? `${amount}m` : String(amount))
  return formatQuantity({ nanos, format })
}

function shortagesOf({ requests }: PodInfo, node: NodeInfo): ExplainedShortage[] {
  const names = ['cpu', 'memory', 'ephemeral-storage', ...requests.scalars.keys()]
  return names.flatMap((resource) => {
    const read = amountReader(resource)
    const wanted = read(requests)
    const free = read(node.allocatable) - read(node.requested)
    if (wanted === 0 || wanted <= free) return []
    const requested = quantityText(resource, wanted)
    return [{ resource, requested, free: quantityText(resource, free) }]
  })
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
