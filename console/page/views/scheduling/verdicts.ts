/** verdicts: what the scheduler says about each node, in the order in which one wants to read it. Pure. */
import type {
  ExplainedNode,
  FittingNode,
  PodExplanation,
} from '../../../../components/api/pod-explanation.ts'

/** The chosen node, then those that fit by their score, then the others by plugin and name. */
export function inOrder({ nodes, chosen }: PodExplanation): ExplainedNode[] {
  const rank = (node: ExplainedNode): number => (node.node === chosen ? 2 : node.fits ? 1 : 0)
  const total = (node: ExplainedNode): number => (node.fits ? node.total : 0)
  const plugin = (node: ExplainedNode): string => (node.fits ? '' : node.plugin)
  return nodes.toSorted(
    (one, other) =>
      rank(other) - rank(one) ||
      total(other) - total(one) ||
      plugin(one).localeCompare(plugin(other)) ||
      one.node.localeCompare(other.node, 'en', { numeric: true }),
  )
}

/** Plugin -> how many nodes it rejects, the most first. */
export function rejections(nodes: readonly ExplainedNode[]): [plugin: string, count: number][] {
  const counts = new Map<string, number>()
  for (const node of nodes) {
    if (!node.fits) counts.set(node.plugin, (counts.get(node.plugin) ?? 0) + 1)
  }
  return [...counts].toSorted(([, one], [, other]) => other - one)
}

/** `NodeResourcesFit: Insufficient cpu (64 requested, 2 free)`, and what else would reject the node. */
export function refusalText(node: Exclude<ExplainedNode, FittingNode>): string[] {
  const { plugin, reasons, shortages = [], others = [], resolvable } = node
  const short = shortages.map(
    ({ resource, requested, free }) => `${resource}: ${requested} requested, ${free} free`,
  )
  return [
    `${plugin}: ${reasons.join('; ')}`,
    ...short,
    ...others.map((other) => `also ${other.plugin}: ${other.reasons.join('; ')}`),
    ...(resolvable ? [] : ['evicting pods would not help']),
  ]
}

/** Plugins that give scores, in the order of their weight. */
export function scoringPlugins(nodes: readonly ExplainedNode[]): string[] {
  const weights = new Map<string, number>()
  for (const node of nodes) {
    if (node.fits) for (const { plugin, weight } of node.scores) weights.set(plugin, weight)
  }
  return [...weights].toSorted(([, one], [, other]) => other - one).map(([plugin]) => plugin)
}
