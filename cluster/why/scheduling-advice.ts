/**
 * Scheduling advice: what change would let a pod run, worked out from what the scheduler said about each node. The nodes that the fewest
 * plugins refuse come first. Pure.
 */
import type { Node, Pod, Taint } from '../../components/api/generated/types.ts'
import type { PodExplanation, RefusedNode } from '../../components/api/pod-explanation.ts'
import { labelKey } from '../../components/api/dialect.ts'
import { podClaims } from '../../components/api/pod-references.ts'
import { compareQuantities } from '../../components/machinery/values/quantity.ts'
import { listText } from './names.ts'
import type { Related } from './related.ts'

/** As many different changes as are offered. */
const mostChanges = 3

interface Refusals {
  /** In name order. */
  readonly plugins: readonly string[]
  readonly nodes: readonly RefusedNode[]
}

/** In the order of their names, with `node-2` before `node-10`: the scheduler's own order is that in which it met them. */
export function refusedNodes(nodes: PodExplanation['nodes']): RefusedNode[] {
  const { compare } = new Intl.Collator('en', { numeric: true })
  return nodes.filter((one) => !one.fits).toSorted((a, b) => compare(a.node, b.node))
}

/** The refused nodes, grouped by the set of plugins that refuse them; the smallest set first, then the largest group. */
function refusalGroups({ nodes }: PodExplanation): Refusals[] {
  const groups = new Map<string, { plugins: string[]; nodes: RefusedNode[] }>()
  for (const node of refusedNodes(nodes)) {
    const plugins = [node.plugin, ...(node.others ?? []).map(({ plugin }) => plugin)].toSorted()
    const key = plugins.join(' ')
    const group = groups.get(key) ?? { plugins, nodes: [] }
    group.nodes.push(node)
    groups.set(key, group)
  }
  return [...groups.values()].toSorted(
    (a, b) => a.plugins.length - b.plugins.length || b.nodes.length - a.nodes.length,
  )
}

interface Asked {
  readonly pod: Pod
  readonly nodes: readonly RefusedNode[]
  /** Its nodes are those that were read; some may be missing. */
  readonly related: Pick<Related, 'nodes' | 'dialect'>
}

/** The node with the most of a resource that is short on all of them, for each such resource. */
function bestFree(nodes: readonly RefusedNode[]): {
  resource: string
  requested: string
  free: string
  node: string
}[] {
  const best = new Map<
    string,
    { resource: string; requested: string; free: string; node: string }
  >()
  for (const { node, shortages = [] } of nodes) {
    for (const { resource, requested, free } of shortages) {
      const known = best.get(resource)
      if (known !== undefined && compareQuantities(known.free, free) >= 0) continue
      best.set(resource, { resource, requested, free, node })
    }
  }
  return [...best.values()]
}

function fitAdvice({ nodes }: Asked): string {
  // A node that is short of one thing alone shows best how far a smaller request gets.
  const least = Math.min(...nodes.map(({ shortages = [] }) => shortages.length))
  const nearest = nodes.filter(({ shortages = [] }) => shortages.length === least)
  const texts = bestFree(nearest).map(({ resource, requested, free, node }) =>
    compareQuantities(free, '0') > 0
      ? `request at most ${free} of ${resource} instead of ${requested} (${node} has the most left)`
      : `make room for ${requested} of ${resource}: no node has any left`,
  )
  return texts.length === 0
    ? 'delete pods, or add a node: the nodes hold as many pods as they may'
    : `${texts.join(' and ')}, or delete pods, or add a node that large`
}

/** The labels of the pod's node selector that a node lacks. */
function missingLabels(pod: Pod, node: Node | undefined): string[] {
  const labels = node?.metadata.labels ?? {}
  return Object.entries(pod.spec?.nodeSelector ?? {})
    .filter(([key, value]) => labels[key] !== value)
    .map(([key, value]) => `${key}=${value}`)
}

function affinityAdvice({ pod, nodes, related }: Asked): string {
  const [first] = nodes
  const node = related.nodes.find(({ metadata }) => metadata.name === first?.node)
  const missing = node === undefined ? [] : missingLabels(pod, node)
  return missing.length === 0 || first === undefined
    ? "change the pod's nodeSelector or node affinity, or label a node so that it matches"
    : `give a node the labels: kubectl label node ${first.node} ${missing.join(' ')}`
}

/** Taints of these nodes that keep pods away, each once. */
function taintsOf({ nodes, related }: Asked): Taint[] {
  const names = new Set(nodes.map(({ node }) => node))
  return related.nodes
    .filter(({ metadata }) => names.has(metadata.name ?? ''))
    .flatMap(({ spec }) => spec?.taints ?? [])
    .filter(({ effect }) => effect !== 'PreferNoSchedule')
}

/** A taint that a controller sets of a node's conditions goes when they do: `node.kubernetes.io/not-ready`. */
function taintAdvice(asked: Asked): string {
  const node = asked.nodes[0]?.node
  const taints = taintsOf(asked)
  const texts = taints.map(
    ({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`,
  )
  const named = texts.length === 0 ? '' : ` (${listText([...new Set(texts)])})`
  const prefix = labelKey(asked.related.dialect, 'node', '')
  const own = taints.find(({ key }) => !key.startsWith(prefix))
  if (taints.length > 0 && own === undefined) {
    return `see why the node has the taint${named}: skiff why node ${node}`
  }
  return `let the pod tolerate the taint${named}, or remove it: kubectl taint node ${node} ${own?.key ?? 'KEY'}-`
}

type Advice = (asked: Asked) => string

const advices: Readonly<Record<string, Advice>> = {
  NodeResourcesFit: fitAdvice,
  NodeAffinity: affinityAdvice,
  TaintToleration: taintAdvice,
  NodeUnschedulable: ({ nodes }) => `uncordon the node: kubectl uncordon ${nodes[0]?.node}`,
  NodePorts: () => 'choose another hostPort, or delete the pod that uses it',
  PodTopologySpread: () =>
    'relax topologySpreadConstraints (maxSkew, or whenUnsatisfiable: ScheduleAnyway), or add a node in the emptiest domain',
  InterPodAffinity: () => 'relax the pod (anti-)affinity, or add a node in another topology domain',
  VolumeBinding: ({ pod }) => {
    const [claim = 'NAME'] = podClaims(pod)
    return `see why the claim has no volume that a node reaches: skiff why pvc ${claim} -n ${pod.metadata.namespace}`
  },
  VolumeZone: () => 'the volume is in another zone: add a node there, or use another claim',
  VolumeRestrictions: () => 'another pod has the volume: delete that pod, or use another claim',
  DynamicResources: () =>
    'free devices, or publish more of them: kubectl get resourceclaims,resourceslices -A',
  NodeVolumeLimits: () => 'the nodes have as many volumes attached as they may: add a node',
}

const otherAdvice = (plugin: string): string => `change what ${plugin} checks`

/** What would have to change on the nearest nodes, the smallest change first. */
export function schedulingAdvice(
  pod: Pod,
  explanation: PodExplanation,
  related: Pick<Related, 'nodes' | 'dialect'>,
): string[] {
  const { preemption, nodes } = explanation
  if (nodes.length === 0) return ['add a node: skiff node add NAME']
  const changes = refusalGroups(explanation)
    .slice(0, mostChanges)
    .map(({ plugins, nodes: refused }) => {
      const asked = { pod, nodes: refused, related }
      const texts = plugins.map((plugin) => advices[plugin]?.(asked) ?? otherAdvice(plugin))
      return texts.join('; and ')
    })
  const evicting =
    preemption === undefined
      ? []
      : [`wait: preemption of ${listText(preemption.victims)} makes room on ${preemption.node}`]
  return [...new Set([...evicting, ...changes])]
}
