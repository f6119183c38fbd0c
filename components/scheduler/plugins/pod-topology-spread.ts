/**
 * PodTopologySpread: keeps the pods of a group evenly spread over topology domains; pods without constraints of their own get those
 * of the profile, or the system's: by node and by zone, as a preference (upstream: plugins/podtopologyspread, KEP-895, KEP-1258).
 */
import type { TopologySpreadConstraint } from '../../api/generated/types.ts'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { registered, registeredPods } from '../cluster-event.ts'
import type { PluginArguments } from '../configuration/plugin-arguments.ts'
import type { ClusterView, Handle, NodeCheck, PluginWith, Rejection } from '../plugin.ts'
import { scoreEach } from '../plugin.ts'
import type { PodInfo } from '../pod-info.ts'
import type { NodeInfo } from '../snapshot.ts'
import { nodeLabels } from '../snapshot.ts'
import { createDefaultSelector } from './default-selector.ts'
import type { SpreadConstraint, WhenUnsatisfiable } from './topology-spread-constraints.ts'
import {
  hasAllTopologies,
  isNodeIncluded,
  spreadConstraints,
} from './topology-spread-constraints.ts'

const uneven: Rejection = {
  reasons: ["node(s) didn't match pod topology spread constraints"],
  resolvable: true,
}
const unlabelled: Rejection = {
  reasons: ["node(s) didn't match pod topology spread constraints (missing required label)"],
  resolvable: false,
}

/** The constraints of a pod of one sort; `isSystem` when they are the system's, which do without labels that a node lacks. */
type ConstraintsOf = (
  pod: PodInfo,
  whenUnsatisfiable: WhenUnsatisfiable,
) => { readonly constraints: readonly SpreadConstraint[]; readonly isSystem: boolean }

/** A preference for other nodes and, more weakly, for other zones. */
function systemConstraints(dialect: Dialect): TopologySpreadConstraint[] {
  const whenUnsatisfiable = 'ScheduleAnyway'
  return [
    { topologyKey: labelKey(dialect, '', 'hostname'), whenUnsatisfiable, maxSkew: 3 },
    { topologyKey: labelKey(dialect, 'topology', 'zone'), whenUnsatisfiable, maxSkew: 5 },
  ]
}

function constraintsBy(
  handle: Pick<Handle, 'dialect' | 'informers'>,
  { defaultingType, defaultConstraints }: PluginArguments['PodTopologySpread'],
): ConstraintsOf {
  const isSystem = defaultingType === 'System'
  const defaults = isSystem ? systemConstraints(handle.dialect) : defaultConstraints
  const selectorOf = defaults.length === 0 ? undefined : createDefaultSelector(handle)
  return (pod, whenUnsatisfiable) => {
    const own = pod.pod.spec?.topologySpreadConstraints ?? []
    if (own.length > 0) {
      return { constraints: spreadConstraints(pod, own, { whenUnsatisfiable }), isSystem: false }
    }
    if (!defaults.some((each) => each.whenUnsatisfiable === whenUnsatisfiable)) {
      return { constraints: [], isSystem }
    }
    const selector = selectorOf?.(pod.pod)
    if (selector === undefined) return { constraints: [], isSystem }
    const constraints = spreadConstraints(pod, defaults, { whenUnsatisfiable, selector })
    return { constraints, isSystem }
  }
}

/** How many pods of the constraint's group are in each domain, over the nodes that count. */
function domainsOf(
  pod: PodInfo,
  constraint: SpreadConstraint,
  { nodes, view }: { readonly nodes: readonly NodeInfo[]; readonly view: ClusterView },
): Map<string, number> {
  const countOn = view.podsOf(constraint.group)
  const domains = new Map<string, number>()
  for (const node of nodes) {
    const domain = node.labels[constraint.topologyKey]
    if (domain === undefined || !isNodeIncluded(pod, constraint, node)) continue
    domains.set(domain, (domains.get(domain) ?? 0) + countOn(node))
  }
  return domains
}

function filter(
  pod: PodInfo,
  constraints: readonly SpreadConstraint[],
  view: ClusterView,
): NodeCheck | undefined {
  if (constraints.length === 0) return undefined
  const nodes = view.nodes.filter((node) => hasAllTopologies(node, constraints))
  const spreads = constraints.map((constraint) => {
    const domains = domainsOf(pod, constraint, { nodes, view })
    let least = Infinity
    for (const count of domains.values()) least = Math.min(least, count)
    return {
      constraint,
      domains,
      least: domains.size < constraint.minDomains ? 0 : least,
      self: constraint.group.includes(pod) ? 1 : 0,
    }
  })
  return (node) => {
    for (const { constraint, domains, least, self } of spreads) {
      const domain = node.labels[constraint.topologyKey]
      if (domain === undefined) return unlabelled
      if ((domains.get(domain) ?? 0) + self - least > constraint.maxSkew) return uneven
    }
    return undefined
  }
}

/** The emptier a node's domains, the better; domains count more where there are many of them. */
function score(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  about: {
    readonly view: ClusterView
    readonly constraints: readonly SpreadConstraint[]
    readonly isSystem: boolean
    readonly hostLabel: string
  },
): Float64Array {
  const { view, constraints, isSystem, hostLabel } = about
  const isScored = (node: NodeInfo): boolean => isSystem || hasAllTopologies(node, constraints)
  const scored = isSystem ? nodes : nodes.filter(isScored)
  const counted = isSystem ? view.nodes : view.nodes.filter(isScored)
  const spreads = constraints.map((constraint) => {
    const { topologyKey, maxSkew } = constraint
    const isByHost = topologyKey === hostLabel
    const present = new Set(scored.map((node) => node.labels[topologyKey] ?? ''))
    const weight = Math.log((isByHost ? scored.length : present.size) + 2)
    // Without zones, no pod looks through all nodes for one.
    const hasDomains = scored.some((node) => node.labels[topologyKey] !== undefined)
    const all = { nodes: hasDomains ? counted : [], view }
    const domains = isByHost ? undefined : domainsOf(pod, constraint, all)
    return { topologyKey, maxSkew, weight, domains, countOn: view.podsOf(constraint.group) }
  })
  const raw = scoreEach(nodes, (node) => {
    if (!isScored(node)) return -1
    let sum = 0
    for (const { topologyKey, maxSkew, weight, domains, countOn } of spreads) {
      const domain = node.labels[topologyKey]
      if (domain === undefined) continue
      const count = domains === undefined ? countOn(node) : (domains.get(domain) ?? 0)
      sum += count * weight + (maxSkew - 1)
    }
    return Math.round(sum)
  })
  return normalized(raw)
}

/** The least gets 100; -1, a node outside of the topology, 0. */
function normalized(raw: Float64Array): Float64Array {
  let [least, most] = [Infinity, 0]
  for (const each of raw) {
    if (each < 0) continue
    least = Math.min(least, each)
    most = Math.max(most, each)
  }
  return raw.map((each) => {
    if (each < 0) return 0
    return most === 0 ? 100 : Math.trunc((100 * (most + least - each)) / most)
  })
}

export function podTopologySpread(
  handle: Pick<Handle, 'dialect' | 'informers'>,
  args: PluginArguments['PodTopologySpread'],
): PluginWith<'filter' | 'score'> {
  const constraintsOf = constraintsBy(handle, args)
  const hostLabel = labelKey(handle.dialect, '', 'hostname')
  const hard = (pod: PodInfo): readonly SpreadConstraint[] =>
    constraintsOf(pod, 'DoNotSchedule').constraints
  return {
    name: 'PodTopologySpread',
    events: [
      registeredPods(['Add', 'Delete', 'UpdatePodLabel'], (pod, { old, now }) => {
        if (now?.metadata.uid === pod.uid) return true
        return hard(pod).some(({ group }) =>
          [old, now].some((each) => each !== undefined && group.includes({ pod: each })),
        )
      }),
      registered('Node', ['Add', 'Delete', 'UpdateNodeLabel'], (pod, { old, now }) => {
        const constraints = hard(pod)
        const isIn = (node: typeof now): boolean =>
          node !== undefined && hasAllTopologies(nodeLabels(node), constraints)
        if (old === undefined || now === undefined) return isIn(old ?? now)
        const homes = (node: typeof old): unknown =>
          constraints.map(({ topologyKey }) => nodeLabels(node).labels[topologyKey])
        return isIn(old) !== isIn(now) || (isIn(now) && !deepEqual(homes(old), homes(now)))
      }),
    ],
    filter: (pod, view) => filter(pod, hard(pod), view),
    score(pod, nodes, view) {
      const { constraints, isSystem } = constraintsOf(pod, 'ScheduleAnyway')
      if (constraints.length === 0) return undefined
      return score(pod, nodes, { view, constraints, isSystem, hostLabel })
    },
  }
}
