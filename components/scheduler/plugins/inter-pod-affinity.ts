/**
 * InterPodAffinity: pods that must, must not or would rather share a topology domain with certain other pods, by their own rules and
 * by those of the pods that are there (upstream: plugins/interpodaffinity).
 */
import type { Node } from '../../api/generated/types.ts'
import { registered, registeredPods } from '../cluster-event.ts'
import type { PluginArguments } from '../configuration/plugin-arguments.ts'
import type { ClusterView, NodeCheck, PluginWith, Rejection } from '../plugin.ts'
import { scoreEach } from '../plugin.ts'
import type { PodGroup } from '../pod-counts.ts'
import type { PodInfo } from '../pod-info.ts'
import type { Namespaces, PodTerm } from '../pod-term.ts'
import { matchesPod, podTermsOf } from '../pod-term.ts'
import type { NodeInfo } from '../snapshot.ts'

const because = (reason: string, resolvable: boolean): Rejection => ({
  reasons: [reason],
  resolvable,
})
const noAffinity = because("node(s) didn't match pod affinity rules", false)
const ownAntiAffinity = because("node(s) didn't match pod anti-affinity rules", true)
const othersAntiAffinity = because("node(s) didn't satisfy existing pods anti-affinity rules", true)

/** A sum for each topology domain, by topology key and value. */
type Domains = Map<string, Map<string, number>>

/** Adds to the domain of a node, if it has that topology. */
function addTo(domains: Domains, node: NodeInfo | undefined, by: readonly [string, number]): void {
  const [topologyKey, sum] = by
  const value = node?.labels[topologyKey]
  if (value === undefined) return
  const sums = domains.get(topologyKey)
  if (sums === undefined) domains.set(topologyKey, new Map([[value, sum]]))
  else sums.set(value, (sums.get(value) ?? 0) + sum)
}

function isIn(domains: Domains, topologyKey: string, node: NodeInfo): boolean {
  const value = node.labels[topologyKey]
  return value !== undefined && domains.get(topologyKey)?.has(value) === true
}

/** The pods that all of the terms speak of. */
function groupOf(terms: readonly PodTerm[], view: Namespaces): PodGroup {
  return {
    key: `affinity ${terms.map(({ key }) => key).join(' ')}`,
    selector: terms.flatMap(({ selector }) => selector),
    isByNamespaceLabels: terms.some(({ namespaceSelector }) => namespaceSelector !== undefined),
    includes: ({ pod }) => terms.every((term) => matchesPod(term, pod, view)),
  }
}

/** Adds, to the domain of every node, `weight` for each pod of the group there. */
function addPods(
  domains: Domains,
  { topologyKey, group, weight }: { topologyKey: string; group: PodGroup; weight: number },
  view: ClusterView,
): void {
  const countOn = view.podsOf(group)
  for (const node of view.nodes) {
    const count = countOn(node)
    if (count !== 0) addTo(domains, node, [topologyKey, count * weight])
  }
}

/** Adds what the rules of placed pods say of this one. */
function addPlaced(
  domains: Domains,
  { sort, weight }: { sort: Parameters<ClusterView['termsOf']>[0]; weight?: number },
  { pod, view }: { pod: PodInfo; view: ClusterView },
): void {
  for (const placed of view.termsOf(sort)) {
    if (!matchesPod(placed.term, pod.pod, view)) continue
    for (const [name, count] of placed.byNode) {
      const sum = count * (weight ?? placed.weight)
      addTo(domains, view.node(name), [placed.term.topologyKey, sum])
    }
  }
}

function filter(pod: PodInfo, view: ClusterView): NodeCheck | undefined {
  const { requiredAffinity: together, requiredAntiAffinity: apart } = pod.terms
  const byOthers: Domains = new Map()
  addPlaced(byOthers, { sort: 'requiredAntiAffinity', weight: 1 }, { pod, view })
  if (together.length + apart.length + byOthers.size === 0) return undefined
  const forbidden: Domains = new Map()
  for (const term of apart) {
    const group = groupOf([term], view)
    addPods(forbidden, { topologyKey: term.topologyKey, group, weight: 1 }, view)
  }
  const wanted: Domains = new Map()
  const group = groupOf(together, view)
  for (const { topologyKey } of together) addPods(wanted, { topologyKey, group, weight: 1 }, view)
  // The first pod of a group with affinity to itself has no pod to join yet.
  const isFirst = wanted.size === 0 && group.includes(pod)
  return (node) => {
    for (const { topologyKey } of together) {
      if (node.labels[topologyKey] === undefined) return noAffinity
      if (!isFirst && !isIn(wanted, topologyKey, node)) return noAffinity
    }
    for (const { topologyKey } of apart) {
      if (isIn(forbidden, topologyKey, node)) return ownAntiAffinity
    }
    for (const key of byOthers.keys()) if (isIn(byOthers, key, node)) return othersAntiAffinity
    return undefined
  }
}

/** From the worst, 0, to the best, 100, whatever their signs. */
function normalizeByRange(scores: Float64Array): Float64Array {
  let [least, most] = [Infinity, -Infinity]
  for (const score of scores) {
    least = Math.min(least, score)
    most = Math.max(most, score)
  }
  return scores.map((score) =>
    most === least ? 0 : Math.trunc(100 * ((score - least) / (most - least))),
  )
}

function score(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  { view, args }: { view: ClusterView; args: PluginArguments['InterPodAffinity'] },
): Float64Array | undefined {
  const { preferred } = pod.terms
  if (args.ignorePreferredTermsOfExistingPods && preferred.length === 0) return undefined
  const domains: Domains = new Map()
  for (const { term, weight } of preferred) {
    const group = groupOf([term], view)
    addPods(domains, { topologyKey: term.topologyKey, group, weight }, view)
  }
  addPlaced(domains, { sort: 'preferred' }, { pod, view })
  const { hardPodAffinityWeight: weight } = args
  if (weight > 0) addPlaced(domains, { sort: 'requiredAffinity', weight }, { pod, view })
  if (domains.size === 0) return undefined
  const sums = scoreEach(nodes, ({ labels }) => {
    let sum = 0
    for (const [key, values] of domains) sum += values.get(labels[key] ?? '') ?? 0
    return sum
  })
  return normalizeByRange(sums)
}

/** Whether a node came into, or moved between, the domains that the pod's rules speak of. */
function isNewDomain({ terms }: PodInfo, old: Node | undefined, now: Node): boolean {
  const { requiredAffinity, requiredAntiAffinity } = terms
  const home = (node: Node | undefined, key: string): string | undefined =>
    node?.metadata.labels?.[key]
  const joins = requiredAffinity.some(
    ({ topologyKey: key }) => home(now, key) !== undefined && home(now, key) !== home(old, key),
  )
  // Rules of other pods may be what keeps it off; any new node may be out of their reach.
  if (joins || (old === undefined && requiredAffinity.length === 0)) return true
  return requiredAntiAffinity.some(
    ({ topologyKey: key }) => old === undefined || home(now, key) !== home(old, key),
  )
}

export function interPodAffinity(
  args: PluginArguments['InterPodAffinity'],
  namespaces: Namespaces,
): PluginWith<'filter' | 'score'> {
  return {
    name: 'InterPodAffinity',
    events: [
      registeredPods(['Add', 'Delete', 'UpdatePodLabel'], (pod, { old, now }) => {
        if (now?.metadata.uid === pod.uid) return true
        const { requiredAffinity, requiredAntiAffinity } = pod.terms
        const isWanted = (each: typeof now): boolean =>
          each !== undefined &&
          requiredAffinity.length > 0 &&
          requiredAffinity.every((term) => matchesPod(term, each, namespaces))
        const isAvoided = (each: typeof now): boolean =>
          each !== undefined &&
          (requiredAntiAffinity.some((term) => matchesPod(term, each, namespaces)) ||
            podTermsOf(each).requiredAntiAffinity.some((term) =>
              matchesPod(term, pod.pod, namespaces),
            ))
        return (isWanted(now) && !isWanted(old)) || (isAvoided(old) && !isAvoided(now))
      }),
      registered(
        'Node',
        ['Add', 'UpdateNodeLabel'],
        (pod, { old, now }) => now !== undefined && isNewDomain(pod, old, now),
      ),
    ],
    filter,
    score: (pod, nodes, view) => score(pod, nodes, { view, args }),
  }
}
